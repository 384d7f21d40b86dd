// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"mirrord/archive/warc"
	"mirrord/site"
)

// A project of HTTrack without its cache: the files that it saved, below a folder for each host. Their links
// lead to files. Each page says in a comment what it was fetched from and when; hts-cache/new.txt, if it is
// there, says it of each file; of all others the name is taken. HTTrack's own comments are taken out again.

// maxMarked is how many bytes of a page are read to take comments out; of a larger one nothing is.
const maxMarked = 16 << 20

// errNoStart says that a project does not say what it is of.
var errNoStart = errors.New("neither " + notesName + " nor " + logName + " says which URL HTTrack was given")

// savedSite is the files of a project.
type savedSite struct {
	dir     fs.FS
	to      *warc.Writer
	date    time.Time
	seeds   []site.URL
	table   map[string]string // URLs by files
	guessed int
	answers int
}

func httrackFiles(dir fs.FS, to *warc.Writer) (t Taken, err error) {
	s := &savedSite{dir: dir, to: to, table: savedTable(dir)}
	if err := s.start(); err != nil {
		return t, err
	}
	var urls []string
	for _, u := range s.seeds {
		urls = append(urls, u.String())
	}
	if err := writeInfo(to, s.date, urls); err != nil {
		return t, err
	}
	hosts, err := fs.ReadDir(dir, ".")
	if err != nil {
		return t, err
	}
	for _, h := range hosts {
		if !h.IsDir() || h.Name() == path.Dir(cacheName) {
			continue // the project's own pages
		}
		if err := fs.WalkDir(dir, h.Name(), func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			return s.file(name)
		}); err != nil {
			return t, err
		}
	}
	return Taken{Answers: s.answers, Guessed: s.guessed, Uncached: true}, nil
}

// start reads when HTTrack was started, and with which URLs.
func (s *savedSite) start() error {
	urls := entryPoints(s.dir)
	_, line, _ := strings.Cut(fileText(s.dir, notesName), "launched on ")
	line, _, _ = strings.Cut(line, "\n")
	if date, given, ok := strings.Cut(line, " at "); ok {
		s.date, _ = time.Parse("Mon, 02 Jan 2006 15:04:05", date) // else it is that of the file
		for _, w := range strings.Fields(given) {
			if strings.HasPrefix(w, "-") || strings.HasPrefix(w, "+") {
				continue // a filter
			}
			if !strings.Contains(w, "://") {
				w = "http://" + w
			}
			urls = append(urls, w)
		}
	}
	for _, text := range urls {
		if u, _, err := site.Parse(text); err == nil && !slices.Contains(s.seeds, u) {
			s.seeds = append(s.seeds, u)
		}
	}
	if len(s.seeds) == 0 {
		return errNoStart
	}
	if fi, err := fs.Stat(s.dir, notesName); err == nil && s.date.IsZero() {
		s.date = fi.ModTime()
	}
	return nil
}

// fileText is the beginning of a file; "" when it is not there.
func fileText(dir fs.FS, name string) string {
	f, err := dir.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxCommand)) // its beginning will do
	return string(text)
}

// savedTable reads the table of the files that HTTrack wrote.
func savedTable(dir fs.FS) map[string]string {
	table := map[string]string{}
	f, err := dir.Open(tableName)
	if err != nil {
		return table
	}
	defer f.Close()
	const address, saved = 7, 8 // columns
	lines := bufio.NewScanner(f)
	for lines.Scan() { // up to a line that is too long
		if fields := strings.Split(lines.Text(), "\t"); len(fields) > saved &&
			strings.Contains(fields[address], "://") {
			here := nameHere(fields[saved], func(name string) bool { return fs.ValidPath(name) && isThere(dir, name) })
			table[here] = fields[address]
		}
	}
	return table
}

// nameHere is the name that a file of a project has where the project is now: the longest end of its path at
// which it is; "" when it is not there.
func nameHere(saved string, is func(name string) bool) string {
	for rest := strings.TrimLeft(strings.ReplaceAll(saved, `\`, "/"), "/"); rest != ""; {
		if is(rest) {
			return rest
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return ""
}

// file writes one file.
func (s *savedSite) file(name string) error {
	f, err := s.dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	host, rest, _ := strings.Cut(name, "/")
	folder := wgetFolder{base: s.origin(host), prefix: "/"}
	called := folder.below(rest)
	b := bufio.NewReaderSize(f, looked)
	a := answer{
		url:  s.table[name],
		date: s.date,
		body: b,
		size: fi.Size(),
	}
	head, changed := savedHead(b, fi, name, called, false)
	if a.head = head; changed {
		s.guessed++
		if err := a.unmark(folder.base); err != nil {
			return err
		}
	}
	if a.url == "" {
		a.url = directoryOf(called)
	}
	if err := a.write(s.to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.answers++
	return s.leadTo(a.url, called)
}

// leadTo writes redirects from where links of pages lead to the address of a file: HTTrack leaves queries in
// those to files whose names have no ending.
func (s *savedSite) leadTo(address, called string) error {
	from := []string{called}
	if _, query, has := strings.Cut(address, "?"); has {
		from = append(from, called+"?"+query)
	}
	for _, u := range from {
		if u == address {
			continue
		}
		moved := answer{
			url:  u,
			date: s.date,
			head: movedHead(address),
			body: strings.NewReader(""),
		}
		if err := moved.write(s.to); err != nil {
			return err
		}
	}
	return nil
}

// unmark takes HTTrack's comments out of a page; they give its address if that is not known.
func (a *answer) unmark(base site.URL) error {
	if a.size > maxMarked {
		return nil
	}
	text, err := io.ReadAll(a.body)
	if err != nil {
		return err
	}
	was, text := unmarked(text)
	if at, _, err := site.Parse(base.Scheme() + "://" + was); err == nil && was != "" && a.url == "" {
		a.url = at.String()
	}
	a.body, a.size = bytes.NewReader(text), int64(len(text))
	return nil
}

// origin is the origin whose files a folder has: one of a seed, if the names fit.
func (s *savedSite) origin(folder string) site.URL {
	name, port, ok := strings.Cut(folder, "_")
	if ok && port != "" && strings.Trim(port, "0123456789") == "" {
		name += ":" + port
	} else {
		name = folder
	}
	for _, u := range s.seeds {
		if u.Host() == name {
			return site.Canonical(u.Origin() + "/")
		}
	}
	u, _, err := site.Parse(s.seeds[0].Scheme() + "://" + name + "/")
	if err != nil {
		return s.seeds[0]
	}
	return u
}

// unmarked is a page without the comments that HTTrack writes, and the address without a scheme that they
// give.
func unmarked(text []byte) (was string, page []byte) {
	const from, by = "<!-- Mirrored from ", " by HTTrack "
	for _, m := range []struct{ begin, end string }{
		{from, "-->"}, {"<!-- Added by HTTrack -->", "<!-- /Added by HTTrack -->"},
	} {
		rest := text
		text = nil
		for {
			before, after, ok := bytes.Cut(rest, []byte(m.begin))
			inside, behind, ends := bytes.Cut(after, []byte(m.end))
			if !ok || !ends {
				break
			}
			if address, _, ours := strings.Cut(string(inside), by); ours && m.begin == from {
				was = address
			}
			text = append(text, bytes.TrimSuffix(before, []byte("\n"))...)
			rest = behind
		}
		text = append(text, rest...)
	}
	return was, text
}
