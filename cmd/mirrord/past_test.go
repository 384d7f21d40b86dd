// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/app/look"
	"mirrord/serve"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// ask makes a request without following redirects.
func ask(t *testing.T, address, path string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest("GET", address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

const keptHome = "http://kept.test"

// keptMirror publishes versions a day apart: the front page says which it is, a picture comes with the second
// one, and one page stays.
func keptMirror(t *testing.T, versions int) *mirrortest.Mirror {
	t.Helper()
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "url = \""+keptHome+"/\"\n")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return now }
	w.Set(keptHome+"/same.html", mirrortest.HTML("Same", "always"))
	rng := rand.New(rand.NewPCG(1, 1))
	for v := 1; v <= versions; v++ {
		links := fmt.Sprintf("This is version %d. <a href=/same.html>same</a>", v)
		if v > 1 {
			links += "<img src=/new.png>"
			w.Set(keptHome+"/new.png", mirrortest.Page{
				Header: map[string]string{"Content-Type": "image/png"},
				Body:   fmt.Sprint("picture ", v),
			})
		}
		var noise strings.Builder
		for range 40_000 {
			fmt.Fprintf(&noise, "%x ", rng.Uint32())
		}
		w.Set(keptHome+"/", mirrortest.HTML("Front", links+"<p>"+noise.String()))
		if s := m.Run(); !s.Published || s.Version != v {
			t.Fatalf("version %d is not published: %+v", v, s)
		}
		now = now.Add(24 * time.Hour)
	}
	return m
}

func TestServeKeptVersions(t *testing.T) {
	m := keptMirror(t, 3)
	at := served(t, 1, "--state", m.Dir, "--listen", "127.0.0.1:0")[0]
	const base = "/test/.well-known/mirrord/"
	path := func(uri string) string { return uri[strings.Index(uri, "/test/"):] }
	type memento struct {
		Datetime time.Time
		URI      string
		Version  int
	}
	mementos := func(u string) []memento {
		t.Helper()
		_, body := ask(t, at, base+"timemap/json/"+u)
		var m struct{ Mementos struct{ List []memento } }
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return m.Mementos.List
	}
	all := mementos(keptHome + "/")
	if len(all) != 3 {
		t.Fatalf("Mementos %+v", all)
	}
	for i, x := range all {
		when := x.Datetime.UTC().Format(http.TimeFormat)
		if x.Version != i+1 {
			t.Errorf("Memento %d is of version %d", i, x.Version)
		}
		for _, asked := range []time.Time{x.Datetime, x.Datetime.Add(23 * time.Hour)} {
			res, _ := ask(t, at, base+"timegate/"+keptHome+"/", "Accept-Datetime", asked.UTC().Format(http.TimeFormat))
			if loc := res.Header.Get("Location"); res.StatusCode != 302 || !strings.HasSuffix(loc, path(x.URI)) {
				t.Errorf("asked for %v the TimeGate says %d %s, want %s", asked, res.StatusCode, loc, path(x.URI))
			}
		}
		res, got := ask(t, at, path(x.URI))
		if res.StatusCode != 200 || res.Header.Get("Memento-Datetime") != when ||
			!strings.Contains(got, fmt.Sprintf("This is version %d.", i+1)) {
			t.Errorf("version %d: %d, Memento-Datetime %q, want %q; %.300q", x.Version, res.StatusCode,
				res.Header.Get("Memento-Datetime"), when, got)
		}
	}
	// The mirror itself negotiates; what did not change has one Memento, what came later the later ones.
	res, _ := ask(t, at, "/test/index.html", "Accept-Datetime",
		all[1].Datetime.Add(time.Hour).UTC().Format(http.TimeFormat))
	if loc := res.Header.Get("Location"); res.StatusCode != 302 || !strings.HasSuffix(loc, path(all[1].URI)) {
		t.Errorf("negotiation: %d %s", res.StatusCode, loc)
	}
	if same := mementos(keptHome + "/same.html"); len(same) != 1 || same[0].Version != 1 {
		t.Errorf("Mementos of what stayed the same: %+v", same)
	}
	pictures := mementos(keptHome + "/new.png")
	if len(pictures) != 2 || pictures[0].Version != 2 {
		t.Fatalf("Mementos of the picture: %+v", pictures)
	}
	if _, got := ask(t, at, path(pictures[0].URI)); got != "picture 2" {
		t.Errorf("the picture of version 2 is %q", got)
	}

	// While a run has the site, the open version is served all the same.
	st, err := store.OpenState(m.Dir, store.Options{Wait: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if res, got := ask(t, at, path(all[0].URI)); res.StatusCode != 200 ||
		!strings.Contains(got, "This is version 1.") {
		t.Errorf("an open version while the site is locked: %d %.300q", res.StatusCode, got)
	}
	// It lists all versions and serves each, also when it was started during the run.
	for _, at := range []string{at, served(t, 1, "--state", m.Dir, "--listen", "127.0.0.1:0")[0]} {
		_, body := ask(t, at, base+"timemap/json/"+keptHome+"/")
		var listed struct{ Mementos struct{ List []memento } }
		if err := json.Unmarshal([]byte(body), &listed); err != nil || len(listed.Mementos.List) != len(all) {
			t.Fatalf("while the site is locked: %v, %s", err, body)
		}
		for i, v := range listed.Mementos.List {
			want := fmt.Sprintf("This is version %d.", i+1)
			if res, got := ask(t, at, path(v.URI)); res.StatusCode != 200 || !strings.Contains(got, want) {
				t.Errorf("version %d while the site is locked: %d %.300q", i+1, res.StatusCode, got)
			}
		}
	}
}

// A kept version is read again when gc has moved its documents, also while the site is held.
func TestKeptTreeAfterCollection(t *testing.T) {
	m := keptMirror(t, 4)
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	tree, err := (&look.KeptVersions{State: st}).Open(t.Context(), "test", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 2; n++ {
		if err := s.Versions.Drop(n); err != nil {
			t.Fatal(err)
		}
	}
	c, err := s.Compact(t.Context(), false)
	if err != nil || c.Packs != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	for _, held := range []bool{true, false} {
		got, err := fs.ReadFile(tree, "index.html")
		if err != nil || !strings.Contains(string(got), "This is version 3.") {
			t.Errorf("while the site is held (%v): %v: %.100q", held, err, got)
		}
		if held {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err = (&look.KeptVersions{State: st}).Open(t.Context(), "test", 1)
	if !errors.Is(err, serve.ErrNoVersion) {
		t.Error("a version that was dropped can be opened")
	}
}
