// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// Check holds the state on disk against what must be true after any run, however it ended.
func (m *Mirror) Check() {
	m.t.Helper()
	m.checkPlaces()
	current := filepath.Join(m.Dir, "sites/test/current")
	if _, err := os.Lstat(current); m.Damaged || errors.Is(err, fs.ErrNotExist) {
		return
	}
	tree, err := os.OpenRoot(current)
	if err != nil {
		m.t.Errorf("current: %v", err)
		return
	}
	defer tree.Close()
	report, err := phm.Verify(tree.FS(), phm.VerifyOptions{Links: BrokenLinks, Linked: render.Linked})
	if err != nil {
		m.t.Errorf("published tree: %v", err)
		return
	}
	for _, p := range report.Problems {
		m.t.Errorf("published tree: %s", p)
	}
}

// checkPlaces looks for files where none may be: beside the state, or anywhere but in the folders that the
// format knows.
func (m *Mirror) checkPlaces() {
	m.t.Helper()
	outside, err := os.ReadDir(filepath.Dir(m.Dir))
	if err != nil {
		m.t.Error(err)
	}
	for _, e := range outside {
		if e.Name() != filepath.Base(m.Dir) {
			m.t.Errorf("%s lies outside of the state", e.Name())
		}
	}
	known := map[string]bool{
		"mirror.db": true, "public-names": true, "blobs": true, "sites": true,
		".brought.json": true,
	}
	inside, err := os.ReadDir(m.Dir)
	if err != nil {
		m.t.Error(err)
	}
	for _, e := range inside {
		if !known[e.Name()] {
			m.t.Errorf("%s is in the state", e.Name())
		}
	}
	tmp, err := os.ReadDir(filepath.Join(m.Dir, "blobs/tmp"))
	for _, e := range tmp {
		if err == nil && e.Name() != ".lock" {
			m.t.Errorf("%s is left in blobs/tmp", e.Name())
		}
	}
}

// place is the URL at which a file of a tree lies while its links are checked.
const place = "http://tree.invalid/"

// BrokenLinks is a phm.LinkChecker: relative links must lead to a file of the tree.
func BrokenLinks(f *phm.File, raw []byte, exists func(string) bool) (broken []string) {
	base, _, err := site.Parse(place + escapePath(f.Path))
	if err != nil {
		return []string{err.Error()}
	}
	origin, _, err := site.Parse(f.URL)
	if err != nil {
		return []string{err.Error()}
	}
	format := relocate.Detect(f.Type, origin, raw[:min(len(raw), 1024)])
	if !format.Spliced() {
		return nil
	}
	var d relocate.Doc
	if err := d.Scan(raw, relocate.Input{URL: base, MIME: f.Type, Format: format}); err != nil {
		return []string{err.Error()}
	}
	for i := range d.Links {
		l := &d.Links[i]
		if l.URL == nil || len(l.Ref) == 0 || l.Kind == relocate.InScript {
			continue
		}
		p, inside := strings.CutPrefix(string(l.URL), place)
		if !inside {
			continue
		}
		p, _, _ = strings.Cut(p, "?")
		p, err := url.PathUnescape(p)
		if err != nil || !exists(p) {
			broken = append(broken, string(l.Ref)+" is to no file")
		}
	}
	return broken
}

func escapePath(p string) string {
	segments := strings.Split(p, "/")
	for i := range segments {
		segments[i] = url.PathEscape(segments[i])
	}
	return strings.Join(segments, "/")
}

// named replaces the relative links of a document by the URLs of the files that they lead to.
func named(path, mime string, raw []byte, urls map[string]string) string {
	base, _, err := site.Parse(place + escapePath(path))
	if err != nil {
		return err.Error()
	}
	var d relocate.Doc
	format := relocate.Detect(mime, base, raw[:min(len(raw), 1024)])
	if format == relocate.Unknown || format == relocate.Script {
		return string(raw)
	}
	if err := d.Scan(raw, relocate.Input{URL: base, MIME: mime, Format: format}); err != nil {
		return err.Error()
	}
	var b strings.Builder
	at := 0
	for i := range d.Links {
		l := &d.Links[i]
		p, inside := strings.CutPrefix(string(l.URL), place)
		if !inside || len(l.Ref) == 0 {
			continue
		}
		if p, err = url.PathUnescape(p); err != nil {
			continue
		}
		b.Write(raw[at:l.Start])
		b.WriteString("<" + urls[p] + ">")
		at = int(l.End)
	}
	b.Write(raw[at:])
	return b.String()
}
