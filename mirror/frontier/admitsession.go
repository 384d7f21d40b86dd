// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/urls"
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
