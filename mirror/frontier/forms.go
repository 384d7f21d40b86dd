// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// A program may have a form to write in for each of its pages, under a parameter that names what to do: ?edit
// or ?mode=reply. When eight such pages have the same to say beside the form, but for words of their
// URLs, those with the parameter are left to the origin, without a request. One in 64 is requested all the
// same, in each run others; one that is no form ends it for good. What the mirror has of earlier runs stays.
const (
	formSample = 64
	longVerb   = 16 // bytes of a parameter that names what to do
)

var (
	writeForm = regexp.MustCompile(`(?s)<form\b[^>]*\bmethod\s*=\s*["']?post\b.*?</form`)
	textArea  = []byte("<textarea")
)

// LeftForm is why such a URL is not in the mirror.
const LeftForm = "a form to write in, as those of other pages under one parameter: left to the origin"

// formPlaces returns the places of a URL that may be of forms.
func formPlaces(u site.URL) (out []string) {
	q, _ := u.Query()
	for pair := range site.Params(q) {
		if len(pair) <= longVerb && !strings.ContainsAny(pair, digits) {
			out = append(out, u.Origin()+" form ?"+pair)
		}
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

// tellForm takes a page. The caller holds mu.
func (s *SessionIDs) tellForm(u site.URL, places []string, is bool, said uint64) (left bool) {
	for _, place := range places {
		switch l := s.learned[place]; {
		case !is && l != nil:
			l.Differs = u.String()
		case !is && len(s.plain) < mostAlike:
			s.plain[place] = true
		case is && said != 0 && !s.plain[place]:
			vote(s, place, u, strconv.FormatUint(said, 16))
		}
		left = left || (is && s.isKnown(place))
	}
	return left
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
