// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"mirrord/app/jobs"
	"mirrord/cluster/depot"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/apptest"
	"mirrord/testing/storetest"
)

// travels notes which sites come and go, and fails once with each of some errors.
type travels struct {
	mu        sync.Mutex
	calls     []string
	fail      []error
	strangers map[string]bool
	ahead     bool            // the local state is not in the depot yet
	removed   map[string]bool // here, and not yet in the depot
}

func (v *travels) Strangers(*store.State) (map[string]bool, error) { return v.strangers, nil }

func (v *travels) Removals(*store.State) ([]string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Sorted(maps.Keys(v.removed)), nil
}

func (v *travels) FinishRemoval(_ context.Context, _ *store.State, site string) (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.removed[site] {
		return false, nil
	}
	delete(v.removed, site)
	v.calls = append(v.calls, "is removed "+site)
	return true, nil
}

func (v *travels) call(what string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, what)
	if len(v.fail) == 0 {
		return nil
	}
	err := v.fail[0]
	v.fail = v.fail[1:]
	return err
}

func (v *travels) Checkout(
	_ context.Context, _ *store.State, site string, o depot.Out,
) (*depot.CheckedOut, error) {
	if o.Discard {
		site += " at any rate"
	}
	return &depot.CheckedOut{Ahead: v.ahead}, v.call("comes " + site)
}

func (v *travels) Checkin(
	_ context.Context, _ *store.State, site string, _ bool,
) (*depot.CheckedIn, error) {
	return new(depot.CheckedIn), v.call("goes " + site)
}

// A job is run once its mirror has come from the depot, and its mirror goes there after the run. When another
// machine went on with it, it comes again.
func TestShareOfJobs(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	peers, v := &apptest.TwoPeers{Owner: new(storetest.Owner)}, new(travels)
	s, err := NewShare(peers, st, v, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	all := scheduler.Config{}
	for name, url := range map[string]string{"x": "http://www.example.org/", "y": "http://example.com/"} {
		all[name] = &scheduler.Entry{Name: name, Job: &job.Job{Name: name, URLs: []string{url}}}
	}
	if got := s.Of(all); len(got) != 0 {
		t.Errorf("without a host it runs %v", got)
	}
	peers.Has.Store(&map[string]bool{"example.org": true})
	v.fail = []error{depot.ErrDiverged, depot.ErrUnknown, nil, depot.ErrDiverged}
	for s.Of(all)["x"] == nil {
		<-s.Came
	}
	if got := s.Of(all); len(got) != 1 {
		t.Errorf("it runs %v", got)
	}
	s.Ran("x")
	s.moves.Wait()
	s.Ran("x") // with which another machine went on
	<-s.Came
	for s.Of(all)["x"] == nil {
		<-s.Came
	}
	s.Close(time.Minute)
	want := []string{"comes x", "comes x at any rate", "goes x", "goes x", "comes x"}
	if len(v.calls) != len(want) {
		t.Fatalf("%q", v.calls)
	}
	for i := range want {
		if v.calls[i] != want[i] {
			t.Errorf("%q, not %q", v.calls, want)
		}
	}
	l, err := peers.Acquire("x")
	if err != nil {
		t.Error("a site that does not move is held:", err)
	} else {
		err = l.Release()
	}
	if err != nil {
		t.Error(err)
	}
}

// What was removed here is removed from the depot: before a new job of its name asks for a mirror there, and
// without one when the jobs are looked at.
func TestRemovedGoesFromTheDepot(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	v := &travels{removed: map[string]bool{"x": true, "y": true, "z": true}}
	peers := &apptest.TwoPeers{Owner: new(storetest.Owner)}
	peers.Has.Store(&map[string]bool{"example.org": true})
	s, err := NewShare(peers, st, v, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	all := scheduler.Config{}
	for name, url := range map[string]string{"x": "http://www.example.org/", "y": "http://example.com/"} {
		all[name] = &scheduler.Entry{Name: name, Job: &job.Job{Name: name, URLs: []string{url}}}
	}
	for s.Of(all)["x"] == nil {
		<-s.Came
	}
	s.Close(time.Minute)
	if len(v.removed) > 0 || len(v.calls) != 4 {
		t.Errorf("left %v after %q", v.removed, v.calls)
	}
	if slices.Index(v.calls, "is removed x") > slices.Index(v.calls, "comes x") {
		t.Errorf("%q", v.calls)
	}
}

// Changes outside of a run get to the depot too, also after the daemon was killed before.
func TestChangesGoToTheDepot(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	change := func(by string) {
		t.Helper()
		s, err := st.OpenSite("x")
		if err == nil {
			err = errors.Join(s.Notes.BeginRun(&record.Run{Fingerprint: by}), s.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	change("what another daemon made and the depot has")
	peers, v := &apptest.TwoPeers{Owner: new(storetest.Owner)}, new(travels)
	all := scheduler.Config{"x": {Name: "x", Job: &job.Job{Name: "x", URLs: []string{"http://example.org/"}}}}
	mine, none := map[string]bool{"example.org": true}, map[string]bool{}
	come := func() *NodeShare {
		s, err := NewShare(peers, st, v, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		peers.Has.Store(&mine)
		for s.Of(all)["x"] == nil {
			<-s.Came
		}
		s.moves.Wait()
		return s
	}
	said := func(want ...string) {
		t.Helper()
		if !slices.Equal(v.calls, want) {
			t.Errorf("%q, not %q", v.calls, want)
		}
		v.calls = nil
	}
	look := func(s *NodeShare) {
		s.Of(all)
		s.moves.Wait()
	}
	s := come()
	look(s)
	said("comes x")
	change("a command")
	look(s)
	look(s)
	said("goes x")
	change("a command, and the site becomes another node's at once")
	peers.Has.Store(&none)
	look(s)
	said("goes x")
	for range 5 { // while the depot does not answer, say
		s.Ran("x")
	}
	s.moves.Wait()
	said("goes x")
	s.Close(time.Minute)

	v.ahead = true
	s = come()
	defer s.Close(time.Minute)
	look(s)
	said("comes x", "goes x")
}

// A mirror that a machine had from elsewhere stays, and so does one of which the depot has an older state:
// their jobs wait until a user decides. Only versions that this machine made from the depot's are given up.
func TestStrangersStay(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, tc := range []struct {
		name string
		fail error
		lost bool
	}{
		{"stranger", depot.ErrStranger, false},
		{"made", depot.ErrStranger, true},
		{"made", depot.ErrDiverged, true},
		{"stranger", depot.ErrDiverged, true}, // the depot has it from here
		{"made", depot.ErrSetBack, false},
		{"made", depot.ErrLost, false},
	} {
		v := &travels{strangers: map[string]bool{"stranger": true}}
		s, err := NewShare(&apptest.TwoPeers{Owner: new(storetest.Owner)}, st, v, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		lost, err := s.lost(tc.name, fmt.Errorf("check out: %w", tc.fail))
		if lost != tc.lost || err != nil {
			t.Errorf("%s, %v: %v, %v", tc.name, tc.fail, lost, err)
		}
	}
}

// The status of a job says what keeps its mirror from the depot, also before the scheduler has it.
func TestStatusOfTheDepot(t *testing.T) {
	s, err := NewShare(&apptest.TwoPeers{Owner: new(storetest.Owner)}, nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.depot = new(travels)
	s.say("x", "it does not come", depot.ErrStranger)
	s.say("y", "it does not get there", depot.ErrLost)
	jobs := []status.Job{{Name: "y", Problems: []string{"another"}}, {Name: "z"}}
	got := s.Problems(jobs)
	if len(got) != 3 || got[0].Name != "x" || len(got[0].Problems) != 1 || got[0].Activity != status.Waiting ||
		got[1].Name != "y" || len(got[1].Problems) != 2 || len(got[2].Problems) != 0 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"x", "y"} { // of x the scheduler knows nothing
		j, err := s.Problem(status.Job{Name: "y"}, name, map[string]error{"x": depot.ErrUnknown}[name])
		if err != nil || j.Name != name || len(j.Problems) != 1 {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
	if got[0].Say() != "new, waits for its mirror, which does not come from the depot" {
		t.Error(got[0].Say())
	}
	if _, err := s.Problem(status.Job{}, "z", depot.ErrUnknown); !errors.Is(err, depot.ErrUnknown) {
		t.Error(err)
	}
	s.say("y", "", nil)
	s.has("x", false) // another node's now
	if got := s.Problems([]status.Job{{Name: "y"}}); len(got) != 1 || len(got[0].Problems) != 0 {
		t.Errorf("%+v", got)
	}
	if got := (*NodeShare)(nil).Problems(jobs); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

// Records of jobs that another machine runs stay.
func TestSharedRecords(t *testing.T) {
	facts := new(storetest.Facts)
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := NewShare(&apptest.TwoPeers{Owner: new(storetest.Owner)}, st, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := SharedRecords{jobs.Records{Kept: facts, Log: s.log}, s}
	all := scheduler.Config{"x": {Name: "x"}}
	s.Whole.Store(&all)
	err = r.SaveRecords(map[string]*scheduler.Record{"x": {}, "gone": {}})
	err = errors.Join(err, r.SaveRecords(map[string]*scheduler.Record{"x": nil, "gone": nil}))
	got, lerr := r.LoadRecords()
	if _, ok := got["x"]; errors.Join(err, lerr) != nil || !ok || len(got) != 1 {
		t.Errorf("%v, %v", got, errors.Join(err, lerr))
	}
}

// A mirror of another node may be fetched for reading, but not one that this node has, or has not copied to
// the depot yet. A site that becomes this node's meanwhile comes afterwards.
func TestShareReads(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := NewShare(&apptest.TwoPeers{Owner: new(storetest.Owner)}, st, new(travels),
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(time.Minute)
	release, ok := s.Reads("x")
	if !ok || s.has("x", true) {
		t.Fatal("it is fetched for reading, and is not here to be run")
	}
	release()
	<-s.Came
	for !s.has("x", true) {
		<-s.Came
	}
	if _, ok := s.Reads("x"); ok {
		t.Error("this node has it")
	}
	s.left("x", 1)
	s.has("x", false)
	if _, ok := s.Reads("x"); ok {
		t.Error("its last run is not in the depot")
	}
	s.left("x", -1)
	if release, ok := s.Reads("x"); !ok {
		t.Error("another node has it")
	} else {
		release()
	}
	select {
	case <-s.Came:
		t.Error("no caller waits for it")
	default:
	}
}
