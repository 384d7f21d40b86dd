// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
)

const (
	leastWords = 4 // of a page that proves something
	maskedWord = 4 // bytes of a word of a query that may differ between the two pages
	shortHash  = 7 // bytes of the beginning of a part that stands for it
)

// alikeRead is a page of those that differ only in one part: the first that was read.
type alikeRead struct {
	of    site.URL
	value string // of the part, behind a "="
	said  alikeText
}

// several is no hash of a URL, and no document.
const several = 0

// alikeText is what a page says and shows, as sums of hashes: the zero value is of one that proves nothing.
type alikeText struct {
	all     uint64 // its words
	masked  uint64 // those that its URL does not have
	letters uint64 // of these, those without digits
	shows   uint64 // its requisites
}

// beyond is what a page says and shows beyond another one: the zero value where that is the same.
func (t *alikeText) beyond(o *alikeText) (d alikeText) {
	if d.shows = t.shows - o.shows; (t.all != o.all) || (d.shows != 0) {
		d.masked, d.letters = t.masked-o.masked, t.letters-o.letters
	}
	return d
}

// tally is what pairs of a place said.
type tally struct {
	no     bool
	texts  map[uint64]bool // of pairs that said the same; the documents that named their tokens
	pair   [2]string       // the last one
	states map[string]bool // values that are states of a repository: most pages of two of these are the same
	frames map[string]*alikeFrame
}

// alikeFrame is what URLs without the part say beyond those with a value of it: what a print version lacks,
// or the name of the order that a list is in. After mostFrames values it is that of any other.
type alikeFrame struct {
	alikeText
	again bool // a second pair said so
}

const mostFrames = 8

// takes reports whether a pair says the same but for the frame of a value; "" when both URLs have one. known
// is false when it proves nothing. Once the place is learned, as l, a value gets no frame that l lacks.
func (t *tally) takes(d alikeText, value string, l *urls.SessionID) (same, known bool) {
	want := alikeText{}
	if value != "" {
		if t.frames[value] == nil && len(t.frames) >= mostFrames {
			value = ""
		}
		f := t.frames[value]
		if f == nil && l != nil && (d.masked == 0 || !l.IsFrame(d.masked)) {
			f = &alikeFrame{}
		}
		if f == nil {
			f = &alikeFrame{alikeText: d, again: d == want}
			if t.frames == nil {
				t.frames = map[string]*alikeFrame{}
			}
			t.frames[value] = f
			return true, true
		}
		want = f.alikeText
		f.again = f.again || d == want
	}
	same = d == want
	return same, same || (d.letters != want.letters) || (d.shows != want.shows) // else only numbers differ
}

// framed returns what the URLs without the part say beyond the others. ok is false while one pair alone says
// so.
func (t *tally) framed() (frames []uint64, ok bool) {
	for _, f := range t.frames {
		if !f.again {
			return nil, false
		}
		if f.masked != 0 {
			frames = append(frames, f.masked)
		}
	}
	return frames, true
}

// keyOf is the key of the form of a part.
func keyOf(kind, form string) uint64 { return xxh3.HashString(kind + " " + form) }

// name takes a URL that was never seen before, and the document that names it. The caller holds mu.
func (s *SessionIDs) name(id uint32, doc, u site.URL) {
	h, origin := xxh3.HashString(u.String()), u.Origin()
	for _, p := range urls.PartsOf(u) {
		if p.IsToken() {
			s.nameToken(id, doc, &p)
		}
		form := keyOf(p.Kind, p.Form)
		first, ok := s.named[form]
		switch {
		case ok && first != h:
			s.named[form] = several
		case !ok && p.Value != "":
			if len(s.named) >= mostNamed {
				clear(s.named)
			}
			if s.named[form] = h; s.table.Knows(site.Canonical(p.Form)) {
				s.named[form] = several
			}
			kinds := s.kinds[origin]
			if p.MayLack() && len(kinds) < mostKinds && !slices.Contains(kinds, p.Kind) {
				s.kinds[origin] = append(kinds, p.Kind)
			}
		}
	}
	for _, kind := range s.kinds[origin] {
		form := keyOf(kind, u.String())
		if _, ok := s.named[form]; ok {
			s.named[form] = several
		}
	}
}

// nameToken takes a token of a URL that was never seen before. The caller holds mu.
func (s *SessionIDs) nameToken(id uint32, doc site.URL, p *urls.IdlePart) {
	a, v, by := s.answers[p.Kind], xxh3.HashString(p.Value), uint64(id)+1
	first, old := s.tokens[v]
	if old && (first != by) {
		s.tokens[v] = several
		return
	}
	if a == nil {
		if len(s.answers) >= mostAlike {
			return
		}
		a = &answer{id: id, url: doc, forms: map[string]bool{}}
		s.answers[p.Kind] = a
	}
	if !old && (len(s.tokens) < mostNamed) {
		s.tokens[v] = by
		a.seen++
	}
	if (a.id == id) && (len(a.forms) < mostForms) {
		a.forms[p.Form] = true
	}
}

// partsRead returns the parts of a page whose form has other URLs. A token that one document alone names may
// be a session id, and nothing else. The caller holds mu.
func (s *SessionIDs) partsRead(u site.URL) (out []urls.IdlePart) {
	h := xxh3.HashString(u.String())
	parts := urls.PartsOf(u)
	for _, kind := range s.kinds[u.Origin()] {
		if !slices.ContainsFunc(parts, func(p urls.IdlePart) bool { return p.Kind == kind }) {
			parts = append(parts, urls.IdlePart{Kind: kind, Form: u.String()})
		}
	}
	for _, p := range parts {
		ofAnswer := s.tokens[xxh3.HashString(p.Value)] != several
		if by, ok := s.named[keyOf(p.Kind, p.Form)]; ok && (by != h) && (ofAnswer == p.IsToken()) {
			out = append(out, p)
		}
	}
	return out
}

// compare takes what a page says that differs from others in a part of its URL. One that names the other as
// itself (rel=canonical, og:url) counts twice: that is a vote, and no proof. The caller holds mu.
func (s *SessionIDs) compare(u site.URL, p *urls.IdlePart, said alikeText, links []relocate.Link) {
	form := keyOf(p.Kind, p.Form)
	f := s.read[form]
	switch {
	case said == (alikeText{}):
		return
	case f == nil:
		if len(s.read) < mostMembers {
			s.read[form] = &alikeRead{of: u, value: "=" + p.Value, said: said}
		}
		return
	case f.of == u:
		f.said = said
		return
	}
	d, value := f.said.beyond(&said), "" // of a URL of which the other one has none
	switch p.Form {
	case f.of.String():
		value = "=" + p.Value
	case u.String():
		d, value = said.beyond(&f.said), f.value
	}
	if (d.masked != 0) && (d.letters == 0) && (d.shows == 0) {
		return // only numbers differ: of a list, or of the moment
	}
	text := f.said.masked
	switch {
	case p.IsToken():
		text = s.tokens[xxh3.HashString(p.Value)]
	case f.said.all == said.all: // it may say nothing but its name
		text = said.all
	}
	named := !p.IsToken() && slices.ContainsFunc(links, func(l relocate.Link) bool {
		return l.Kind == relocate.Reference && string(l.URL) == f.of.String()
	})
	for _, place := range p.Places() {
		t := s.tallies[place]
		if t == nil {
			if len(s.tallies) >= mostAlike {
				continue
			}
			t = &tally{texts: map[uint64]bool{}}
			s.tallies[place] = t
		}
		l := s.learned[place]
		same, known := t.takes(d, value, l)
		if !known {
			continue
		}
		if t.no = t.no || !same; t.no {
			t.texts = nil
			if (l != nil) && l.Alike {
				l.Differs = u.String()
			}
			continue
		}
		t.texts[text], t.pair = true, [2]string{f.of.String(), u.String()}
		if urls.IsState(p.Value) && !p.IsToken() {
			if t.states == nil {
				t.states = map[string]bool{}
			}
			t.states[p.Value] = true
		}
		if named {
			t.texts[^text] = true
		}
		s.prove(place, p, t)
	}
}

// prove learns a place when its pairs are enough, or asks for the last proof. The caller holds mu.
func (s *SessionIDs) prove(place string, p *urls.IdlePart, t *tally) {
	a := s.answers[p.Kind]
	switch {
	case s.learned[place] != nil:
	case p.IsToken():
		if (len(t.texts) >= sessionAnswers) && (a != nil) && !a.ripe {
			a.ripe = true
			s.ripe = append(s.ripe, SecondRequest{URL: a.url, Kind: p.Kind})
		}
	case len(t.texts) >= alikePairs && (t.states == nil || len(t.states) >= alikeStates):
		if frames, ok := t.framed(); ok {
			s.learn(place, &urls.SessionID{
				Alike:  true,
				Frames: frames,
				Pairs:  alikePairs,
				Pair:   t.pair[:],
				Run:    s.run,
			})
		}
	}
}

// textsOf says what a page says, for each of some parts of its URL.
func textsOf(
	u site.URL, body []byte, plain func() []byte, links []relocate.Link, parts []urls.IdlePart,
) []alikeText {
	said := make([]alikeText, len(parts))
	var words alikeText
	for i, p := range parts {
		if p.IsToken() {
			d := digestWithout(u, p.Kind, body, links)
			said[i] = alikeText{all: d, masked: d, letters: d}
			continue
		}
		if (words == alikeText{}) && (plain != nil) {
			words = textOf(u, plain())
		}
		if said[i] = words; (words != alikeText{}) {
			said[i].shows = shownBy(links, p.Kind)
		}
	}
	return said
}

// textOf says what a page says, in any order: a list may be sorted by a part of its URL.
func textOf(u site.URL, plain []byte) (t alikeText) {
	words := text.Tokens(text.Extract(plain))
	if len(words) < leastWords {
		return t
	}
	path, own := text.Tokens(u.Path()), text.Tokens(u.RequestURI())
	for _, w := range words {
		h := xxh3.HashString(w)
		t.all += h
		masked := slices.Contains(path, w) || isOwn(own, w)
		if !masked {
			t.masked += h
		}
		if !masked && !strings.ContainsAny(w, digits) {
			t.letters += h
		}
	}
	return t
}

// isOwn reports whether a word is one of a URL, or the beginning of a hash in it.
func isOwn(own []string, w string) bool {
	return len(w) >= maskedWord && slices.ContainsFunc(own, func(o string) bool {
		return (o == w) || (len(w) >= shortHash && strings.HasPrefix(o, w))
	})
}

// shownBy adds up the requisites of a page, without a part of their URLs.
func shownBy(links []relocate.Link, part string) (sum uint64) {
	for i := range links {
		if l := &links[i]; (l.URL != nil) && (l.Kind == relocate.Requisite) {
			sum += xxh3.HashString(urls.WithoutPart(site.Canonical(string(l.URL)), part))
		}
	}
	return sum
}

// learn makes one URL of those that differ only in a part, at a place. The caller holds mu.
func (s *SessionIDs) learn(place string, l *urls.SessionID) {
	s.learned[place] = l
	s.some.Store(true)
	for _, u := range s.pages {
		if form, places := s.formOf(u); len(places) > 0 {
			if h := xxh3.HashString(form); s.first[h].IsZero() {
				s.first[h] = u
			}
		}
	}
}

// formOf returns a URL without the parts that do not matter, and the places that say so. The caller holds
// mu.
func (s *SessionIDs) formOf(u site.URL) (form string, places []string) {
	form = u.String()
	for more := true; more; {
		more = false
		for _, p := range urls.PartsOf(site.Canonical(form)) {
			n := len(places)
			for _, place := range p.Places() {
				l := s.learned[place]
				counts := (l != nil) && (l.Differs == "") && (s.learns || !l.Alike)
				if counts && !slices.Contains(places, place) {
					places = append(places, place)
				}
			}
			if len(places) > n {
				form, more = p.Form, true
				break
			}
		}
	}
	return form, places
}

// isSample reports whether a URL is requested to see whether a part matters. The caller holds mu.
func (s *SessionIDs) isSample(place string, u site.URL) bool {
	if s.samples[u] || s.settled {
		return !s.settled
	}
	n := s.folded[place] + 1
	s.folded[place] = n
	if n == 1 || n&(n-1) != 0 || bits.TrailingZeros(uint(n))%2 != 0 || len(s.samples) >= mostForms {
		return false
	}
	s.samples[u] = true
	return true
}

// A program has other addresses for its pages, which redirect: /?ID to /item/ID, /add/NAME to /?tags=NAME.
// When eight URLs that differ only in their end redirect to one that has this end, each in the same way,
// others are redirects without a request, where the mirror has what they lead to. One in 64 is requested all
// the same, in each run others; one that does not lead there ends it for good.

// ledBy returns the place of a URL and of those that differ only in their end, and this end; by is what
// stands before it in the URL to which it redirects, "" when that has another end.
func ledBy(u site.URL, to string) (place, end, by string) {
	i := strings.LastIndexAny(u.String(), "/?=") + 1
	place, end = u.String()[:i], u.String()[i:]
	if by, _ = strings.CutSuffix(to, end); end == "" || by == to || !strings.HasPrefix(by, u.Origin()+"/") {
		by = ""
	}
	return place + " leads", end, by
}

// leads returns where a URL redirects by what others do; the zero URL where that is not known, or not in the
// mirror. The caller holds mu.
func leads(s *SessionIDs, u site.URL) site.URL {
	place, end, _ := ledBy(u, "")
	if s.isKnown(place) && s.learns && !s.has(u) {
		if to := site.Canonical(s.learned[place].Twice + end); s.has(to) {
			return to
		}
	}
	return site.URL{}
}

// isChosen reports whether a URL is requested all the same in this run.
func isChosen(u site.URL, run int) bool {
	return (xxh3.HashString(u.String())+uint64(run))%formSample == 0
}
