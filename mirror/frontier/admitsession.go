// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/replica/text"
	"mirrord/site"
)

// What the summary notes of URLs for which another one stands.
const (
	sameSession = "URLs that differ only in a session id that is new in each answer, treated as one"
	sameParts   = "URLs that differ only in what does not matter, treated as one"
)

// Why a URL redirects to its representative, whose URL follows.
const (
	SameSession  = "the same but for a session id: "
	SameSpelling = "the same in another spelling: "
	SameParts    = "the same but for what does not matter: "
)

// withoutSession returns what stands for a URL that a document names, see SessionIDs.
func (a *Admission) withoutSession(u []byte) []byte {
	if !a.Sessions.Some() {
		return u
	}
	named := site.Canonical(string(u))
	main, why := a.Sessions.Main(named)
	switch {
	case main == named:
		return u
	case why == SameParts:
		a.Notes.Add(sameParts, named)
	default:
		a.Notes.Add(sameSession, named)
	}
	return []byte(main.String())
}

// Some reports whether there are session ids, or parts of URLs that do not matter.
func (s *SessionIDs) Some() bool {
	return (s != nil) && s.some.Load()
}

// RecallSessions takes the URLs that are known.
func (s *SessionIDs) RecallSessions(t urls.Settled) {
	if !s.Some() {
		return
	}
	in := InSetOf(t)
	for id, x := range t.All() {
		if x.Given() {
			s.Recall(t.URL(id), x.InSet(), in)
		}
	}
}

// InSetOf returns what reports whether a URL is in the mirror.
func InSetOf(t urls.Settled) func(site.URL) bool {
	return func(u site.URL) bool {
		id, ok := t.Find([]byte(u.String()))
		return ok && t.State(id).InSet()
	}
}

// digestWithout names what a page says and links to, without some tokens, and without words with digits.
func digestWithout(body []byte, links []relocate.Link, tokens []string) uint64 {
	var pairs []string
	for _, t := range tokens {
		pairs = append(pairs, t, site.TokenMark)
	}
	without := strings.NewReplacer(pairs...).Replace
	var h xxh3.Hasher
	for _, w := range text.Tokens(without(text.Extract(body))) {
		if !strings.ContainsAny(w, digits) {
			h.WriteString(w)
			h.WriteString(" ")
		}
	}
	for i := range links {
		if l := &links[i]; (l.URL != nil) && (l.Kind <= relocate.Requisite) {
			h.WriteString(without(string(l.URL)))
			h.WriteString("\n")
		}
	}
	return h.Sum64()
}

// tokensOf returns the tokens of a kind in URLs, and the URLs without them.
func tokensOf(urls []site.URL, kind string) (tokens []string, forms map[string]bool) {
	forms = map[string]bool{}
	for _, u := range urls {
		for _, t := range site.Tokens(u) {
			if t.Kind != kind {
				continue
			}
			if forms[t.Form] = true; !slices.Contains(tokens, t.Value) {
				tokens = append(tokens, t.Value)
			}
		}
	}
	return tokens, forms
}

func sameForms(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for form := range a {
		if !b[form] {
			return false
		}
	}
	return true
}

// SecondRequest is a document that is to be requested once more.
type SecondRequest struct {
	URL  site.URL
	Kind string // of tokens
	said uint64 // what a page said whose URL this is without its session id; 0: the first question
}

// Second is what a document said when it was requested once more. The zero value is of one that could not be
// had.
type Second struct {
	URLs  []site.URL // that it names
	Body  []byte
	Links []relocate.Link
}

func (k *tokens) answersOf(u site.URL) (out []*answer) {
	for _, a := range k.docs {
		if a.url == u {
			out = append(out, a)
		}
	}
	return out
}
