// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"mirrord/fetch/reach"
)

// TestContradictedNotModified: a 304 with other validators than those that were sent is requested again
// without conditions, once, and so is a 304 that no condition asked for.
func TestContradictedNotModified(t *testing.T) {
	const (
		older  = "Sun, 01 Nov 2026 10:00:00 GMT"
		stored = "Mon, 02 Nov 2026 10:00:00 GMT"
		newer  = "Tue, 03 Nov 2026 10:00:00 GMT"
	)
	tests := []struct {
		name      string
		req       Request
		tag, date string // of the 304
		always    bool   // 304 in any case
		requests  int
		status    int
	}{
		{"same date", Request{LastModified: stored}, "", stored, false, 1, 304},
		{"same date, in another form", Request{LastModified: stored}, "", "Monday, 02-Nov-26 10:00:00 GMT", false,
			1, 304},
		{"no validators", Request{ETag: `"a"`, LastModified: stored}, "", "", false, 1, 304},
		{"a tag only the answer has", Request{LastModified: stored}, `"b"`, "", false, 1, 304},
		{"a date only the answer has", Request{ETag: `"a"`}, "", older, false, 1, 304},
		{"an older date", Request{LastModified: stored}, "", older, false, 2, 200},
		{"a newer date", Request{LastModified: stored}, "", newer, false, 2, 200},
		{"another tag", Request{ETag: `"a"`}, `"b"`, "", false, 2, 200},
		{"another tag and date", Request{ETag: `"a"`, LastModified: stored}, `"b"`, older, false, 2, 200},
		{"another tag, caller retries", Request{ETag: `"a"`, NoRetry: true}, `"b"`, "", false, 2, 200},
		{"a tag of each server", Request{ETag: `"a"`, LastModified: stored}, `"b"`, stored, false, 1, 304},
		{"same tag, another date", Request{ETag: `"a"`, LastModified: stored}, `"a"`, older, false, 1, 304},
		{"weak", Request{ETag: `"a"`}, `W/"a"`, "", false, 1, 304},
		{"strong", Request{ETag: `W/"a"`}, `"a"`, "", false, 1, 304},
		{"Apache", Request{ETag: `"a-gzip"`}, `"a"`, "", false, 1, 304},
		{"Jetty", Request{ETag: `W/"a--gzip"`}, `"a"`, "", false, 1, 304},
		{"Caddy", Request{ETag: `"a"`}, `"a-zstd"`, "", false, 1, 304},
		{"no question", Request{}, `"a"`, stored, true, 2, 304},
		{"no question, caller retries", Request{NoRetry: true}, `"a"`, stored, true, 1, 304},
		{"304 in any case", Request{ETag: `"a"`}, `"b"`, "", true, 2, 304},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requests := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests++
				for k, v := range map[string]string{"ETag": tt.tag, "Last-Modified": tt.date} {
					if v != "" {
						w.Header().Set(k, v)
					}
				}
				if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" || tt.always {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				io.WriteString(w, "body")
			}))
			defer s.Close()
			const gap = 3 * time.Second
			var p pauses
			tt.req.URL, tt.req.Gap = mustURL(t, s.URL+"/"), gap
			c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: 3, Sleep: p.sleep})
			res, err := c.Do(t.Context(), tt.req, new(memory))
			if err != nil || res.Status != tt.status || requests != tt.requests || res.Sent != requests {
				t.Errorf("status %d after %d requests (%d counted), %v", res.Status, requests, res.Sent, err)
			}
			if confirmed := tt.status == 304 && !tt.always; res.NotModified != confirmed {
				t.Errorf("not modified: %v", res.NotModified)
			}
			if len(p) != tt.requests-1 || (len(p) > 0 && p[0] != gap) {
				t.Errorf("waited %v", p)
			}
		})
	}
}

// TestNotModifiedToRest: a 304 to the request for the rest of a body says nothing; the whole body is
// requested.
func TestNotModifiedToRest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, "body")
	}))
	defer s.Close()
	c := newClient(t, Options{Reach: reach.Policy{All: true}})
	var m memory
	res, err := c.Do(t.Context(), Request{
		URL:     mustURL(t, s.URL+"/"),
		ETag:    `"a"`,
		Part:    &Part{Validator: `"a"`, Length: 4, Status: 200},
		Offset:  2,
		NoRetry: true,
	}, &m)
	if err != nil || !res.Kept || m.String() != "body" {
		t.Errorf("status %d, %q, %v", res.Status, m.String(), err)
	}
}
