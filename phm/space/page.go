// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// MirrorFolder is the folder of a mirror in the files of a space. No mirror path that mirrord gives
// begins so: a leading "@" of a site's own path is escaped, and no host has one in it. So an address
// below it means the other mirror, also on a server that has only one mirror at its root. Some file systems
// drop a dot at the end of a name, so that it is escaped.
func MirrorFolder(name string) string {
	if rest, ok := strings.CutSuffix(name, "."); ok {
		name = rest + lastDot
	}
	return folderMark + name
}

const (
	folderMark = "@@"
	lastDot    = "%2E"
)

// MirrorOf cuts the folder of a mirror off a path: of "@@manual/a.html" it returns "manual" and "a.html".
func MirrorOf(path string) (name, rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, folderMark)
	if !ok {
		return "", "", false
	}
	folder, rest, _ := strings.Cut(rest, "/")
	name = folder
	if cut, ok := strings.CutSuffix(folder, lastDot); ok {
		name = cut + "."
	}
	return name, rest, site.CheckJobName(name) == nil && MirrorFolder(name) == folderMark+folder
}

// maxPage bounds the pages that are read: a larger one stays as it was published.
const maxPage = 64 << 20

// pages finds and changes links of published pages. It keeps the memory of one scan and is not safe for
// concurrent use.
type pages struct {
	doc      relocate.Doc
	out, ref []byte
}

// MayLink reports whether a published file may have links that can be changed, as far as its line tells.
func MayLink(f *phm.File) bool {
	u, _, _ := site.Parse(f.URL) // a URL that cannot be parsed tells nothing
	return f.Size <= maxPage && relocate.MaySplice(f.Type, u, f.Path)
}

// inside is the origin of the space's files while a page is read; no real URL has it (RFC 6761 6.4).
const inside = "http://space.invalid/"

// scan reads a published page; false: it is of a format whose links stay.
func (p *pages) scan(mirror string, f *phm.File, raw []byte) (bool, error) {
	origin, _, err := site.Parse(f.URL)
	if err != nil {
		return false, fmt.Errorf("%q: %w", f.URL, err)
	}
	format := relocate.Detect(f.Type, origin, raw[:min(len(raw), 1024)])
	if !format.Spliced() {
		return false, nil
	}
	place := (&url.URL{Path: MirrorFolder(mirror) + "/" + f.Path}).EscapedPath()
	in := relocate.Input{URL: site.Canonical(inside + place), Format: format, MaxLinks: 1 << 24}
	return true, p.doc.Scan(raw, in)
}

// leaves reports whether a link is to another site and may be changed.
func leaves(l *relocate.Link) bool {
	switch l.Kind {
	case relocate.Action, relocate.Discovered, relocate.InScript:
		return false
	}
	return l.URL != nil && l.Absolute && !bytes.HasPrefix(l.URL, []byte(inside))
}

// outside calls each for every link of a published page to another site.
func (p *pages) outside(mirror string, f *phm.File, raw []byte, each func(u string)) error {
	ok, err := p.scan(mirror, f, raw)
	if !ok || err != nil {
		return err
	}
	for i := range p.doc.Links {
		if l := &p.doc.Links[i]; leaves(l) {
			each(string(l.URL))
		}
	}
	for _, was := range p.repaired(f) {
		each(was)
	}
	return nil
}

// Landing is a file of a mirror.
type Landing struct {
	Mirror string `json:"mirror"`
	Path   string `json:"path"`
	part   string // the fragment that a redirect to it names, "" for none
}

func compareTargets(a, b Landing) int {
	return cmp.Or(strings.Compare(a.Mirror, b.Mirror), strings.Compare(a.Path, b.Path))
}

// relink returns a published page in which links lead where resolve says, and where these lead; none: the
// page stays as it is. What it returns is valid until the next call.
func (p *pages) relink(
	mirror string, f *phm.File, raw []byte, resolve func(u string) (Landing, bool, error),
) (out []byte, to []Landing, links int, err error) {
	ok, err := p.scan(mirror, f, raw)
	if !ok || err != nil {
		return nil, nil, 0, err
	}
	self := MirrorFolder(mirror) + "/" + f.Path
	broken := p.repaired(f)
	var failed error
	target := func(i int) ([]byte, bool, bool) {
		if l := &p.doc.Links[i]; leaves(l) {
			t, ok, err := resolve(string(l.URL))
			if was := broken[string(l.URL)]; !ok && err == nil && was != "" {
				t, ok, err = resolve(was)
			}
			if err != nil {
				failed = err
			}
			if ok {
				p.ref = relocate.Relative(p.ref[:0], self, MirrorFolder(t.Mirror)+"/"+t.Path)
				if t.part != "" {
					p.ref = append(append(p.ref, '#'), t.part...)
				}
				t.part = "" // one file, regardless of the part
				to = append(to, t)
				return p.ref, true, true
			}
		}
		return nil, false, false
	}
	p.out = p.doc.Splice(p.out[:0], raw, target)
	links = len(to)
	slices.SortFunc(to, compareTargets)
	return p.out, slices.Compact(to), links, failed
}

// narrowness says how narrowly the scope of a mirror surrounds a URL: the length of the longest of its
// places that the URL begins with; a place is host and path, or "*." and a domain.
func narrowness(places []string, u string) int {
	_, rest, _ := strings.Cut(u, "://")
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, ":")
	best := 0
	for _, p := range places {
		if domain, ok := strings.CutPrefix(p, "*."); ok {
			if host == domain || strings.HasSuffix(host, "."+domain) {
				best = max(best, 1)
			}
		} else if strings.HasPrefix(rest, p) {
			best = max(best, len(p))
		}
	}
	return best
}
