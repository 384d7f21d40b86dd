// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/app/shares"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// A pause holds on whichever node has the job, also when the one that had it, or was told, is gone.
func TestPauseMoves(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a", "y": "b"}, facts: emptyFacts(t)}
	c := daemonsOf(t, nodes, "a", "b")
	a, b := c["a"], c["b"]
	is := func(d *Everywhere, want status.Activity) {
		t.Helper()
		if j, err := d.here.Job("y"); err != nil || j.Activity != want {
			t.Errorf("y is %q, %v; want %q", j.Activity, err, want)
		}
	}
	if err := a.Pause("y"); err != nil {
		t.Fatal(err)
	}
	is(b, status.Paused)
	if err := a.Pause("y"); !errors.Is(err, control.ErrConflict) {
		t.Errorf("paused twice: %v", err)
	}
	if err := b.Resume("y"); err != nil {
		t.Fatal(err)
	}
	is(b, status.Idle)

	b.Close() // it cannot be reached
	if err := a.Pause("y"); err == nil || !strings.Contains(err.Error(), "it is noted") {
		t.Errorf("a node that does not answer: %v", err)
	}
	has := *nodes.peers["b"].Has.Load()
	for host := range *nodes.peers["a"].Has.Load() {
		has[host] = true
	}
	nodes.peers["a"].Has.Store(&has)
	nodes.mu.Lock()
	nodes.sites["y"] = "a"
	nodes.mu.Unlock()
	if _, err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	is(a, status.Paused)
	b.users.Exchange(t.Context())
	is(b, status.Paused)
	if err := a.Resume("y"); err != nil {
		t.Fatal(err)
	}
	is(a, status.Idle)
	b.users.Exchange(t.Context())
	is(b, status.Idle)

	if err := a.Pause("y"); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(a.here.App.Jobs, "y.toml")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	if all, err := shared.Pauses(a.here.State.Shared); err != nil || len(all) != 0 {
		t.Errorf("the pause of a removed job: %v, %v", all, err)
	}
}

// A job that was paused before its machine joined a cluster stays paused, and so does one that is paused on
// a node without a daemon.
func TestPauseJoins(t *testing.T) {
	nodes := &fakeNodes{sites: map[string]string{"x": "a"}, facts: emptyFacts(t)}
	a := daemonsOf(t, nodes, "a")["a"]
	if err := a.here.Pause("x"); err != nil {
		t.Fatal(err)
	}
	a.users.Exchange(t.Context())
	if all, err := shared.Pauses(a.here.State.Shared); err != nil || !all["x"].Paused {
		t.Errorf("%v, %v", all, err)
	}
	if err := life.SetPaused(a.here.App, "x", false); err != nil {
		t.Fatal(err)
	}
	all, err := shared.Pauses(a.here.State.Shared)
	if f := all["x"]; err != nil || f.Paused || time.Since(f.At) > time.Hour {
		t.Errorf("%v, %v", all, err)
	}
	own := jobs.Records{Kept: a.here.State.Shared, Log: a.here.Log}
	kept := shares.SharedRecords{Records: own, Share: a.here.Share}
	err = kept.SaveRecords(map[string]*scheduler.Record{"x": {Paused: true}}) // as it came from the depot
	if err != nil {
		t.Fatal(err)
	}
	if recs, err := kept.LoadRecords(); err != nil || recs["x"].Paused {
		t.Errorf("%+v, %v", recs["x"], err)
	}
}
