package main

import (
	"fmt"
	"net/url"
	"strings"

	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
)

// inside is the origin under which a mirror's files are looked at: no real URL has it (RFC 6761 6.4).
const inside = "http://mirror.invalid"

// checkLinks returns the checker of links for phm.Verify. It keeps the memory of one scan and is not safe for concurrent use.
//
// A link that leads inside must be relative (the first PHM rule) and name a file of the set. Links to other origins are right by
// being absolute and are not followed.
func checkLinks() phm.LinkChecker {
	doc := new(relocate.Doc)
	return func(f *phm.File, raw []byte, exists func(string) bool) (broken []string) {
		base := site.Canonical(inside + (&url.URL{Path: "/" + f.Path}).EscapedPath())
		origin, _, err := site.Parse(f.URL)
		if err != nil {
			return []string{fmt.Sprintf("%q is no URL", f.URL)}
		}
		// How a document is read depends on where it came from: the extension counts when the type says nothing.
		format := relocate.Detect(f.Type, origin, raw[:min(len(raw), 1024)])
		if format == relocate.Unknown || format == relocate.Sitemap {
			return nil
		}
		if err := doc.Scan(raw, relocate.Input{URL: base, MIME: f.Type, Format: format, MaxLinks: 1 << 24}); err != nil {
			return []string{err.Error()}
		}
		for i := range doc.Links {
			if why := brokenLink(&doc.Links[i], exists); why != "" {
				broken = append(broken, why)
			}
		}
		return broken
	}
}

// brokenLink says what is wrong with a link; "" when nothing is.
func brokenLink(l *relocate.Link, exists func(string) bool) string {
	if l.URL == nil || l.Absolute || l.Kind == relocate.Discovered || len(l.Ref) == 0 {
		return ""
	}
	u := site.Canonical(string(l.URL))
	if u.Origin() != inside {
		return ""
	}
	if strings.HasPrefix(string(l.Ref), "/") {
		return fmt.Sprintf("%s is not relative: it leads out of the mirror's directory", l.Ref)
	}
	p, err := url.PathUnescape(u.Path()[1:])
	if err != nil || !exists(p) {
		return fmt.Sprintf("%s leads to no file", l.Ref)
	}
	return ""
}
