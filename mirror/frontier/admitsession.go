// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

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
	LedAlike     = "as others redirect that differ only in their end: "
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
	case why == SameSession:
		a.Notes.Add(sameSession, named)
	default:
		a.Notes.Add(sameParts, named)
	}
	return []byte(main.String())
}

// digestWithout names what a page says and links to, without the tokens of a kind in its URL and links, and
// without words with digits.
func digestWithout(u site.URL, kind string, body []byte, links []relocate.Link) uint64 {
	named := []site.URL{u}
	for i := range links {
		named = append(named, site.Canonical(string(links[i].URL)))
	}
	var pairs []string
	tokens, _ := tokensOf(named, kind)
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
