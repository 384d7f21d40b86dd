// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"sync"

	"mirrord/fetch"
	"mirrord/site"
)

// SpellingsFact is where a site keeps Spellings.
const SpellingsFact = "spellings"

// mostSpelled is how many URLs may have a spelling of their own.
const mostSpelled = 4096

// Spellings knows how servers want URLs spelled that are equivalent (site.URL.Normal). It is a Fetcher that
// requests them so, and safe for concurrent use; nil knows nothing.
type Spellings struct {
	Fetcher

	mu    sync.Mutex
	known spellings
}

// spellings is what the fact has.
type spellings struct {
	Origins map[string]site.Spelling `json:"origins,omitempty"`
	URLs    map[string]string        `json:"urls,omitempty"` // by normal form, where an origin has several
}

// NewSpellings returns the Spellings of a fact; what cannot be read is learned again.
func NewSpellings(f Fetcher, fact []byte) *Spellings {
	s := &Spellings{Fetcher: f}
	if json.Unmarshal(fact, &s.known) != nil {
		s.known = spellings{}
	}
	return s
}

// Do is that of Fetcher.
func (s *Spellings) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	req.URL = s.Of(req.URL)
	return s.Fetcher.Do(ctx, req, sink)
}

// Of returns the spelling in which a URL is requested.
func (s *Spellings) Of(u site.URL) site.URL {
	if s == nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known.URLs) > 0 {
		if own, ok := s.known.URLs[u.Normal().String()]; ok {
			return site.Canonical(own)
		}
	}
	if of, ok := s.known.Origins[u.Origin()]; ok {
		return of.Spell(u)
	}
	return u
}

// Learn takes where the server redirects a URL, which is equivalent and is requested from then on.
func (s *Spellings) Learn(u, to site.URL) {
	if (s == nil) || (s.Of(u) == to) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, all := site.SpellingOf(to)
	if _, has := s.known.Origins[u.Origin()]; all && !has {
		if s.known.Origins == nil {
			s.known.Origins = map[string]site.Spelling{}
		}
		s.known.Origins[u.Origin()] = of
		return
	}
	if len(s.known.URLs) >= mostSpelled {
		return
	}
	if s.known.URLs == nil {
		s.known.URLs = map[string]string{}
	}
	s.known.URLs[u.Normal().String()] = to.String()
}

// Fact is the value of SpellingsFact, nil for none.
func (s *Spellings) Fact() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known.Origins)+len(s.known.URLs) == 0 {
		return nil, nil
	}
	return json.Marshal(s.known)
}
