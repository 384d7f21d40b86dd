// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
)

// A site may put a new session id into the links of each answer: each page is then found again under as many
// URLs as there are answers, each of which has links to as many again. Digests, numbers of messages and names
// of documents look the same, so a kind of tokens (see site.RandomPart) is treated as session ids only when
//
//   - four answers or more had links with tokens that were never seen before;
//   - pages whose URLs differ only in that token say the same and have the same links, but for the tokens and
//     words with digits: three pairs of four tokens at least, and no pair that does not;
//   - one of these documents, requested once more, has the same links with other tokens, none of which was
//     ever seen.
//
// The last says that the token is of the answer, and nothing of the site's. From then on URLs that differ in
// nothing else are one URL: the one without the parameter, when three of these say the same as with it, else
// the first one of the mirror.

const (
	sessionAnswers = 4    // that had links with new tokens
	sessionPairs   = 3    // pages that say what the same URL with another token said
	sessionTries   = 2    // requests for the last proof that may fail
	bareURLs       = 3    // that must say without the token what they say with it
	mostBrought    = 64   // tokens of one answer
	mostKinds      = 128  // of tokens that are watched
	mostForms      = 4096 // URLs and tokens of a kind that is watched
)

// SessionIDs learns session ids. It is safe for concurrent use; nil learns none.
type SessionIDs struct {
	some  atomic.Bool // something is learned
	ripe  atomic.Bool // a kind may want its last proof
	known func(u site.URL) bool
	run   int

	mu      sync.Mutex
	learned map[string]*urls.SessionID // by kind, or by place
	first   map[uint64]site.URL        // of these: by the hash of their form
	watched map[string]*tokens         // by kind
	turn    int
	refuted map[string]bool // kinds of which URLs without the token say something else
	bare    []SecondRequest // URLs without the session ids of kinds that were learned
	alike   *alike
}

// tokens describes a kind that may be one of session ids.
type tokens struct {
	no     bool // they are no session ids
	used   int
	length int
	of     map[string]uint32 // the document that first had a token
	docs   map[uint32]*answer
	forms  map[string]*said
	pairs  int
	same   map[string]bool // tokens of these pairs
	tries  int
	asking bool
}

// answer is a document whose links had new tokens.
type answer struct {
	id     uint32
	url    site.URL
	tokens []string
	forms  map[string]bool // of its links with these
}

// said is what a page said under the first token that it was read with.
type said struct {
	first  site.URL
	digest uint64
	token  string
}

// NewSessionIDs returns a SessionIDs. learned is what Learned returned in the run before; known reports
// whether a URL has a number.
func NewSessionIDs(learned map[string]*urls.SessionID, run int, known func(site.URL) bool) *SessionIDs {
	s := &SessionIDs{
		known:   known,
		run:     run,
		learned: learned,
		first:   map[uint64]site.URL{},
		watched: map[string]*tokens{},
		refuted: map[string]bool{},
	}
	if s.learned == nil {
		s.learned = map[string]*urls.SessionID{}
	}
	s.some.Store(len(learned) > 0)
	return s
}

// Recall takes a URL that is known. The first one that is in the mirror stands for all others, else the
// first.
func (s *SessionIDs) Recall(u site.URL, inSet bool, isInSet func(site.URL) bool) {
	if !s.Some() {
		return
	}
	tokens := site.Tokens(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	var forms []string
	for _, t := range tokens {
		if s.learned[t.Kind] != nil {
			forms = append(forms, t.Form)
		}
	}
	if s.alike != nil {
		if form, places := s.formOf(u); len(places) > 0 {
			forms = append(forms, form)
		}
	}
	for _, f := range forms {
		form := xxh3.HashString(f)
		if first, ok := s.first[form]; !ok || (inSet && !isInSet(first)) {
			s.first[form] = u
		}
	}
}

// withoutToken returns the URL that stands for u, which differs from it only in a session id, or u. The
// caller holds mu.
func (s *SessionIDs) withoutToken(u site.URL, tokens []site.RandomPart) site.URL {
	for _, t := range tokens {
		l := s.learned[t.Kind]
		if l == nil {
			continue
		}
		if l.Bare {
			return urls.WithoutToken(u, t.Kind)
		}
		form := xxh3.HashString(t.Form)
		if first, ok := s.first[form]; ok {
			return first
		}
		s.first[form] = u
	}
	return u
}

// Answer takes the URLs that a document names and that were never seen before. It is called before the pages
// of these URLs come.
func (s *SessionIDs) Answer(id uint32, doc site.URL, fresh []site.URL) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range fresh {
		if s.alike != nil {
			s.alike.name(u, id, s.known)
		}
		for _, t := range site.Tokens(u) {
			s.answer(id, doc, u, t)
		}
	}
}

// answer takes one token of a URL that a document names. The caller holds mu.
func (s *SessionIDs) answer(id uint32, doc, u site.URL, t site.RandomPart) {
	s.turn++
	k := s.kind(t.Kind)
	if (k == nil) || k.no {
		return
	}
	k.used = s.turn
	if k.length == 0 {
		k.length = len(t.Value)
	}
	if (k.length != len(t.Value)) || (len(k.of) >= mostForms) {
		k.drop()
		return
	}
	a := k.docs[id]
	switch by, old := k.of[t.Value]; {
	case old && (by != id):
		return // it is no longer new
	case !old:
		if a == nil {
			a = &answer{id: id, url: doc, forms: map[string]bool{}}
			k.docs[id] = a
		}
		k.of[t.Value] = id
		if a.tokens = append(a.tokens, t.Value); len(a.tokens) > mostBrought {
			k.drop()
			return
		}
	}
	if len(a.forms) < mostForms {
		a.forms[t.Form] = true
	}
	if f := k.forms[t.Form]; (f == nil) && (len(k.forms) < mostForms) {
		k.forms[t.Form] = &said{first: u}
	}
}

// kind returns the record of a kind of tokens, nil when there are too many, or when it is learned.
func (s *SessionIDs) kind(name string) *tokens {
	k := s.watched[name]
	if (k != nil) || (s.learned[name] != nil) {
		return k
	}
	if len(s.watched) >= mostKinds {
		oldest := ""
		for n, k := range s.watched {
			if !k.asking && ((oldest == "") || (k.used < s.watched[oldest].used)) {
				oldest = n
			}
		}
		if oldest == "" {
			return nil
		}
		delete(s.watched, oldest)
	}
	k = &tokens{
		of:    map[string]uint32{},
		docs:  map[uint32]*answer{},
		forms: map[string]*said{},
		same:  map[string]bool{},
	}
	s.watched[name] = k
	return k
}

// drop notes that a kind has no session ids.
func (k *tokens) drop() { *k = tokens{no: true, used: k.used} }

// Read takes a page of the mirror. text and links are those of the answer.
func (s *SessionIDs) Read(id uint32, u site.URL, body []byte, links []relocate.Link) {
	if s == nil {
		return
	}
	for _, t := range site.Tokens(u) {
		if without := s.mayProve(id, t); without != nil {
			s.compare(t, digestWithout(body, links, without))
		}
	}
}

// mayProve returns the tokens that do not count in a page; nil: it proves nothing.
func (s *SessionIDs) mayProve(id uint32, t site.RandomPart) (without []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.watched[t.Kind]
	if (k == nil) || k.no || (len(k.docs) < 2) {
		return nil
	}
	without = []string{t.Value}
	if a := k.docs[id]; a != nil {
		without = append(without, a.tokens...)
	}
	return without
}

// compare takes what a page said under a token.
func (s *SessionIDs) compare(t site.RandomPart, digest uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.watched[t.Kind]
	if (k == nil) || k.no {
		return
	}
	f := k.forms[t.Form]
	switch {
	case f == nil:
	case f.token == "":
		f.token, f.digest = t.Value, digest
	case f.token == t.Value:
	case f.digest != digest:
		k.drop()
	default:
		k.pairs++
		k.same[t.Value], k.same[f.token] = true, true
		ripe := (len(k.docs) >= sessionAnswers) && (k.pairs >= sessionPairs) && (len(k.same) > sessionPairs)
		if ripe && (k.tries < sessionTries) {
			s.ripe.Store(true)
		}
	}
}

// Question returns a document of an origin that is to be requested once more, and whose links Answered then
// wants.
func (s *SessionIDs) Question(origin string) (q SecondRequest, ok bool) {
	if (s == nil) || !s.ripe.Load() {
		return q, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := false
	for name, k := range s.watched {
		if k.no || k.asking || (k.tries >= sessionTries) || (len(k.same) <= sessionPairs) {
			continue
		}
		var doc *answer
		for _, a := range k.docs {
			if (a.url.Origin() == origin) && ((doc == nil) || (a.id < doc.id)) {
				doc = a
			}
		}
		if (doc == nil) || ok {
			left = true
			continue
		}
		k.asking, ok = true, true
		k.tries++
		q = SecondRequest{URL: doc.url, Kind: name}
	}
	s.ripe.Store(left)
	return q, ok
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
	k := s.watched[q.Kind]
	if (k == nil) || k.no {
		return false
	}
	k.asking = false
	if again.URLs == nil {
		s.ripe.Store(k.tries < sessionTries)
		return false
	}
	tokens, forms := tokensOf(again.URLs, q.Kind)
	isNew := len(tokens) > 0
	for _, t := range tokens {
		_, old := k.of[t]
		isNew = isNew && !old && (len(t) == k.length)
	}
	for _, u := range again.URLs {
		has := func(t string) bool { return strings.Contains(u.String(), t) }
		isNew = isNew && !(slices.ContainsFunc(tokens, has) && s.known(u))
	}
	same := func(a *answer) bool { return sameForms(a.forms, forms) }
	if !isNew || !slices.ContainsFunc(k.answersOf(q.URL), same) {
		k.drop()
		return false
	}
	bare := 0
	s.learned[q.Kind] = &urls.SessionID{
		Tokens: len(k.of) + len(tokens),
		Pairs:  k.pairs,
		Twice:  q.URL.String(),
		Run:    s.run,
	}
	for form, f := range k.forms {
		if h := xxh3.HashString(form); s.first[h].IsZero() {
			s.first[h] = f.first
		}
		if u := urls.WithoutToken(f.first, q.Kind); (f.token != "") && !u.IsZero() && (bare < bareURLs) {
			bare++
			s.bare = append(s.bare, SecondRequest{URL: u, Kind: q.Kind, said: f.digest})
		}
	}
	delete(s.watched, q.Kind)
	s.some.Store(true)
	return true
}

// answeredBare takes what a page said whose URL has no session id.
func (s *SessionIDs) answeredBare(q SecondRequest, again *Second) {
	l := s.learned[q.Kind]
	if l == nil {
		return
	}
	tokens, _ := tokensOf(again.URLs, q.Kind)
	same := (again.URLs != nil) && (digestWithout(again.Body, again.Links, tokens) == q.said)
	s.refuted[q.Kind] = s.refuted[q.Kind] || !same
	l.Bare = !s.refuted[q.Kind]
}

// Main returns the URL that stands for u, and why; u itself unless it differs from another one only in a
// session id, or in what does not matter.
func (s *SessionIDs) Main(u site.URL) (main site.URL, why string) {
	if !s.Some() {
		return u, ""
	}
	tokens := site.Tokens(u)
	s.mu.Lock()
	defer s.mu.Unlock()
	if main = s.withoutToken(u, tokens); main != u {
		return main, SameSession
	}
	if s.alike == nil {
		return u, ""
	}
	if main = s.withoutParts(u); main != u {
		return main, SameParts
	}
	return u, ""
}

// ReadAlike takes a page of the mirror. plain is its body without noise.
func (s *SessionIDs) ReadAlike(u site.URL, plain func() []byte, links []relocate.Link) {
	if (s == nil) || (s.alike == nil) {
		return
	}
	k := s.alike
	s.mu.Lock()
	parts := k.partsRead(u)
	s.mu.Unlock()
	if len(parts) == 0 {
		return
	}
	said, ok := textsOf(plain(), links, parts)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readParts(u, parts, said)
}

// Settle ends the requests of samples, when nothing else is left to request.
func (s *SessionIDs) Settle() {
	if (s != nil) && (s.alike != nil) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.alike.settled = true
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

// Learned returns what NewSessionIDs needs in the next run: the kinds of which most URLs are in the mirror. A
// site that no longer takes the tokens of an earlier run gets new ones.
func (s *SessionIDs) Learned(inSet func(site.URL) bool) map[string]*urls.SessionID {
	if !s.Some() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there, all := map[string]int{}, map[string]int{}
	for form, u := range s.first {
		for _, t := range site.Tokens(u) {
			if form != xxh3.HashString(t.Form) { // it is first of another form
				continue
			}
			if all[t.Kind]++; inSet(u) {
				there[t.Kind]++
			}
		}
	}
	out := map[string]*urls.SessionID{}
	for kind, l := range s.learned {
		if l.Alike || l.Bare || (2*there[kind] >= all[kind]) {
			out[kind] = l
		}
	}
	return out
}
