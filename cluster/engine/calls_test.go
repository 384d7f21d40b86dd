// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mirrord/app/access"
	"mirrord/cluster/engine"
	"mirrord/testing/poll"
)

// A node's HTTP requests are answered by the one that they are sent to: large answers, codes, bodies. A
// caller that is gone ends the call, and a node that is not there is an error at once.
func TestCalls(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a b" // names may be any text
	b := node(t, o)
	o.Node = "a"
	a := node(t, o)
	large := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	gone := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/large", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil || string(text) != "which?" || r.URL.Query().Get("n") != "1" {
			t.Errorf("%s with %q, %v", r.URL, text, err)
		}
		w.Header().Set("Content-Type", "text/plain")
		w.Write(large)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		for r.Context().Err() == nil {
			io.WriteString(w, "event\n")
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	})
	stop, err := b.Answer(mux)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: a.To("a b")}
	resp, err := client.Post("http://mirrord/v1/large?n=1", "text/plain", strings.NewReader("which?"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !bytes.Equal(got, large) || resp.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("%d bytes of %d, %v, %v", len(got), len(large), resp.Header, err)
	}
	if resp, err = client.Get("http://mirrord/v1/none"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("%v, %v", resp, err)
	}
	resp.Body.Close()
	if resp, err = client.Get("http://mirrord/v1/events"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 12)); err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	<-gone
	stop()
	for _, name := range []string{"a b", "unknown"} {
		client := &http.Client{Transport: a.To(name)}
		if resp, err := client.Get("http://mirrord/v1/none"); !errors.Is(err, engine.ErrNoNode) {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	if a.Me() != "a" {
		t.Errorf("it is %s", a.Me())
	}
	poll.Until(t, "both are members", func() bool { return len(a.Members()) == 2 })
}

// Some header fields go along, no cookie does; HEAD has no body; what breaks off there breaks off here.
func TestFieldsOfCalls(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "b"
	b := node(t, o)
	o.Node = "a"
	a := node(t, o)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /file", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Cookie") != "" || r.Header.Get(access.GuestField) != "name=ann" {
			t.Errorf("with %v", r.Header)
		}
		w.Header().Set(access.TookField, "1")
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Disposition", `attachment; filename="f"`)
		http.ServeContent(w, r, "f.txt", time.Unix(1e9, 0), strings.NewReader("0123456789"))
	})
	mux.HandleFunc("GET /breaks", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	stop, err := b.Answer(mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	for _, tc := range []struct {
		method, asks string
		code         int
		body, length string
	}{
		{"GET", "", http.StatusOK, "0123456789", "10"},
		{"GET", "bytes=2-4", http.StatusPartialContent, "234", "3"},
		{"HEAD", "", http.StatusOK, "", "10"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tc.method, "http://mirrord/file", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cookie", "a=b")
		r.Header.Set(access.GuestField, "name=ann")
		if tc.asks != "" {
			r.Header.Set("Range", tc.asks)
		}
		resp, err := a.To("b").RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		h := resp.Header
		if err != nil || resp.StatusCode != tc.code || string(body) != tc.body ||
			h.Get("Content-Length") != tc.length || h.Get("Content-Disposition") == "" ||
			h.Get("Last-Modified") == "" || h.Get(access.TookField) != "1" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s %q: %d, %q, %v, %v", tc.method, tc.asks, resp.StatusCode, body, h, err)
		}
	}
	resp, err := (&http.Client{Transport: a.To("b")}).Get("http://mirrord/breaks")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if string(body) != "begun" || err == nil || !strings.Contains(err.Error(), "breaks off") {
		t.Errorf("%q, %v", body, err)
	}
}

// A slow reader gets all of it.
func TestCallsReadSlowly(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("set MIRRORD_LONG=1: it takes a quarter of a minute")
	}
	o := keepers(t, 1)
	o.Node = "b"
	b := node(t, o)
	o.Node = "a"
	a := node(t, o)
	large := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	stop, err := b.Answer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(large) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	resp, err := (&http.Client{Transport: a.To("b")}).Get("http://mirrord/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	time.Sleep(14 * time.Second) // longer than either side waits for the other
	if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes of %d, %v", len(got), len(large), err)
	}
}

// The node of a site is the one that has its host.
func TestNodeOf(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	a := node(t, o)
	o.Node = "b"
	b := node(t, o)
	sites := wanted(8)
	a.Want(sites, nil, "")
	b.Want(sites, nil, "")
	poll.Until(t, "each has sites", func() bool {
		return len(a.Shared())+len(b.Shared()) == len(sites) && len(a.Shared()) > 0 && len(b.Shared()) > 0
	})
	for site, host := range sites {
		want := map[bool]string{true: "a", false: "b"}[a.Shared()[host]]
		if got, err := b.NodeOf(t.Context(), site); err != nil || got != want {
			t.Errorf("%s: %q, %v, not %q", site, got, err, want)
		}
	}
	if got, err := a.NodeOf(t.Context(), "unknown"); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
