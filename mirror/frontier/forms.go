// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// A program may have a form to write in for each of its pages, under a parameter that names what to do: ?edit
// or ?mode=reply. When eight such pages have the same to say beside the form, but for words of their
// URLs, those with the parameter are left to the origin, without a request. So are pages under a parameter,
// or in a namespace such as Special: or ?n=PmWiki., of which eight tell robots neither to list them nor to
// follow their links (noindex, nofollow), and none that the mirror has does not; and those under a parameter
// that names what to do of which eight are not to be listed, and name nothing new but what has the parameter,
// too. Both only where eight other pages of the run may be listed. One in 64 is requested all the same, in
// each run others; one that is no such page ends it for good. What the mirror has of earlier runs stays.
const (
	formSample = 64
	longVerb   = 16 // bytes of a parameter that names what to do
)

var (
	writeForm = regexp.MustCompile(`(?s)<form\b[^>]*\bmethod\s*=\s*["']?post\b.*?</form`)
	textArea  = []byte("<textarea")
)

// Kinds of pages that are left.
const (
	form     = " form "
	hidden   = " hidden "
	unlisted = " unlisted "
)

// Why such a URL is not in the mirror.
const (
	LeftForm   = "a form to write in, as those of other pages under one parameter: left to the origin"
	LeftHidden = "of a kind of pages that tell robots neither to list nor to follow them: left to the origin"
)

// leftPlaces returns the places of a URL of a kind. Those of forms, and of pages that are not to be listed,
// are parameters that name what to do.
func leftPlaces(u site.URL, kind string) (out []string) {
	q, _ := u.Query()
	for pair := range site.Params(q) {
		if len(pair) <= longVerb && !strings.ContainsAny(pair, digits) {
			out = append(out, u.Origin()+kind+"?"+pair)
		}
		if kind != hidden {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		out = append(out, u.Origin()+kind+"?"+name+"=*")
		if i := strings.IndexAny(value, ":./"); i > 0 {
			out = append(out, u.Origin()+kind+"?"+name+"="+value[:i+1])
		}
	}
	if space, _, ok := strings.Cut(u.Path(), ":"); ok && kind == hidden {
		out = append(out, u.Origin()+kind+space+":")
	}
	return out
}

// formOn reports whether a page has a form to write in, and what it says beside its forms.
func formOn(u site.URL, body []byte) (is bool, said uint64) {
	page := bytes.ToLower(body)
	if n := bytes.Count(page, textArea); n > 0 {
		rest := writeForm.ReplaceAll(page, nil)
		is, said = bytes.Count(rest, textArea) < n, textOf(u, rest).letters
	}
	return is, said
}

// tell takes a page that is of a kind, or is not, and what it has in common with others of it, "" for
// nothing. The caller holds mu.
func (s *SessionIDs) tell(u site.URL, places []string, is bool, has string) (left bool) {
	for _, place := range places {
		switch l := s.learned[place]; {
		case !is && l != nil:
			l.Differs = u.String()
		case !is && len(s.plain) < mostAlike:
			s.plain[place] = true
		case is && has != "" && len(s.plain) < mostAlike && !s.plain[place]:
			vote(s, place, u, has)
		}
		left = (s.keepLeft(place) && is) || left
	}
	return left
}

// keepLeft notes whether a place is known. The caller holds mu.
func (s *SessionIDs) keepLeft(place string) bool {
	if !s.isKnown(place) {
		s.left.Delete(place)
		return false
	}
	s.left.Store(place, true)
	return true
}

// vote takes one more URL of a place of which eight are to have something in common. The caller holds mu.
func vote(s *SessionIDs, place string, u site.URL, has string) {
	switch l := s.learned[place]; {
	case l == nil && len(s.learned) >= mostAlike:
	case l == nil || (l.Pairs == 1 && l.Twice != has && l.Differs == ""):
		s.learned[place] = &urls.SessionID{
			Twice: has,
			Pairs: 1,
			Pair:  []string{u.String()},
			Run:   s.run,
		}
	case l.Pairs < alikePairs && l.Twice == has && !slices.Contains(l.Pair, u.String()):
		l.Pair = append(l.Pair, u.String())
		if l.Pairs++; l.Pairs == alikePairs {
			s.some.Store(true)
		}
	}
}

// isKnown reports whether eight URLs of a place had something in common, and none did not. The caller holds
// mu.
func (s *SessionIDs) isKnown(place string) bool {
	l := s.learned[place]
	return (l != nil) && (l.Pairs >= alikePairs) && (l.Differs == "")
}
