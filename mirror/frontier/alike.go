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

// A program gives one text under many addresses: with parameters for what a reader does not see, in letters
// of either case, of each state of a file that did not change. A part of URLs does not matter when eight
// pairs of pages that differ only in it say the same, each pair something else, and no pair does not. What
// differs in nothing else is one URL then, without a request. Such a part is learned for a place (see
// urls.PartsOf): the origin, a directory, a program, or the URLs with another parameter of one value. In the
// run that learns it, URLs are requested all the same as the 1st, 4th, 16th that would not be; each run
// compares a few pairs. One that differs ends it for good.

const (
	alikePairs  = 8       // that must say the same
	mostAlike   = 4096    // places that are watched
	mostMembers = 16384   // pages that are remembered
	mostNamed   = 1 << 17 // forms of URLs that are named
	leastWords  = 4       // of a page that proves something
	maskedWord  = 4       // bytes of a word of a part that may differ between the two pages
	shortHash   = 7       // bytes of the beginning of a part that stands for it
)

// alike is what SessionIDs needs to learn which parts of URLs do not matter. nil: none are learned.
type alike struct {
	has func(site.URL) bool // whether the mirror has a URL

	named   map[uint64]uint64     // by part and form: the hash of a URL, or several
	tokens  map[uint64]uint64     // by random value: the document that named it, plus one, or several
	kinds   map[string][]string   // of parameters, by origin: a URL without one may be the form of others
	read    map[uint64]*alikeRead // by part and form
	tallies map[string]*tally     // by place
	pages   []site.URL            // that were read and have such parts
	folded  map[string]int        // by place: URLs for which another one stood in this run
	samples map[site.URL]bool     // URLs that are requested all the same
	settled bool                  // the samples were requested
}

// alikeRead is a page of those that differ only in one part: the first that was read.
type alikeRead struct {
	of   site.URL
	said alikeText
}

// several is no hash of a URL, and no document.
const several = 0

// alikeText names what a page says.
type alikeText struct{ all, masked, letters uint64 }

// tally is what pairs of a place said.
type tally struct {
	no    bool
	texts map[uint64]bool // of pairs that said the same
	pair  [2]string       // the last one
}

// LearnAlike lets parts of URLs be learned that do not matter. has reports whether the mirror has a URL.
func (s *SessionIDs) LearnAlike(has func(site.URL) bool) {
	s.alike = &alike{
		has:     has,
		named:   map[uint64]uint64{},
		tokens:  map[uint64]uint64{},
		kinds:   map[string][]string{},
		read:    map[uint64]*alikeRead{},
		tallies: map[string]*tally{},
		folded:  map[string]int{},
		samples: map[site.URL]bool{},
	}
}

// keyOf is the key of the form of a part.
func keyOf(kind, form string) uint64 { return xxh3.HashString(kind + " " + form) }

// name takes a URL that was never seen before, and the document that names it. known reports whether a URL
// has a number.
func (k *alike) name(u site.URL, by uint32, known func(site.URL) bool) {
	for _, t := range site.Tokens(u) {
		v := xxh3.HashString(t.Value)
		if first, ok := k.tokens[v]; ok && (first != uint64(by)+1) {
			k.tokens[v] = several
		} else if !ok && (len(k.tokens) < mostNamed) {
			k.tokens[v] = uint64(by) + 1
		}
	}
	h, origin := xxh3.HashString(u.String()), u.Origin()
	for _, p := range urls.PartsOf(u) {
		form := keyOf(p.Kind, p.Form)
		first, ok := k.named[form]
		switch {
		case ok && first != h:
			k.named[form] = several
		case !ok && p.Value != "":
			if len(k.named) >= mostNamed {
				clear(k.named)
			}
			if k.named[form] = h; known(site.Canonical(p.Form)) {
				k.named[form] = several
			}
			kinds := k.kinds[origin]
			if p.IsParam() && len(kinds) < mostKinds && !slices.Contains(kinds, p.Kind) {
				k.kinds[origin] = append(kinds, p.Kind)
			}
		}
	}
	for _, kind := range k.kinds[origin] {
		form := keyOf(kind, u.String())
		if _, ok := k.named[form]; ok {
			k.named[form] = several
		}
	}
}

// partsRead returns the parts of a page whose form has other URLs.
func (k *alike) partsRead(u site.URL) (out []urls.IdlePart) {
	h := xxh3.HashString(u.String())
	parts := urls.PartsOf(u)
	for _, kind := range k.kinds[u.Origin()] {
		if !slices.ContainsFunc(parts, func(p urls.IdlePart) bool { return p.Kind == kind }) {
			parts = append(parts, urls.IdlePart{Kind: kind, Form: u.String(), Places: urls.PlacesOf(kind, u)})
		}
	}
	for _, p := range parts {
		if by, ok := k.named[keyOf(p.Kind, p.Form)]; ok && (by != h) && !k.isOfAnswer(u, &p) {
			out = append(out, p)
		}
	}
	return out
}

// isOfAnswer reports whether a part may be a session id: it looks random, and one document alone names it.
func (k *alike) isOfAnswer(u site.URL, p *urls.IdlePart) bool {
	for _, t := range site.Tokens(u) {
		if t.Value == p.Value {
			return k.tokens[xxh3.HashString(t.Value)] != several
		}
	}
	return false
}

// compare takes what a page says. It returns the places that it proves.
func (k *alike) compare(u site.URL, p *urls.IdlePart, said alikeText) (proved []string) {
	form := keyOf(p.Kind, p.Form)
	f := k.read[form]
	if f == nil {
		if len(k.read) < mostMembers {
			k.read[form] = &alikeRead{u, said}
		}
		return nil
	}
	if f.of == u {
		f.said = said
		return nil
	}
	same, text := said.all == f.said.all, said.all
	if !same {
		same, text = said.masked == f.said.masked, said.masked
	}
	if !same && said.letters == f.said.letters {
		return nil // only numbers differ: of a list, or of the moment
	}
	for _, place := range p.Places {
		t := k.tallies[place]
		if t == nil {
			if len(k.tallies) >= mostAlike {
				continue
			}
			t = &tally{texts: map[uint64]bool{}}
			k.tallies[place] = t
		}
		if t.no = t.no || !same; t.no {
			t.texts = nil
			continue
		}
		t.texts[text], t.pair = true, [2]string{f.of.String(), u.String()}
		if len(t.texts) == alikePairs {
			proved = append(proved, place)
		}
	}
	return proved
}

// textsOf says what a page says and shows, for each of some parts of its URL. ok is false for one that proves
// nothing.
func textsOf(body []byte, links []relocate.Link, parts []urls.IdlePart) (said []alikeText, ok bool) {
	words := text.Tokens(text.Extract(body))
	if len(words) < leastWords {
		return nil, false
	}
	for _, p := range parts {
		var t alikeText
		own := text.Tokens(p.Value)
		add := func(w string, masked bool) {
			h := xxh3.HashString(w)
			t.all += h
			if !masked {
				t.masked += h
			}
			if !masked && !strings.ContainsAny(w, digits) {
				t.letters += h
			}
		}
		for _, w := range words { // in any order: a list may be sorted by the part
			add(w, len(w) >= maskedWord && slices.ContainsFunc(own, func(o string) bool {
				return (o == w) || (len(w) >= shortHash && strings.HasPrefix(o, w))
			}))
		}
		for i := range links {
			if l := &links[i]; (l.URL != nil) && (l.Kind == relocate.Requisite) {
				add(urls.WithoutPart(site.Canonical(string(l.URL)), p.Kind), false)
			}
		}
		said = append(said, t)
	}
	return said, true
}

// learn makes one URL of those that differ only in a part, at a place. The caller holds mu.
func (s *SessionIDs) learn(place string) {
	if s.learned[place] != nil {
		return
	}
	s.learned[place] = &urls.SessionID{
		Alike: true,
		Pairs: alikePairs,
		Pair:  s.alike.tallies[place].pair[:],
		Run:   s.run,
	}
	s.some.Store(true)
	for _, u := range s.alike.pages {
		if form, places := s.formOf(u); len(places) > 0 {
			if h := xxh3.HashString(form); s.first[h].IsZero() {
				s.first[h] = u
			}
		}
	}
}

// readParts takes what a page says that differs from others in parts of its URL. The caller holds mu.
func (s *SessionIDs) readParts(u site.URL, parts []urls.IdlePart, said []alikeText) {
	k := s.alike
	if len(k.pages) < mostMembers {
		k.pages = append(k.pages, u)
	}
	for i := range parts {
		p := &parts[i]
		for _, place := range k.compare(u, p, said[i]) {
			s.learn(place)
		}
		for _, place := range p.Places {
			if t, l := k.tallies[place], s.learned[place]; l != nil && t != nil && t.no {
				l.Differs = u.String()
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
			for _, place := range p.Places {
				l := s.learned[place]
				if l != nil && l.Differs == "" && !slices.Contains(places, place) {
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

// withoutParts returns the URL that stands for u, which differs from it only in parts that do not matter, or
// u. The caller holds mu.
func (s *SessionIDs) withoutParts(u site.URL) site.URL {
	form, places := s.formOf(u)
	h := xxh3.HashString(form)
	main := s.first[h]
	if bare := site.Canonical(form); s.alike.has(bare) {
		main = bare
	}
	switch {
	case main == u, main.IsZero() && len(places) == 0:
		return u
	case main.IsZero():
		s.first[h] = u
		return u
	}
	for _, place := range places {
		if s.learned[place].Run == s.run && s.alike.isSample(place, u) {
			return u
		}
	}
	return main
}

// isSample reports whether a URL is requested to see whether a part matters. The caller holds mu.
func (k *alike) isSample(place string, u site.URL) bool {
	if k.samples[u] || k.settled {
		return !k.settled
	}
	n := k.folded[place] + 1
	k.folded[place] = n
	if n&(n-1) != 0 || bits.TrailingZeros(uint(n))%2 != 0 || len(k.samples) >= mostForms {
		return false
	}
	k.samples[u] = true
	return true
}

// SayAlike reports whether two pages say the same but for the parts of their URLs.
func SayAlike(a, b site.URL, one, two *Second) bool {
	of := func(u site.URL, x *Second) (said alikeText, ok bool) {
		all, ok := textsOf(x.Body, nil, []urls.IdlePart{{Value: u.RequestURI()}})
		if ok {
			said = all[0]
		}
		return said, ok
	}
	x, ok := of(a, one)
	y, is := of(b, two)
	return !ok || !is || x.all == y.all || x.masked == y.masked
}
