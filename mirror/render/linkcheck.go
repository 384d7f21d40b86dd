// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// insideOrigin is the origin under which the files of a mirror are looked at: no real URL has it (RFC 6761
// 6.4). They lie in a folder of it, so that a link that climbs out of the mirror's folder, as it would
// under file://, is not clamped at the root but seen outside.
const (
	insideOrigin = "http://mirror.invalid"
	insideFolder = "/mirror.invalid.phm/"
)

// PageChecker checks the links of published documents for phm.Verify. It keeps the memory of one scan and
// is not safe for concurrent use.
type PageChecker struct {
	urls     map[string]string // mirror path of each URL of the set
	fixpoint bool              // relocating again must change nothing
	doc      relocate.Doc
	out, ref []byte
}

// NewPageChecker returns a checker of a mirror in which each URL of urls lies at a mirror path. With
// fixpoint it also reports a document that relocating again would change, which holds of what mirrord
// published only.
func NewPageChecker(urls map[string]string, fixpoint bool) *PageChecker {
	return &PageChecker{urls: urls, fixpoint: fixpoint}
}

// Check is a phm.LinkChecker. The two rules of PHM: a link that leads inside is relative and names a file
// of the set; all others are absolute.
func (c *PageChecker) Check(f *phm.File, raw []byte, exists func(string) bool) (broken []string) {
	if _, ok := f.Extra[phm.UnscannedField]; ok {
		return nil
	}
	has, err := scanPublished(&c.doc, f, raw)
	if err != nil {
		return []string{err.Error()}
	}
	if !has {
		return nil
	}
	for i := range c.doc.Links {
		if why := c.link(&c.doc.Links[i], exists); why != "" {
			broken = append(broken, why)
		}
	}
	if c.fixpoint && len(broken) == 0 {
		if at := c.again(f, raw); at >= 0 {
			broken = append(broken, fmt.Sprintf("relocating it again would change it at byte %d", at))
		}
	}
	return broken
}

// scanPublished finds the links of a published file at its place in a mirror. It reports false for one
// without links that are replaced. How a document is read depends on where it came from: the extension
// counts when the type says nothing.
func scanPublished(doc *relocate.Doc, f *phm.File, raw []byte) (has bool, err error) {
	origin, _, err := site.Parse(f.URL)
	if err != nil {
		return false, fmt.Errorf("%q is no URL: %w", f.URL, err)
	}
	format := relocate.Detect(f.Type, origin, raw)
	if !format.Spliced() {
		return false, nil
	}
	return true, doc.Scan(raw, relocate.Input{URL: insideURL(f.Path), Format: format, MaxLinks: 1 << 24})
}

// link reports the error of a link; "" without one.
func (c *PageChecker) link(l *relocate.Link, exists func(string) bool) string {
	switch {
	case l.URL == nil, l.Kind == relocate.Discovered, len(l.Ref) == 0:
		return ""
	case l.Kind == relocate.InScript:
		return "" // a guess may name what there is not, and a job may leave all of them alone
	}
	if bytes.HasPrefix(l.URL, []byte(insideOrigin+"/")) {
		p, in := insidePath(l.URL)
		switch {
		case l.Absolute:
			return "" // a link of the page to the reserved origin
		case bytes.HasPrefix(l.Ref, []byte("/")):
			return fmt.Sprintf("%.200s is not relative: it leads out of the mirror's directory", l.Ref)
		case !in:
			return fmt.Sprintf("%.200s leads out of the mirror's directory", l.Ref)
		case p == "" || !exists(p):
			return fmt.Sprintf("%.200s links to no file", l.Ref)
		}
		return ""
	}
	if p, ok := c.urls[string(l.URL)]; ok && l.Kind != relocate.Action {
		return fmt.Sprintf("%.200s links to the origin, although the mirror has it at %s", l.Ref, p)
	}
	return ""
}

// insideURL is where a file of a mirror lies while its links are looked at.
func insideURL(path string) site.URL {
	return site.Canonical(insideOrigin + (&url.URL{Path: insideFolder + path}).EscapedPath())
}

// insidePath returns the mirror path of the target of a resolved link, "" for none, and whether it is inside.
func insidePath(u []byte) (string, bool) {
	rest, ok := bytes.CutPrefix(u, []byte(insideOrigin+insideFolder))
	if !ok {
		return "", false
	}
	if i := bytes.IndexByte(rest, '?'); i >= 0 {
		return "", true
	}
	if bytes.IndexByte(rest, '%') < 0 {
		return string(rest), true
	}
	p, err := url.PathUnescape(string(rest))
	if err != nil {
		return "", true
	}
	return p, true
}

// again relocates a published document and returns the offset of the first byte that changed, -1 for none.
func (c *PageChecker) again(f *phm.File, raw []byte) int {
	same := identity(f.Path, f.URL)
	doc := &c.doc
	target := func(i int) ([]byte, bool, bool) {
		l := &doc.Links[i]
		if l.URL == nil {
			return nil, false, false
		}
		p, in := insidePath(l.URL)
		if l.Kind == relocate.InScript {
			return nil, false, false // inside, it points to its file by now; all others stay as they stand
		}
		if !in || p == "" || l.Absolute || l.Kind == relocate.Action {
			return l.URL, false, !l.Absolute
		}
		if same && l.Plain && strings.HasSuffix(string(l.URL), "/"+p) {
			return nil, true, false
		}
		c.ref = relocate.Relative(c.ref[:0], f.Path, p)
		return c.ref, true, true
	}
	c.out = doc.Splice(c.out[:0], raw, target)
	if bytes.Equal(c.out, raw) {
		return -1
	}
	return firstDifference(c.out, raw)
}

// identity reports whether a file lies where its URL lies on its site.
func identity(path, u string) bool {
	c := site.Canonical(u)
	_, query := c.Query()
	return !c.IsZero() && !query && c.Path()[1:] == path
}

// firstDifference is the offset of the first byte in which two documents differ.
func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
