// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/replicas"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
	"mirrord/testing/mirrortest"
)

// copiedPages is a site of pages that others may have too; once it has turned, they say other things.
type copiedPages struct {
	turned atomic.Bool
	asked  atomic.Int64
}

func (s *copiedPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	var n uint32
	switch {
	case r.URL.Path == "/":
	case strings.HasPrefix(r.URL.Path, "/p"):
		fmt.Sscanf(r.URL.Path, "/p%d.html", &n)
	default:
		http.NotFound(w, r)
		return
	}
	if s.turned.Load() {
		n += 1000
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>Page</title><p>%s", mirrortest.Words(n*7919, 80))
	for i := range 30 {
		fmt.Fprintf(w, "<a href=/p%d.html>%d</a>", i+1, i)
	}
}

// A place that was registered is tested again by the daemon's runs, before its test counts no more: one that
// has turned bad stands for nothing.
func TestRegisteredPlaceTurnsBad(t *testing.T) {
	origin, place := new(copiedPages), new(copiedPages)
	srv, twin := mirrortest.Serve(t, "127.0.0.1", origin), mirrortest.Serve(t, "127.0.0.2", place)
	now := time.Now()
	a := apptest.TestApp("")
	a.Now = func() time.Time { return now }
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true, Now: a.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	j := job.Default(srv.URL + "/")
	j.Name = "site"
	j.Polite.Delay, j.Polite.Factor, j.Polite.MaxDelay = 0, 0, time.Millisecond
	if err := j.Set("polite.allow_private", "true"); err != nil {
		t.Fatal(err)
	}
	r := &runner{
		app:   a,
		st:    st,
		hosts: new(fetch.Hosts),
		most:  new(atomic.Int64),
	}
	run := func() {
		t.Helper()
		if out := r.Run(t.Context(), j, scheduler.RunOptions{}); out.Verdict != status.VerdictComplete {
			t.Fatalf("%+v", out)
		}
	}
	tested := func() shared.PairRecord {
		t.Helper()
		pairs, err := st.Shared.Pairs()
		if err != nil || len(pairs) != 1 {
			t.Fatalf("%v, %+v", err, pairs)
		}
		return pairs[0]
	}
	run()
	first, err := replicas.Registering{App: a, State: st, Hosts: r.hosts}.Register(t.Context(), j, twin.URL+"/")
	if err != nil || !first.Equal {
		t.Fatalf("%v, %+v", err, first)
	}
	place.turned.Store(true)

	asked := place.asked.Load()
	now = now.Add(replicas.RenewAfter - time.Hour)
	run()
	if p := tested(); !p.Tested.Equal(first.Tested) || place.asked.Load() != asked {
		t.Errorf("tested too early: %+v", p)
	}
	now = now.Add(2 * time.Hour)
	run()
	if p := tested(); p.Equal || !p.Tested.After(first.Tested) {
		t.Errorf("it still stands for the origin: %+v", p)
	}

	asked = place.asked.Load()
	now = now.Add(2 * replicas.RenewAfter)
	run()
	if place.asked.Load() != asked {
		t.Error("a place that stands for nothing is tested again")
	}
}
