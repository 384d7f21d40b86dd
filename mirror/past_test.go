// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// evolve changes a random site: pages come, go, change, move, and link to one another.
// No redirects go in a circle: a page that does keeps its last good copy, which a rollback can take away.
func evolve(w *mirrortest.Web, rng *rand.Rand, pages int) {
	u := func(i int) string { return fmt.Sprintf("%s/d%d/p%d.html", home, i%4, i) }
	var hub strings.Builder
	for i := range pages {
		fmt.Fprintf(&hub, "<a href=%q>%d</a> ", u(i), i)
		if rng.IntN(4) > 0 {
			continue
		}
		switch rng.IntN(6) {
		case 0:
			w.Remove(u(i))
		case 1:
			if to := rng.IntN(pages); to > i {
				w.Set(u(i), mirrortest.Redirect(u(to)))
			}
		default:
			var body strings.Builder
			for range rng.IntN(6) {
				fmt.Fprintf(&body, "<a href=%q>x</a> <img src=/img/%d.png> ", u(rng.IntN(pages)), rng.IntN(4))
			}
			w.Set(u(i), mirrortest.HTML(fmt.Sprintf("Page %d of %d", i, rng.IntN(1000)), body.String()))
		}
	}
	for i := range 4 {
		if rng.IntN(3) == 0 {
			w.Set(fmt.Sprintf("%s/img/%d.png", home, i), mirrortest.Page{
				Header: map[string]string{"Content-Type": "image/png"},
				Body:   fmt.Sprint("picture ", rng.IntN(1000)),
			})
		}
	}
	w.Set(home+"/", mirrortest.HTML("Hub", hub.String()))
}

// allFiles is the published tree with the two files that describe it.
func allFiles(t *testing.T, m *mirrortest.Mirror) map[string]string {
	t.Helper()
	tree := m.Tree()
	for _, name := range []string{"phm.json", "phm.files"} {
		b, err := m.Current().ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tree[name] = string(b)
	}
	return tree
}

func withSite(t *testing.T, m *mirrortest.Mirror, f func(*store.State, *store.Site)) {
	t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f(st, s)
}

// wantPast holds a kept version against what was published.
func wantPast(t *testing.T, st *store.State, s *store.Site, n int, want map[string]string) {
	t.Helper()
	p, err := render.OpenPast(render.MaterialOf(st, s), n)
	if err != nil {
		t.Fatalf("version %d: %v", n, err)
	}
	if len(p.Files()) != len(want)-2 {
		t.Errorf("version %d has %d files, want %d", n, len(p.Files()), len(want)-2)
	}
	for name, text := range want {
		got, err := fs.ReadFile(p, name)
		if err != nil || string(got) != text {
			t.Errorf("version %d: %s is %q (%v), want %q", n, name, got, err, text)
		}
	}
	if _, err := fs.ReadFile(p, "no/such/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestEveryVersionComesBackByteForByte(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "limits.max_delete = \"100%\"\nlimits.max_failures = \"100%\"\n"+job())
	trees := map[int]map[string]string{}
	for range 12 {
		evolve(w, rng, 30)
		if s := m.Run(); s.Published {
			trees[s.Version] = allFiles(t, m)
		}
	}
	if len(trees) < 6 {
		t.Fatalf("only %d versions", len(trees))
	}
	withSite(t, m, func(st *store.State, s *store.Site) {
		for n, want := range trees {
			wantPast(t, st, s, n, want)
		}
		// Forgetting versions changes none of the others.
		vs, err := s.Versions.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{len(vs) / 2, 0, 3} {
			n := vs[i].Number
			if err := s.Versions.Drop(n); err != nil {
				t.Fatalf("drop version %d: %v", n, err)
			}
			delete(trees, n)
			if _, err := render.OpenPast(render.MaterialOf(st, s), n); !errors.Is(err, record.ErrNoVersion) {
				t.Errorf("version %d after it was dropped: %v", n, err)
			}
			for n, want := range trees {
				wantPast(t, st, s, n, want)
			}
		}
		if err := s.Versions.Drop(vs[len(vs)-1].Number); err == nil {
			t.Error("the published version can be dropped")
		}
	})
}

func TestRollback(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "limits.max_delete = \"100%\"\nlimits.max_failures = \"100%\"\n"+job())
	trees := map[int]map[string]string{}
	last := 0
	for range 5 {
		evolve(w, rng, 20)
		if s := m.Run(); s.Published {
			trees[s.Version], last = allFiles(t, m), s.Version
		}
	}
	back := 2
	var sum *mirror.Summary
	withSite(t, m, func(st *store.State, s *store.Site) {
		var err error
		sum, err = mirror.Rollback(context.Background(), mirror.Options{Job: m.Job, State: st, Site: s}, back)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mirror.Rollback(context.Background(), mirror.Options{
			Job:   m.Job,
			State: st,
			Site:  s,
		}, 99); !errors.Is(err, record.ErrNoVersion) {
			t.Errorf("roll back to a version that never was: %v", err)
		}
	})
	wantVerdict(t, sum, mirror.Complete, true)
	sameFiles := func(got, want map[string]string) {
		t.Helper()
		for name := range want {
			if !strings.HasPrefix(name, "phm.") && got[name] != want[name] {
				t.Errorf("%s is %q, want %q", name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%d files, want %d", len(got), len(want))
		}
	}
	sameFiles(allFiles(t, m), trees[back])
	trees[sum.Version] = allFiles(t, m)
	// The next run holds back what was rejected, accept publishes it, and every version is still there.
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	sameFiles(allFiles(t, m), trees[back])
	s = m.Accept()
	wantVerdict(t, s, mirror.Complete, true)
	sameFiles(allFiles(t, m), trees[last])
	withSite(t, m, func(st *store.State, s *store.Site) {
		for n, want := range trees {
			wantPast(t, st, s, n, want)
		}
	})
}
