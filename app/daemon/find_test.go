// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/serve/find"
	"mirrord/testing/apptest"
	"mirrord/testing/poll"
)

// paths are the pages that a search finds.
func paths(t *testing.T, a *env.App, r search.FindRequest) []string {
	t.Helper()
	f, err := search.Find(t.Context(), a, r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if len(f.Behind) > 0 {
		t.Errorf("behind: %v", f.Behind)
	}
	out := []string{}
	for _, p := range f.Results {
		out = append(out, p.URL[strings.LastIndexByte(p.URL, '/'):])
	}
	slices.Sort(out)
	return out
}

// The texts of a mirror are found as they are and were, by what changed only, until they are dropped.
func TestFindTexts(t *testing.T) {
	a, run, version := apptest.MirroredToFind(t, "all")
	run()
	for words, want := range map[string][]string{
		"harvest":    {"/p0.html"},
		"ЗИМА город": {},
		"зима":       {"/p1.html"},
		"plain file": {"/notes.txt"},
		"neverfound": {},
		"start":      {"/"},
	} {
		if got := paths(t, a, search.FindRequest{Words: words}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", words, got, want)
		}
	}
	served(t, a)
	version.Store(2)
	run()
	version.Store(3)
	run()
	added := 0
	a.Note = func(line string) {
		if strings.Contains(line, "pages") {
			fmt.Sscanf(line[strings.LastIndex(line, "of ")+3:], "%d", &added)
		}
	}
	f, err := search.Find(t.Context(), a, search.FindRequest{Words: "winter"})
	if err != nil || len(f.Results) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	p := f.Results[0]
	dated := p.Since != nil && p.Until != nil
	if !p.Gone || p.First != 2 || p.Last != 2 || !dated || p.Title != "News" || p.Path == "" {
		t.Errorf("winter: %+v", p)
	}
	if added != 1 {
		t.Errorf("%d pages were looked at for one that changed", added)
	}
	if got := paths(t, a, search.FindRequest{Words: "harvest", Job: "x", At: "1"}); len(got) != 1 {
		t.Errorf("version 1: %v", got)
	}
	if _, err := search.Find(t.Context(), a, search.FindRequest{Words: "harvest", Job: "x",
		At: "9"}); err == nil {
		t.Error("version 9, which there is not, has results")
	}
	if got := paths(t, a, search.FindRequest{Words: "harvest", Job: "x", At: "3"}); len(got) != 0 {
		t.Errorf("version 3: %v", got)
	}
	apptest.Put(t, a.Jobs, "x.toml", strings.Replace(apptest.ReadFile(t, filepath.Join(a.Jobs, "x.toml")), `"all"`, `"1"`, 1))
	if _, err := care.Collect(t.Context(), a, nil, false); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, search.FindRequest{Words: "harvest"}); len(got) != 0 {
		t.Errorf("a text of dropped versions: %v", got)
	}
	if got := paths(t, a, search.FindRequest{Words: "spring"}); len(got) != 1 {
		t.Errorf("the text of the present version: %v", got)
	}
	plan, err := care.PlanForget(a, "x", f.Results[0].URL, "by request", 0)
	if err == nil {
		err = care.Forget(t.Context(), a, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(apptest.StateOf(t, a), find.Folder, "index.db")); err == nil &&
		strings.Contains(string(data), "spring") {
		t.Error("the index has a word of what was forgotten")
	}
	if got := paths(t, a, search.FindRequest{Words: "spring"}); len(got) != 0 {
		t.Errorf("a forgotten text: %v", got)
	}
	if _, err := search.Find(t.Context(), a, search.FindRequest{Words: "page", Job: "y"}); err == nil {
		t.Error("a mirror that is not there is no error")
	}
	if err := search.DropFind(a); err != nil || find.Wanted(apptest.StateOf(t, a)) {
		t.Errorf("drop: %v", err)
	}
}

// The search for replicas is out of date after a day, when mirrors have other versions, and only if a user
// ran it before.
func TestReplicasAreFoundAgain(t *testing.T) {
	a, run, version := apptest.MirroredToFind(t, "all")
	run()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	k := NewKeptIndex(a, st)
	old := func(after time.Duration, want bool) {
		t.Helper()
		if got := k.ReplicasAreOld(t.Context(), time.Now().Add(after)); got != want {
			t.Errorf("after %v: old %v", after, got)
		}
	}
	const day = ReplicasEvery + time.Hour
	old(day, false) // no user ran it
	if _, err := replicas.FindReplicas(t.Context(), a, nil, replicas.ReplicaOptions{}); err != nil {
		t.Fatal(err)
	}
	old(day, false) // nothing is new
	version.Store(2)
	run()
	old(time.Hour, false)
	old(day, true)
	if err := k.findReplicas(t.Context()); err != nil {
		t.Fatal(err)
	}
	old(day, false)
	known, err := k.Replicas()
	if err != nil || known.Versions["x"] != 2 || known.Pages == 0 {
		t.Errorf("%+v, %v", known, err)
	}
}

// served looks for a page as serve does: in the index as it is, in some mirrors only.
func served(t *testing.T, a *env.App) {
	t.Helper()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	lookup := search.TextsOf(st)
	for only, want := range map[string]int{"": 1, "x": 1, "y": 0} {
		q := find.TextSearch{Words: "harvest", Limit: 5}
		if only != "" {
			q.Only = []string{only}
		}
		if got, err := lookup.Find(t.Context(), q); err != nil || len(got.Results) != want || !lookup.Made() {
			t.Errorf("served, only %q: %+v, %v", only, got, err)
		}
	}
}

// An interrupted build continues; a damaged index is reported and made again; a removed mirror leaves
// it.
func TestFindIsMadeAgain(t *testing.T) {
	a, run, _ := apptest.MirroredToFind(t, "1")
	run()
	ctx, stop := context.WithCancel(t.Context())
	a.Note = func(string) { stop() }
	if _, err := search.Find(ctx, a, search.FindRequest{Words: "lighthouses"}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("ended: %v", err)
	}
	a.Note = nil
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	early, err := search.TextsOf(st).Find(t.Context(), find.TextSearch{Words: "lighthouses"})
	if err != nil || len(early.Behind) != 1 {
		t.Errorf("before the index is made: %+v, %v", early, err)
	}
	if got := paths(t, a, search.FindRequest{Words: "lighthouses"}); len(got) != 6 {
		t.Errorf("after that: %v", got)
	}
	file := filepath.Join(apptest.StateOf(t, a), find.Folder, "index.db")
	if err := os.WriteFile(file, []byte("this was a database once, and is not one now"), 0o644); err != nil {
		t.Fatal(err)
	}
	var said []string
	a.Warn = func(line string) { said = append(said, line) }
	if got := paths(t, a, search.FindRequest{Words: "lighthouses"}); len(got) != 6 || len(said) != 1 {
		t.Errorf("made again: %v, said %q", got, said)
	}
	plan, err := life.PlanRemoval(a, "x", false)
	if err == nil {
		err = life.Remove(t.Context(), a, plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, search.FindRequest{Words: "lighthouses"}); len(got) != 0 {
		t.Errorf("a removed mirror: %v", got)
	}
}

// Texts are found on a disk that is full, and on one that cannot be written.
func TestFindWhereNothingCanBeWritten(t *testing.T) {
	a, run, version := apptest.MirroredToFind(t, "all")
	dir := apptest.StateOf(t, a)
	mount := func(flags uintptr, size string) error { return unix.Mount("tmpfs", dir, "tmpfs", flags, size) }
	if err := errors.Join(os.Mkdir(dir, 0o755), mount(0, "size=32m")); err != nil {
		t.Skipf("mounting is not permitted here: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	text, err := os.ReadFile(filepath.Join(a.Jobs, "x.toml"))
	if err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.Jobs, "x.toml", string(text)+"limits.min_free = \"1MB\"\n")
	run()
	if got := paths(t, a, search.FindRequest{Words: "harvest"}); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
	version.Store(2)
	run()
	var said []string
	a.Warn = func(line string) { said = append(said, line) }
	look := func(disk string) {
		t.Helper()
		said = nil
		f, err := search.Find(t.Context(), a, search.FindRequest{Words: "harvest"})
		if err != nil || f.Matches != 1 || len(f.Behind) != 1 || len(said) != 1 ||
			!strings.HasPrefix(said[0], "the index of texts was not updated: ") {
			t.Errorf("%s: %+v, %v, said %q", disk, f, err, said)
		}
	}
	if err := mount(unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	look("read-only")
	if err := mount(unix.MS_REMOUNT, "size=32m"); err != nil {
		t.Fatal(err)
	}
	var rest *os.File
	rest, err = os.Create(filepath.Join(dir, "rest"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = rest.Write(make([]byte, 4096))
	}
	if rest.Close(); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	look("full")
	if err := os.Remove(rest.Name()); err != nil {
		t.Fatal(err)
	}
	if got := paths(t, a, search.FindRequest{Words: "winter"}); len(got) != 1 {
		t.Errorf("with room again: %v", got)
	}
}

// A daemon indexes texts after a run; with search = false only when there is an index.
func TestIndexAfterRun(t *testing.T) {
	for _, begin := range []bool{false, true} {
		a, run, _ := apptest.MirroredToFind(t, "all")
		run()
		st, err := a.MustState()
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		k := NewKeptIndex(a, st)
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); k.Keep(ctx, begin) }()
		k.wake() // as after a run
		if begin {
			poll.Until(t, "a text found", func() bool {
				f, err := k.Find(t.Context(), search.FindRequest{Words: "harvest"})
				return err == nil && len(f.Results) == 1
			})
		} else {
			poll.Until(t, "the run taken note of", func() bool { return len(k.due) == 0 })
		}
		end()
		<-ended
		if k.Wanted() != begin {
			t.Errorf("begin %v: there is an index: %v", begin, k.Wanted())
		}
	}
}
