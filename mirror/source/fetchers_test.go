// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"mirrord/fetch"
	"mirrord/fetch/reach"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/testing/mirrortest"
	"mirrord/testing/sourcetest"
)

// The client of http and https, against a server on loopback, as a run has it.
func TestClientIsFetcher(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{
		"http": httptest.NewServer, "https": httptest.NewTLSServer,
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.TestFetcher(t, func(t *testing.T, h http.Handler) (source.Fetcher, site.URL) {
				srv := start(h)
				srv.Config.ErrorLog = nil
				t.Cleanup(srv.Close)
				c, err := fetch.New(fetch.Options{Reach: reach.Policy{All: true}, InsecureTLS: true})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				return c, site.Canonical(srv.URL + "/")
			})
		})
	}
}

// The scripted fetcher of other tests.
func TestFakeIsFetcher(t *testing.T) {
	sourcetest.TestFetcher(t, func(_ *testing.T, h http.Handler) (source.Fetcher, site.URL) {
		return &mirrortest.Fake{Handler: h}, site.Canonical("http://site.example/")
	})
}
