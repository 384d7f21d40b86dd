// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"mirrord/app/shares"
	"mirrord/scheduler"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
)

// localFacts are facts of a cluster that lie in a state.
type localFacts struct{ shared.KeyValues }

func (f localFacts) Get(_ context.Context, kind, key string) ([]byte, error) {
	all, err := f.All(kind)
	return all[key], err
}

func (f localFacts) Watch(ctx context.Context, changed func(), _ ...string) {
	changed()
	<-ctx.Done()
}

// Nothing is replaced that was edited since it was last the same here and in the cluster.
func TestJobsState(t *testing.T) {
	set := func(text string) shares.JobSet {
		if text == "-" {
			return nil
		}
		s := shares.JobSet{}
		for _, word := range strings.Fields(text) {
			name, tag, _ := strings.Cut(word, "=")
			s[name] = tag
		}
		return s
	}
	for _, tc := range []struct {
		local, base, cluster string
		state                shares.JobsState
		edited               string
	}{
		{"x=1", "-", "-", shares.JobsAlone, ""},
		{"x=1", "-", "x=1", shares.JobsSame, ""},
		{"", "-", "x=1 y=1", shares.JobsBehind, ""},
		{"x=1", "-", "x=1 y=1", shares.JobsBehind, ""},
		{"x=1", "x=1", "x=2", shares.JobsBehind, ""},
		{"x=1", "x=1", "", shares.JobsBehind, ""},
		{"x=2 y=1", "x=1 y=1", "x=2 y=2", shares.JobsBehind, ""}, // a take that was cut off
		{"x=2", "x=1", "x=1", shares.JobsEdited, "x"},
		{"", "x=1", "x=1", shares.JobsEdited, "x"},
		{"x=1 z=1", "x=1", "x=1", shares.JobsEdited, "z"},
		{"x=2", "x=1", "x=3", shares.JobsConflict, "x"},
		{"x=2 y=1", "x=1 y=1", "x=1 y=2", shares.JobsConflict, "x"},
		{"", "x=1", "x=2", shares.JobsConflict, "x"},
		{"x=9", "-", "x=1", shares.JobsConflict, "x"},
		{"z=1", "-", "x=1", shares.JobsConflict, "z"},
	} {
		state, edited := shares.CompareJobs(set(tc.local), set(tc.base), set(tc.cluster))
		if state != tc.state || strings.Join(edited, " ") != tc.edited {
			t.Errorf("%q since %q against %q: %s %q, want %s %q", tc.local, tc.base, tc.cluster, state, edited,
				tc.state, tc.edited)
		}
	}
}

// The files of a source are those of the other machines, as long as they are not edited there. Files that
// were edited on two machines stay, and both ways out do what they say.
func TestClusterJobs(t *testing.T) {
	shared, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	facts := localFacts{shared.Shared}
	nodes := map[string]*ClusterJobs{}
	for _, name := range []string{"a", "b", "c"} {
		x := apptest.TestApp(t.TempDir())
		x.Jobs = t.TempDir()
		x.Log = slog.New(slog.DiscardHandler)
		nodes[name] = &ClusterJobs{
			App:    x,
			Facts:  facts,
			Node:   name,
			Source: name == "a",
		}
	}
	a, b, c := nodes["a"], nodes["b"], nodes["c"]
	text := func(n string) string { return "url = \"https://" + n + ".example/\"\n" }
	settle := func(n *ClusterJobs, want shares.JobsState, jobs ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) { // the source waits a second
			now, _ := n.settle(t.Context())
			if now == nil || now.State != want || !reflect.DeepEqual(now.Jobs, jobs) || now.Error != "" {
				t.Fatalf("%s: %+v, want %s %q", n.Node, now, want, jobs)
			}
			if err := n.say(now); err != nil {
				t.Fatal(err)
			}
		})
	}
	has := func(n *ClusterJobs, want map[string]string) {
		t.Helper()
		files, err := os.ReadDir(n.App.Jobs)
		if err != nil || len(files) != len(want) {
			t.Errorf("%s: %v, %v", n.Node, files, err)
		}
		for name, text := range want {
			got, err := os.ReadFile(filepath.Join(n.App.Jobs, name))
			if err != nil || string(got) != text {
				t.Errorf("%s: %s: %q, %v", n.Node, name, got, err)
			}
		}
	}
	settle(b, shares.JobsAlone)
	apptest.Put(t, a.App.Jobs, "x.toml", text("x"))
	apptest.Put(t, a.App.Jobs, "y.toml", text("y"))
	if err := os.Chmod(filepath.Join(a.App.Jobs, "y.toml"), 0o600); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, c.App.Jobs, "z.toml", text("z"))
	settle(a, shares.JobsSame)
	settle(b, shares.JobsSame)
	has(b, map[string]string{"x.toml": text("x"), "y.toml": text("y")})
	if fi, err := os.Stat(filepath.Join(b.App.Jobs, "y.toml")); err != nil || fi.Mode()&0o004 != 0 {
		t.Errorf("everybody may read it here: %v, %v", fi.Mode(), err)
	}
	settle(c, shares.JobsConflict, "z")
	has(c, map[string]string{"z.toml": text("z")})

	apptest.Put(t, b.App.Jobs, "x.toml", text("edited"))
	settle(b, shares.JobsEdited, "x")
	apptest.Put(t, a.App.Jobs, "y.toml", text("y2"))
	settle(a, shares.JobsSame)
	settle(b, shares.JobsConflict, "x")
	has(b, map[string]string{"x.toml": text("edited"), "y.toml": text("y")})
	known, err := ReadClusterJobs(t.Context(), facts)
	want := map[string]NodeJobs{
		"b": {State: shares.JobsConflict, Jobs: []string{"x"}},
		"c": {State: shares.JobsConflict, Jobs: []string{"z"}},
	}
	if err != nil || known.Node != "a" || known.Files != 2 || !reflect.DeepEqual(known.Nodes, want) {
		t.Errorf("%+v, %v", known, err)
	}
	for _, do := range []func(context.Context, bool) (*JobsLook, error){b.Push, b.Take} {
		if _, err := do(t.Context(), false); !errors.Is(err, ErrJobsDiffer) {
			t.Errorf("without a choice: %v", err)
		}
	}
	if _, err := b.Push(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	has(b, map[string]string{"x.toml": text("edited"), "y.toml": text("y2")})
	settle(b, shares.JobsSame)
	settle(a, shares.JobsSame)
	has(a, map[string]string{"x.toml": text("edited"), "y.toml": text("y2")})
	if _, err := c.Take(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	settle(c, shares.JobsSame)
	has(c, map[string]string{"x.toml": text("edited"), "y.toml": text("y2"), "z.toml.mine": text("z")})
	if known, err := ReadClusterJobs(t.Context(), facts); err != nil || len(known.Nodes) != 0 {
		t.Errorf("%+v, %v", known, err)
	}

	for _, name := range []string{"x.toml", "y.toml"} { // as when the disk of the source is not there
		if err := os.Remove(filepath.Join(a.App.Jobs, name)); err != nil {
			t.Fatal(err)
		}
	}
	settle(a, shares.JobsEdited, "x", "y")
	settle(b, shares.JobsSame)
	if _, err := a.Take(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(a.App.Jobs, "x.toml")); err != nil {
		t.Fatal(err)
	}
	settle(a, shares.JobsSame)
	settle(b, shares.JobsSame)
	has(b, map[string]string{"y.toml": text("y2")})
	if err := c.say(&NodeJobs{State: shares.JobsConflict}); err != nil {
		t.Fatal(err)
	}
	err = ForgetNodeJobs(facts, "c")
	known, rerr := ReadClusterJobs(t.Context(), facts)
	if err != nil || rerr != nil || known.Nodes["c"].State != "" {
		t.Errorf("a node that is gone for good: %+v, %v, %v", known, err, rerr)
	}
	texts, err := facts.All(kindJobTexts)
	if err != nil || len(texts) != 1 {
		t.Errorf("%d texts of one file, %v", len(texts), err)
	}
	b.Facts = &failingFacts{Facts: facts}
	if now, changed := b.settle(t.Context()); changed || now != nil {
		t.Errorf("keepers that are away: %+v", now)
	}
	b.Facts = facts
	err = facts.Change(kindJobs, jobsHead, func([]byte) ([]byte, error) {
		return []byte(`{"files":{"../y":"00"}}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now, changed := b.settle(t.Context())
	if changed || now == nil || !strings.Contains(now.Error, "cannot name a job") {
		t.Errorf("%+v", now)
	}
}

// What cannot be read as a job file, such as a directory, is neither edited nor removed, and stops no other.
func TestClusterJobsUnread(t *testing.T) {
	shared, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	node := func(name string) *ClusterJobs {
		x := apptest.TestApp(t.TempDir())
		x.Jobs = t.TempDir()
		x.Log = slog.New(slog.DiscardHandler)
		return &ClusterJobs{
			App:    x,
			Facts:  localFacts{shared.Shared},
			Node:   name,
			Source: name == "a",
		}
	}
	a, b := node("a"), node("b")
	same := func(n *ClusterJobs, jobs string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			if now, _ := n.settle(t.Context()); now == nil || now.State != shares.JobsSame || now.Error != "" {
				t.Fatalf("%s: %+v", n.Node, now)
			}
		})
		files, err := n.App.JobFiles()
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		if got := strings.Join(files, " "); err != nil || got != jobs {
			t.Errorf("%s: %s, %v, want %s", n.Node, got, err, jobs)
		}
	}
	apptest.Put(t, a.App.Jobs, "x.toml", "url = \"https://x.example/\"\n")
	if err := os.Mkdir(filepath.Join(b.App.Jobs, "old.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	same(a, "x.toml")
	same(b, "old.toml x.toml")
	if err := os.Chmod(filepath.Join(a.App.Jobs, "x.toml"), 0o666); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.App.Jobs, "y.toml", "url = \"https://y.example/\"\n")
	same(a, "x.toml y.toml")
	same(b, "old.toml x.toml y.toml")
}

// The profiles of programs travel with the job files: a new one, one that replaces an embedded one, and one
// that is broken, which each node leaves out. What an older node hands in says nothing of profiles.
func TestClusterProfiles(t *testing.T) {
	shared, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shared.Close()
	facts := localFacts{shared.Shared}
	node := func(name string) *ClusterJobs {
		x := apptest.TestApp(t.TempDir())
		x.Jobs = filepath.Join(t.TempDir(), "jobs.d")
		x.Log = slog.New(slog.DiscardHandler)
		return &ClusterJobs{
			App:    x,
			Facts:  facts,
			Node:   name,
			Source: name == "a",
		}
	}
	a, b := node("a"), node("b")
	settle := func(n *ClusterJobs, want shares.JobsState, jobs ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			now, _ := n.settle(t.Context())
			if now == nil || now.State != want || !reflect.DeepEqual(now.Jobs, jobs) || now.Error != "" {
				t.Fatalf("%s: %+v, want %s %q", n.Node, now, want, jobs)
			}
		})
	}
	has := func(n *ClusterJobs, left string, broken int) {
		t.Helper()
		set, errs := scheduler.Profiles(n.App.Jobs)
		if len(errs) != broken {
			t.Errorf("%s: left out: %v", n.Node, errs)
		}
		j, err := n.App.FindJob("x")
		if err != nil || j.ProfileDigest() == "" {
			t.Errorf("%s: the job of the profile: %v, %v", n.Node, j, err)
		}
		page := site.Canonical("http://x.example/a?" + left)
		if got := set.Find("mediawiki").Leaves(page); got != "?"+left {
			t.Errorf("%s: mediawiki leaves %s by %q", n.Node, page, got)
		}
	}
	profiles := scheduler.ProfilesDir(a.App.Jobs)
	if err := errors.Join(os.MkdirAll(a.App.Jobs, 0o755), os.MkdirAll(profiles, 0o755)); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, a.App.Jobs, "x.toml", "url = \"https://x.example/\"\nprofile = \"ourwiki\"\n")
	apptest.Put(t, profiles, "ourwiki.toml", "left = ['?old']\n")
	apptest.Put(t, profiles, "mediawiki.toml", "left = ['?our']\n")
	apptest.Put(t, profiles, "typo.toml", "lefts = ['?old']\n")
	settle(a, shares.JobsSame)
	settle(b, shares.JobsSame)
	has(b, "our", 1)

	apptest.Put(t, profiles, "mediawiki.toml", "left = ['?new']\n")
	if err := os.Remove(filepath.Join(profiles, "typo.toml")); err != nil {
		t.Fatal(err)
	}
	settle(a, shares.JobsSame)
	settle(b, shares.JobsSame)
	has(b, "new", 0)

	apptest.Put(t, scheduler.ProfilesDir(b.App.Jobs), "mediawiki.toml", "left = ['?mine']\n")
	settle(b, shares.JobsEdited, "profiles.d/mediawiki")
	if _, err := b.Push(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	settle(a, shares.JobsSame)
	has(a, "mine", 0)

	err = facts.Change(kindJobs, jobsHead, func(was []byte) ([]byte, error) {
		var head map[string]any
		err := json.Unmarshal(was, &head)
		delete(head, "profiles")
		now, merr := json.Marshal(head)
		return now, errors.Join(err, merr)
	})
	if err != nil {
		t.Fatal(err)
	}
	settle(b, shares.JobsSame)
	has(b, "mine", 0)
	apptest.Put(t, profiles, "more.toml", "left = ['?more']\n")
	settle(a, shares.JobsSame)
	settle(b, shares.JobsSame)
	has(b, "mine", 0)
	if set, _ := scheduler.Profiles(b.App.Jobs); set.Find("more") == nil {
		t.Error("a source of this version does not hand in its profiles after an older one")
	}
}
