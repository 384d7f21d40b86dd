// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/site"
)

// Answers without a body give their connection away before anybody has looked at them: each request has the
// head of its own answer all the same, as it came.
func TestWholeHeadIsThatOfTheRequest(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["x-ID"] = []string{r.URL.Path}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer srv.Close()
	c := newClient(t, Options{Reach: reach.Policy{All: true}, MaxConnsPerHost: 3})
	var all sync.WaitGroup
	for worker := range 12 {
		all.Go(func() {
			for n := range 40 {
				path := fmt.Sprintf("/%d/%d", worker, n)
				res, err := c.Do(t.Context(), Request{URL: site.Canonical(srv.URL + path)}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if h := res.Whole; h == nil || h.Normalised || !strings.Contains(h.String(), "\nx-ID: "+path+"\n") {
					t.Errorf("%s has the head\n%v", path, h)
					return
				}
			}
		})
	}
	all.Wait()
}

// Of a read with a head and the beginning of its body only the head is kept.
func TestOfABodyNothingIsKept(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n"
	body := strings.Repeat("x", 32<<10)
	for _, cut := range []int{0, 1, len(head) - 1, len(head)} {
		s := &seenHead{conn: &headConn{most: 1 << 20}, wants: true}
		s.keep([]byte(head[:cut]))
		s.keep([]byte(head[cut:] + body))
		if s.wants || string(s.raw) != head {
			t.Errorf("cut at %d: kept %q", cut, s.raw[:min(len(s.raw), 100)])
		}
		if whole := cut == 0; whole && cap(s.raw) > 2*len(head) {
			t.Errorf("a head of %d bytes takes %d", len(head), cap(s.raw))
		}
	}
}

// Where heads are not wanted none is kept, and the answer is read all the same.
func TestNoHeads(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		fmt.Fprint(w, "body")
	}))
	defer srv.Close()
	c := newClient(t, Options{Reach: reach.Policy{All: true}, NoHeads: true})
	for range 2 { // on a new connection and on a used one
		var got strings.Builder
		sink := beginFunc(func(*Head) (io.Writer, error) { return &got, nil })
		res, err := c.Do(t.Context(), Request{URL: site.Canonical(srv.URL + "/")}, sink)
		if err != nil {
			t.Fatal(err)
		}
		if res.Whole != nil || res.ETag != `"e"` || got.String() != "body" {
			t.Errorf("head %v, ETag %s, body %q", res.Whole, res.ETag, got.String())
		}
	}
}
