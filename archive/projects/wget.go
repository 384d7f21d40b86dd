// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"time"

	"mirrord/phm"
	"mirrord/site"
	"mirrord/warc"
)

// What wget -r wrote: a folder for each host with its files. Of a page whose links were changed (-k) the one
// with .orig (-K) is as the site sent it. Without it, links of the page lead to files of the folder; these
// are the addresses of the site. What index.html was fetched as cannot be known: it is taken for the answer
// of its directory and of its own address, which then are one file of the mirror.

const original = ".orig"

// Wget writes the files of a folder as records, as answers of the host of a URL: those below the folder that
// has the host's name, or all of them when there is none.
func Wget(dir fs.FS, base site.URL, to *warc.Writer) (t Taken, err error) {
	root := "."
	for _, name := range []string{base.Host(), base.Hostname()} {
		if fi, err := fs.Stat(dir, name); err == nil && fi.IsDir() {
			root = name
			break
		}
	}
	now := time.Time{}
	if fi, err := fs.Stat(dir, root); err == nil {
		now = fi.ModTime()
	}
	if err := writeInfo(to, now, []string{base.String()}); err != nil {
		return t, err
	}
	b := &wgetFolder{
		dir:  dir,
		root: root,
		base: base,
		date: now,
		to:   to,
	}
	if err := fs.WalkDir(dir, root, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, original) {
			b.kept = true
			return fs.SkipAll
		}
		return err
	}); err != nil {
		return t, err
	}
	return t, fs.WalkDir(dir, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if strings.HasSuffix(name, original) && isThere(dir, strings.TrimSuffix(name, original)) {
			return nil // read for the other one
		}
		return b.file(name, &t)
	})
}

func isThere(dir fs.FS, name string) bool {
	fi, err := fs.Stat(dir, name)
	return err == nil && fi.Mode().IsRegular()
}

// wgetFolder is a folder that wget filled.
type wgetFolder struct {
	dir  fs.FS
	root string
	base site.URL
	date time.Time
	to   *warc.Writer
	kept bool // there are originals: what has none was not changed
}

// file writes one file.
func (b *wgetFolder) file(name string, t *Taken) error {
	dir, now, to := b.dir, b.date, b.to
	rest := strings.TrimPrefix(strings.TrimPrefix(name, b.root), "/")
	from := name
	kind := typeOf(rest)
	switch {
	case isThere(dir, name+original):
		from = name + original
	case !b.kept && strings.HasPrefix(kind, "text/html"):
		t.Guessed++
	}
	f, err := dir.Open(from)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	head := "HTTP/1.1 200 OK\r\n"
	if kind != "" {
		head += "Content-Type: " + kind + "\r\n"
	}
	head += "Last-Modified: " + fi.ModTime().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") + "\r\n\r\n"
	u := address(b.base, rest)
	a := answer{url: directoryOf(u), date: now, size: fi.Size()}
	a.body, a.head = f, []byte(head)
	err = a.write(to)
	if err == nil && a.url != u { // links lead to the one or the other
		if a.body, err = dir.Open(from); err == nil {
			a.url = u
			err = a.write(to)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	t.Answers++
	return nil
}

// indexName is the file of a directory's own page.
const indexName = "/index.html"

// directoryOf is the URL of the directory whose own page a file is; that of the file when it is none.
func directoryOf(u string) string {
	if rest, ok := strings.CutSuffix(u, indexName); ok {
		return rest + "/"
	}
	return u
}

// typeOf is the type of a file by its name; "" for what the bytes must show.
func typeOf(name string) string {
	name, _, _ = strings.Cut(name, "?")
	return phm.TypeByExtension(strings.TrimPrefix(path.Ext(name), "."))
}

// address is the URL that a file was fetched from.
func address(base site.URL, rest string) string {
	p, query, has := strings.Cut(rest, "?")
	u := url.URL{Path: "/" + p}
	full := base.Origin() + u.EscapedPath()
	if has {
		full += "?" + query
	}
	return full
}
