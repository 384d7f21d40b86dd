// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mirrord/fetch"
)

// SchemeFetcher is a Fetcher that says which URLs it is for. *fetch.Client is that of http and https.
type SchemeFetcher interface {
	Fetcher
	// Schemes returns the URL schemes that Do takes, in lower case. It always returns the same.
	Schemes() []string
}

// Fetchers returns the fetchers of a job: its client, for http and https. This is the registry: the fetcher
// of another scheme is another argument of bySchemes.
func Fetchers(c *fetch.Client) Fetcher { return bySchemes(c) }

// ErrScheme is the class of a request whose URL scheme has no fetcher.
var ErrScheme = errors.New("URL scheme is not supported")

// schemes is a Fetcher that hands each request to the fetcher of its URL's scheme.
type schemes map[string]Fetcher

// bySchemes registers fetchers by their schemes.
func bySchemes(all ...SchemeFetcher) schemes {
	s := schemes{}
	for _, f := range all {
		for _, name := range f.Schemes() {
			s[name] = f
		}
	}
	return s
}

// Ahead returns what prepares a fetcher for the first request to an origin, nil if it needs nothing.
func Ahead(f Fetcher) func(origin string) {
	if a, ok := f.(interface{ Ahead(origin string) }); ok {
		return a.Ahead
	}
	return nil
}

// Ahead lets the fetcher of an origin's scheme prepare the first request to it.
func (s schemes) Ahead(origin string) {
	name, _, _ := strings.Cut(origin, ":")
	if ahead := Ahead(s[name]); ahead != nil {
		ahead(origin)
	}
}

// Do is Fetcher. A scheme without a fetcher is a *fetch.Error of class ErrScheme; nothing was requested then.
func (s schemes) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	name := req.URL.Scheme()
	if f := s[name]; f != nil {
		return f.Do(ctx, req, sink)
	}
	const form = "%w: %q; use one of: %s, or exclude such URLs in the job's scope"
	known := strings.Join(slices.Sorted(maps.Keys(s)), ", ")
	return &fetch.Result{}, &fetch.Error{
		URL:   req.URL,
		Class: ErrScheme,
		Err:   fmt.Errorf(form, ErrScheme, name, known),
	}
}
