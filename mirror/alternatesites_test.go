// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// What a replica's directory listings say spares no request to the origin, and drops nothing.
func TestListingOfAnAlternateIsNoEvidence(t *testing.T) {
	w, there := mirrortest.Start(t), mirrortest.NewWeb()
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "mirror.example.net" {
			panic(http.ErrAbortHandler)
		}
		r = r.Clone(r.Context())
		r.Host, r.URL.Host = "www.example.org", "www.example.org"
		there.ServeHTTP(rw, r)
	}})
	there.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow:\n"})
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow:\n"})
	top, sub := archive(30)
	sub.files["f004.txt"] = file{mirrortest.Words(4, 60), longAgo}
	for _, f := range []*folder{top, sub} {
		f.serve(w)
		f.serve(there)
	}
	m := mirrortest.New(t, w, archiveJob+replacing+fmt.Sprintf("alternates = [%q]\n", copyBase))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()

	for _, f := range []*folder{top, sub} {
		for name := range f.files {
			w.Remove(f.url + name)
		}
		w.Remove(f.url)
	}
	w.Remove(home + "/robots.txt")
	later := sub.files["f004.txt"]
	edition := mirrortest.Words(4, 60) + " what the replica has\n"
	sub.files["f004.txt"] = file{edition, longAgo.Add(time.Hour)}
	gone := sub.files["f009.txt"]
	delete(sub.files, "f009.txt")
	sub.serve(there)
	there.Remove(sub.url + "f009.txt")
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Foreign != 1 || s.Removed != 0 || m.Tree()["pub/sub/f004.txt"] != edition ||
		m.Tree()["pub/sub/f009.txt"] == "" || s.Spared["listing"] != 0 {
		t.Fatalf("%d foreign, want a file; %d removed, spared %v\n%s", s.Foreign, s.Removed, s.Spared,
			mirrortest.Text(s))
	}

	sub.files["f004.txt"], sub.files["f009.txt"] = later, gone
	top.serve(w)
	sub.serve(w)
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow:\n"})
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Foreign != 0 || !maps.Equal(m.Tree(), before) {
		t.Errorf("%d foreign; f004.txt is %q\n%s", s.Foreign, m.Tree()["pub/sub/f004.txt"], mirrortest.Text(s))
	}
}

// Two servers of their own: the origin's is switched off.
func TestAlternateOnAnotherServer(t *testing.T) {
	pages := handbook(15)
	handler := func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[strings.TrimPrefix(r.URL.Path, "/copies/handbook")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".png") {
			w.Header().Set("Content-Type", "image/png")
		} else {
			w.Header().Set("Content-Type", "text/html")
		}
		fmt.Fprint(w, p.Body)
	}
	origin := httptest.NewServer(http.HandlerFunc(handler))
	defer origin.Close()
	replica := mirrortest.Serve(t, "127.0.0.2", http.HandlerFunc(handler))
	base := replica.URL + "/copies/handbook/"
	m := mirrortest.New(t, nil,
		fmt.Sprintf("url = %q\nalternates = [%q]\nscope = \"host\"\n", origin.URL+"/", base))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	pages["/logo.png"] = mirrortest.Page{Body: "another picture"} // it stays as it was
	origin.Close()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if s.Alternates[base] != 17 || s.AlternatesSame != 16 || s.Foreign != 0 || s.Changed != 0 {
		t.Errorf("%v, %d as held, %d foreign, %d changed\n%s", s.Alternates, s.AlternatesSame, s.Foreign, s.Changed,
			mirrortest.Text(s))
	}
	after := m.Stamps()
	for p := range after {
		if !strings.HasPrefix(p, "phm.") && after[p] != before[p] {
			t.Errorf("%s was touched", p)
		}
	}
	// Both are down: everything waits.
	replica.Close()
	s = m.Run()
	if s.Verdict != mirror.Partial || s.Published || s.Failed > 0 || s.Left == 0 {
		t.Errorf("both are down:\n%s", mirrortest.Text(s))
	}
}

// A replica that redirects to an address of the mirror's own network, which the job does not name, makes no
// request there: not in a test, and not when the origin is down.
func TestAlternateLeadsIntoOurNetwork(t *testing.T) {
	pages := handbook(15)
	handler := func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, p.Body)
	}
	var reached atomic.Int64
	inner := mirrortest.Serve(t, "127.0.0.9", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		handler(w, r)
	}))
	origin := mirrortest.Serve(t, "127.0.0.1", http.HandlerFunc(handler))
	copied := mirrortest.Serve(t, "127.0.0.2", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, inner.URL+r.URL.Path, http.StatusFound)
	}))
	m := mirrortest.New(t, nil,
		fmt.Sprintf("url = %q\nalternates = [%q]\nscope = \"host\"\n", origin.URL+"/", copied.URL+"/"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	origin.Close()
	s := m.Run()
	if s.Verdict != mirror.Partial || s.Foreign != 0 || reached.Load() != 0 {
		t.Errorf("%d requests inside, %d foreign\n%s", reached.Load(), s.Foreign, mirrortest.Text(s))
	}
}
