// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
)

// A program gives one text under many addresses: with parameters for what a reader does not see, in letters
// of either case, of each state of a file that did not change, with a session id that is new in each answer.
// A part of URLs (see urls.PartsOf) does not matter when eight pairs of pages that differ only in it say the
// same, each pair something else, and no pair does not. What differs in nothing else is one URL then, without
// a request. The URL without the part may say more, the same in each pair of a value: what a print version
// lacks, or by what a list is sorted. Such a part is learned for a place: the origin, a directory, a program,
// or the URLs with another parameter of one value. In the run that learns it, URLs are requested all the same
// as the 4th, 16th, 64th that would not be; each later run compares a pair. One that differs ends it for
// good.
//
// A token that one document alone names may be new in each answer. Digests, numbers of messages and names of
// documents look the same, so a kind of tokens (see site.RandomPart) is treated as session ids only when
//
//   - pages whose URLs differ only in that token say the same and have the same links, but for the tokens and
//     words with digits: under tokens of three answers what another token said, and no pair that does not;
//   - the first document that named such tokens, requested once more, has the same links with other tokens,
//     none of which was ever seen.
//
// The last says that the token is of the answer, and nothing of the site's. The URL without the parameter
// stands for the others when three of these say the same as with it, else the first one of the mirror does.

const (
	alikePairs     = 8       // that must say the same
	alikeStates    = 4       // of a repository that pairs must have, when any has one
	sessionAnswers = 3       // under whose tokens pages must say what they said under another token
	sessionTries   = 2       // requests for the last proof that may fail
	bareURLs       = 3       // that must say without the token what they say with it
	mostKinds      = 128     // of parameters of an origin
	mostForms      = 4096    // of the links of an answer
	mostAlike      = 4096    // places that are watched, and kinds of tokens
	mostMembers    = 16384   // pages that are remembered
	mostNamed      = 1 << 17 // forms of URLs that are named
)

// SessionIDs learns session ids, and other parts of URLs that do not matter. It is safe for concurrent use;
// nil learns none.
type SessionIDs struct {
	some   atomic.Bool // something is learned
	table  *urls.Table
	run    int
	learns bool

	mu      sync.Mutex
	learned map[string]*urls.SessionID // by place
	first   map[uint64]site.URL        // of these: by the hash of their form

	named   map[uint64]uint64     // by part and form: the hash of a URL, or several
	tokens  map[uint64]uint64     // by random value: the document that named it, plus one, or several
	answers map[string]*answer    // by kind of tokens
	kinds   map[string][]string   // of parameters, by origin: a URL without one may be the form of others
	read    map[uint64]*alikeRead // by part and form
	tallies map[string]*tally     // by place
	pages   []site.URL            // that were read and have such parts

	ripe    []SecondRequest // for the last proof of kinds of tokens
	bare    []SecondRequest // URLs without the session ids of kinds that were learned
	refuted map[string]bool // kinds of which URLs without the token say something else

	plain   map[string]bool   // places of pages that are no forms, or not hidden
	left    sync.Map          // the known places
	stay    sync.Map          // URLs of pages that named something new: none is left as unlisted
	leading int               // how many
	listed  int               // pages of this run that may be listed
	folded  map[string]int    // by place: URLs for which another one stood in this run
	samples map[site.URL]bool // URLs that are requested all the same
	settled bool              // the samples were requested
}

// answer is the first document that named tokens of a kind.
type answer struct {
	id    uint32
	url   site.URL
	forms map[string]bool // of its links with these
	seen  int             // tokens of the kind, of all documents
	tries int             // to request it once more
	ripe  bool
}

// NewSessionIDs returns a SessionIDs of a table that is loaded. learned is what Learned returned in the run
// before. Without learns only session ids that are learned count.
func NewSessionIDs(learned map[string]*urls.SessionID, run int, table *urls.Table, learns bool) *SessionIDs {
	s := &SessionIDs{
		table:   table,
		run:     run,
		learns:  learns,
		learned: learned,
		first:   map[uint64]site.URL{},
		named:   map[uint64]uint64{},
		tokens:  map[uint64]uint64{},
		answers: map[string]*answer{},
		kinds:   map[string][]string{},
		read:    map[uint64]*alikeRead{},
		tallies: map[string]*tally{},
		refuted: map[string]bool{},
		plain:   map[string]bool{},
		folded:  map[string]int{},
		samples: map[site.URL]bool{},
	}
	if s.learned == nil {
		s.learned = map[string]*urls.SessionID{}
	}
	for id, x := range table.Settled().All() { // what the mirror has is of no kind that is left
		if learns && x.InSet() {
			var places []string
			for _, k := range kinds[1:] {
				places = append(places, leftPlaces(table.URL(id), k.is)...)
			}
			for _, place := range places[:min(len(places), mostAlike-len(s.plain))] {
				s.plain[place] = true
			}
		}
	}
	for place := range s.learned {
		keepLeft(s, place)
	}
	s.some.Store(len(learned) > 0)
	s.Recall()
	return s
}

// Recall takes the URLs that are known, while the table is settled. The first one that is in the mirror
// stands for all others, else the first.
func (s *SessionIDs) Recall() {
	if !s.Some() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.table.Settled()
	for id, x := range t.All() {
		if !x.Given() {
			continue
		}
		u := t.URL(id)
		form, places := s.formOf(u)
		if len(places) == 0 {
			continue
		}
		h := xxh3.HashString(form)
		if first, ok := s.first[h]; !ok || (x.InSet() && !s.has(first)) {
			s.first[h] = u
		}
	}
}

// has reports whether the mirror has a URL.
func (s *SessionIDs) has(u site.URL) bool {
	id, ok := s.table.FindURL(u)
	return ok && s.table.InSet(id)
}

// Some reports whether there are session ids, or parts of URLs that do not matter.
func (s *SessionIDs) Some() bool { return (s != nil) && s.some.Load() }

// Answer takes the URLs that a document names and that were never seen before. It is called before the pages
// of these URLs come.
func (s *SessionIDs) Answer(id uint32, doc site.URL, fresh []site.URL) {
	if (s == nil) || !s.learns {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range fresh {
		s.name(id, doc, u)
	}
}

// Read takes a page of the mirror. plain is its body without noise; nil when body is only its beginning.
// links are those of the answer.
func (s *SessionIDs) Read(u site.URL, body []byte, plain func() []byte, links []relocate.Link) {
	if (s == nil) || !s.learns {
		return
	}
	s.mu.Lock()
	if place, _, _ := ledBy(u, ""); !leads(s, u).IsZero() {
		s.learned[place].Differs = u.String()
	}
	parts := s.partsRead(u)
	s.mu.Unlock()
	if len(parts) == 0 {
		return
	}
	said := textsOf(u, body, plain, links, parts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pages) < mostMembers {
		s.pages = append(s.pages, u)
	}
	for i := range parts {
		s.compare(u, &parts[i], said[i], links)
	}
}

// ReadLeft takes a page or a feed, and returns why it is left to the origin, "" when it is not.
func (s *SessionIDs) ReadLeft(u site.URL, body []byte, r Robots) (why string) {
	if (s == nil) || !s.learns {
		return ""
	}
	x := readLeft(u, body, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	return x.tell(s)
}

// Leaves returns why a URL is left to the origin, "" when it is not. It takes no lock: the table calls it.
func (s *SessionIDs) Leaves(u site.URL) (why string) {
	if !s.Some() || isChosen(u, s.run) {
		return ""
	}
	return s.LeavesAny(u)
}

// LeavesAny is Leaves, also for one that this run requests to see whether it is still of its kind. A redirect
// does not tell that: as a link it would change each page that names it.
func (s *SessionIDs) LeavesAny(u site.URL) (why string) {
	if !s.Some() {
		return ""
	}
	isLeft := func(place string) bool {
		_, is := s.left.Load(place)
		return is
	}
	for _, k := range kinds {
		_, stays := s.stay.Load(u)
		if (k.is != unlisted || !stays) && slices.ContainsFunc(leftPlaces(u, k.is), isLeft) {
			return k.why
		}
	}
	return ""
}

// Led takes where a URL redirects.
func (s *SessionIDs) Led(u, to site.URL) {
	if (s == nil) || !s.learns {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place, _, by := ledBy(u, to.String())
	if is := leads(s, u); !is.IsZero() && is != to {
		s.learned[place].Differs = u.String()
	} else if by != "" {
		vote(s, place, u, by)
	}
}

// Question returns a document of an origin that is to be requested once more, and whose links Answered then
// wants.
func (s *SessionIDs) Question(origin string) (q SecondRequest, ok bool) {
	if s == nil {
		return q, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.ripe, func(q SecondRequest) bool { return q.URL.Origin() == origin })
	if i < 0 {
		return q, false
	}
	q = s.ripe[i]
	s.ripe = slices.Delete(s.ripe, i, i+1)
	return q, true
}

// Bare returns URLs without a session id that is learned, one for each, which are to be requested.
func (s *SessionIDs) Bare() []SecondRequest {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.bare
	s.bare = nil
	return out
}

// Answered takes what a document said when it was requested once more. It reports whether that proves the
// token to be a session id.
func (s *SessionIDs) Answered(q SecondRequest, again *Second) (learned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.said != 0 {
		s.answeredBare(q, again)
		return false
	}
	a, t := s.answers[q.Kind], s.tallies[q.Kind]
	if again.URLs == nil {
		if a.tries++; a.tries < sessionTries {
			s.ripe = append(s.ripe, q)
		}
		return false
	}
	tokens, forms := tokensOf(again.URLs, q.Kind)
	isNew := (len(tokens) > 0) && maps.Equal(forms, a.forms)
	for _, t := range tokens {
		_, old := s.tokens[xxh3.HashString(t)]
		isNew = isNew && !old
	}
	for _, u := range again.URLs {
		has := func(t string) bool { return strings.Contains(u.String(), t) }
		isNew = isNew && !(slices.ContainsFunc(tokens, has) && s.table.Knows(u))
	}
	if t.no = t.no || !isNew; t.no {
		return false
	}
	s.learn(q.Kind, &urls.SessionID{
		Tokens: a.seen + len(tokens),
		Pairs:  len(t.texts),
		Twice:  q.URL.String(),
		Run:    s.run,
	})
	s.askBare(q.Kind)
	return true
}

// askBare asks for some of the pages that were read, without their session id. The caller holds mu.
func (s *SessionIDs) askBare(kind string) {
	n := 0
	for _, u := range s.pages {
		for _, t := range site.Tokens(u) {
			r, bare := s.read[keyOf(t.Kind, t.Form)], urls.WithoutToken(u, kind)
			if (t.Kind == kind) && (r != nil) && (r.of == u) && !bare.IsZero() && (n < bareURLs) {
				n++
				s.bare = append(s.bare, SecondRequest{URL: bare, Kind: kind, said: r.said.all})
			}
		}
	}
}

// answeredBare takes what a page said whose URL has no session id.
func (s *SessionIDs) answeredBare(q SecondRequest, again *Second) {
	l := s.learned[q.Kind]
	same := (again.URLs != nil) && (digestWithout(q.URL, q.Kind, again.Body, again.Links) == q.said)
	s.refuted[q.Kind] = s.refuted[q.Kind] || !same
	l.Bare = !s.refuted[q.Kind]
}

// Main returns the URL that stands for u, and why; u itself unless it differs from another one only in a
// session id, or in what does not matter.
func (s *SessionIDs) Main(u site.URL) (main site.URL, why string) {
	if !s.Some() {
		return u, ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range site.Tokens(u) {
		if l := s.learned[t.Kind]; (l != nil) && l.Bare {
			return urls.WithoutToken(u, t.Kind), SameSession
		}
	}
	form, places := s.formOf(u)
	h := xxh3.HashString(form)
	main = s.first[h]
	if bare := site.Canonical(form); s.learns && s.has(bare) {
		main = bare
	}
	switch {
	case (main == u) || (main.IsZero() && len(places) == 0):
		if to := leads(s, u); !to.IsZero() && !isChosen(u, s.run) {
			return to, LedAlike
		}
		return u, ""
	case main.IsZero():
		s.first[h] = u
		return u, ""
	case slices.ContainsFunc(places, func(p string) bool { return !s.learned[p].Alike }):
		return main, SameSession
	}
	for _, place := range places {
		if s.learned[place].Run == s.run && s.isSample(place, u) {
			return u, ""
		}
	}
	return main, SameParts
}

// Audited returns the URL that stands for another one by what earlier runs learned; ok is false without one.
func (s *SessionIDs) Audited(u site.URL) (main site.URL, ok bool) {
	main, why := s.Main(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, places := s.formOf(u)
	fresh := func(p string) bool { return s.learned[p].Run == s.run } // isSample looks at these
	return main, (why == SameParts) && !slices.ContainsFunc(places, fresh)
}

// SayAlike reports whether a page says the same as the one that stands for it, but for the parts of their
// URLs, and for a frame that one of these was learned with.
func (s *SessionIDs) SayAlike(u, main site.URL, one, two *Second) bool {
	x, y := textOf(u, one.Body), textOf(main, two.Body)
	d := y.beyond(&x)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, places := s.formOf(u)
	return (x == alikeText{}) || (y == alikeText{}) || (d.masked == 0) ||
		slices.ContainsFunc(places, func(p string) bool {
			return s.learned[p].IsFrame(d.masked)
		})
}

// Settle ends the requests of samples, when nothing else is left to request.
func (s *SessionIDs) Settle() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settled = true
	}
}

// Differ notes that a page differs from the one that stands for it: the parts of its URL matter.
func (s *SessionIDs) Differ(u site.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, places := s.formOf(u)
	for _, p := range places {
		s.learned[p].Differs = u.String()
	}
}

// Learned returns what NewSessionIDs needs in the next run: parts, and the kinds of session ids of which most
// URLs are in the mirror. A site that no longer takes the tokens of an earlier run gets new ones.
func (s *SessionIDs) Learned() map[string]*urls.SessionID {
	if !s.Some() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	more := map[string]int{} // of its URLs are in the mirror than are not
	for _, u := range s.first {
		n := -1
		if s.has(u) {
			n = 1
		}
		_, places := s.formOf(u)
		for _, p := range places {
			more[p] += n
		}
	}
	out := maps.Clone(s.learned)
	maps.DeleteFunc(out, func(place string, l *urls.SessionID) bool {
		few := (len(l.Pair) > 0) && (l.Pairs < alikePairs) // forms, or redirects
		return few || (!l.Alike && !l.Bare && (more[place] < 0))
	})
	return out
}
