// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// What wget -r wrote: a folder for each host with its files. Of a page whose links were changed (-k) the one
// with .orig (-K) is as the site sent it. With -E the page of x.php is in x.php.html, and its original in
// x.php.orig. Without an original, links of the page lead to files of the folder; these are the addresses of
// the site, but for the %3F that -E makes of a question mark. What index.html was fetched as cannot be known:
// it counts as the response of its directory and of its own address, which then are one file of the mirror.

const original = ".orig"

// Wget writes the files of a folder as records, as answers of the host of a URL: those below the folder that
// has the host's name, or all of them when it is missing. When the folder lacks leading parts of the URL's
// path (--cut-dirs), or all of them, its files are below these. Names may be of any bytes; dir should take
// them.
func Wget(dir fs.FS, base site.URL, to *warc.Writer) (t Taken, err error) {
	root, plus := hostFolder(dir, base), strings.Replace(base.Host(), ":", "+", 1)
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

		prefix:  missingPath(dir, root, base),
		windows: path.Base(root) == plus && plus != base.Host(),
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
	if err := fs.WalkDir(dir, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if plain, ok := strings.CutSuffix(name, original); ok &&
			slices.ContainsFunc(adjusted(), func(end string) bool { return isThere(dir, plain+end) }) {
			return nil // read for the other one
		}
		return b.file(name, &t)
	}); err != nil {
		return t, err
	}
	if !b.found {
		t.Looked = lookedFor(b)
	}
	if !b.changed {
		return t, nil
	}
	for _, rest := range b.asked {
		if err := b.redirect(rest); err != nil {
			return t, err
		}
	}
	return t, nil
}

// hostFolder is the folder that has the name of a URL's host, in a folder or in one of those below it (-P);
// "." without one.
func hostFolder(dir fs.FS, base site.URL) string {
	names := []string{base.Host(), strings.Replace(base.Host(), ":", "+", 1), base.Hostname()}
	below := []string{"."}
	entries, _ := fs.ReadDir(dir, ".") // of a folder that cannot be read, an error comes later
	for _, e := range entries {
		if e.IsDir() {
			below = append(below, e.Name())
		}
	}
	for _, in := range below {
		for _, name := range names {
			name = path.Join(in, name)
			if fi, err := fs.Stat(dir, name); err == nil && fi.IsDir() {
				return name
			}
		}
	}
	return "."
}

// missingPath is the beginning of a URL's path that the folder of its host lacks: none when the whole path is
// there, all of it when not even its last directory is. It ends in a slash.
func missingPath(dir fs.FS, root string, base site.URL) string {
	parts := strings.Split(strings.Trim(base.Dir(), "/"), "/")
	for n := range parts {
		rest, err := url.PathUnescape(strings.Join(parts[n:], "/"))
		if err != nil || rest == "" {
			return "/"
		}
		if fi, err := fs.Stat(dir, path.Join(root, rest)); err == nil && fi.IsDir() {
			return "/" + strings.Join(append(parts[:n:n], ""), "/")
		}
	}
	return base.Dir()
}

// lookedFor are the files of which one should have the page of the URL.
func lookedFor(b *wgetFolder) []string {
	rest := strings.TrimPrefix(b.base.Path(), b.prefix)
	if rest == "" || strings.HasSuffix(rest, "/") {
		return []string{path.Join(b.root, rest, indexName)}
	}
	return []string{path.Join(b.root, rest), path.Join(b.root, rest+".html"), path.Join(b.root, rest, indexName)}
}

// adjusted returns the endings that files may have and addresses not.
func adjusted() []string { return []string{"", ".html", ".css"} }

// sent returns the file that has a page as the site sent it, and the name that its address is made of; both
// are that of the page's file when there is no original.
func (b *wgetFolder) sent(name string) (from, called string) {
	for _, end := range adjusted() {
		plain, ok := strings.CutSuffix(name, end)
		if ok && isThere(b.dir, plain+original) {
			return plain + original, plain
		}
	}
	return name, name
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

	prefix  string   // of the paths, which the folder lacks
	found   bool     // the page of base is there
	windows bool     // names are such as Windows takes
	asked   []string // files of -E whose addresses have a query
	changed bool     // links lead to such files by their names
}

// looked is how many bytes of a page are looked at.
const looked = 64 << 10

// file writes one file.
func (b *wgetFolder) file(name string, t *Taken) error {
	from, called := b.sent(name)
	rest := strings.TrimPrefix(strings.TrimPrefix(called, b.root), "/")
	u := b.address(rest)
	f, err := b.dir.Open(from)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	body := bufio.NewReaderSize(f, looked)
	head, changed := savedHead(body, fi, name, u, from != name || b.kept)
	if changed {
		t.Guessed++
		text, _ := body.Peek(looked) // of a shorter page as much as there is
		b.changed = b.changed || b.windows || bytes.Contains(text, []byte("%3F"))
	}
	a := answer{
		url:  directoryOf(u),
		date: b.date,
		head: head,
		body: closer{body, f},
		size: fi.Size(),
	}
	if u == b.base.String()+".html" { // -E, without an original
		a.url = b.base.String()
	}
	b.found = b.found || b.isBase(a.url) || b.isBase(u)
	err = a.write(b.to)
	if err == nil && a.url != u { // links lead to the one or the other
		if a.body, err = b.dir.Open(from); err == nil {
			a.url = u
			err = a.write(b.to)
		}
	}
	if strings.Contains(b.unixName(rest), "?") && path.Ext(rest) == ".html" {
		b.asked = append(b.asked, rest)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	t.Answers++
	return nil
}

// isBase reports whether an address is that of the URL given.
func (b *wgetFolder) isBase(address string) bool {
	u, _, err := site.Parse(address)
	return err == nil && u == b.base
}

// closer reads a file by way of a buffer.
type closer struct {
	io.Reader
	io.Closer
}

// redirect writes one to the address of a file from its name, where changed links lead.
func (b *wgetFolder) redirect(rest string) error {
	a := answer{
		url:  b.below(rest),
		date: b.date,
		head: movedHead(b.address(rest)),
		body: strings.NewReader(""),
	}
	return a.write(b.to)
}

// movedHead is the head of a redirect.
func movedHead(to string) []byte {
	return warc.WriteHead("HTTP/1.1 301 Moved Permanently", warc.HeaderField{Name: "Location", Value: to})
}

// indexName is the file of a directory's own page.
const indexName = "/index.html"

// directoryOf is the URL of the directory whose own page a file is, also of one with a query (lists that
// servers sort); that of the file for other files.
func directoryOf(u string) string {
	p, query, has := strings.Cut(u, "?")
	rest, ok := strings.CutSuffix(p, indexName)
	switch {
	case !ok:
		return u
	case has:
		return rest + "/?" + query
	}
	return rest + "/"
}

// savedHead is the head of an answer of which the file is there, by its name and first bytes. A page that is
// not the original has been changed: it gets no validator, so that the next run requests it.
func savedHead(
	b *bufio.Reader, fi fs.FileInfo, name, address string, original bool,
) (head []byte, changed bool) {
	kind := typeOf(name)
	if kind == "" {
		kind = typeIn(b, address)
	}
	text := "HTTP/1.1 200 OK\r\n"
	if kind != "" {
		text += "Content-Type: " + kind + "\r\n"
	}
	changed = !original && strings.HasPrefix(kind, "text/html")
	if !changed {
		text += "Last-Modified: " + fi.ModTime().UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") + "\r\n"
	}
	return []byte(text + "\r\n"), changed
}

// typeOf is the type of a file by its name; "" for what the bytes must show.
func typeOf(name string) string {
	name, _, _ = strings.Cut(name, "?")
	return phm.TypeByExtension(strings.TrimPrefix(path.Ext(name), "."))
}

// typeIn is the type of a page by its first bytes, of a file whose name says nothing; "" for all else.
func typeIn(b *bufio.Reader, address string) string {
	head, _ := b.Peek(1024) // of a shorter file as much as there is
	switch relocate.Detect("", site.Canonical(address), head) {
	case relocate.HTML:
		return "text/html"
	case relocate.SVG:
		if bytes.Contains(head, []byte("<html")) { // XHTML, as such sites sent it
			return "text/html"
		}
	}
	return ""
}

// unixName is the name that a file has without --restrict-file-names=windows, which writes "@" for the
// question mark, and escapes what Windows takes in no name. It is known only for a host with a port.
func (b *wgetFolder) unixName(rest string) string {
	if !b.windows {
		return rest
	}
	dir, last := path.Split(rest)
	return strings.NewReplacer("%5C", `\`, "%7C", "|", "%3A", ":", "%3F", "?", "%22", `"`, "%2A", "*", "%3C",
		"<", "%3E", ">").Replace(dir + strings.Replace(last, "@", "?", 1))
}

// address is the URL that a file was fetched from.
func (b *wgetFolder) address(rest string) string {
	p, query, has := strings.Cut(b.unixName(rest), "?")
	full := b.below(p)
	if has {
		q := escaped(&url.URL{Path: query})
		full += "?" + strings.NewReplacer("%3F", "?", "%5B", "[", "%5D", "]").Replace(q)
	}
	return full
}

// below is the URL of a name in the folder.
func (b *wgetFolder) below(name string) string {
	return b.base.Origin() + b.prefix + strings.TrimPrefix(escaped(&url.URL{Path: "/" + name}), "/")
}

// escaped returns a path as it is in an address. wget names a file without the escapes, but for those of
// slashes and of what it takes for control characters. What stands without an escape in most links has none.
func escaped(u *url.URL) string {
	parts := strings.Split(u.EscapedPath(), "%25")
	for i := 1; i < len(parts); i++ {
		c, err := strconv.ParseUint(parts[i][:min(2, len(parts[i]))], 16, 8)
		kept := err == nil && len(parts[i]) > 1 && (c < ' ' || c == '/' || (c >= 0x7f && c < 0xa0))
		if parts[i] = "%" + parts[i]; !kept {
			parts[i] = "%25" + parts[i][1:]
		}
	}
	return strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(
		strings.Join(parts, ""))
}
