// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mirrord/mirror/render"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/testing/mirrortest"
)

// Versions are thinned after each publish, and the rest comes back byte for byte after everything that
// nothing refers to was collected.
func TestKeepRuleAndCollection(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 3))
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "limits.max_delete = \"100%\"\nlimits.max_failures = \"100%\"\n"+job()+
		"\n[publish]\nkeep = \"last 2, weekly 3\"\n")
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return now }
	trees := map[int]map[string]string{}
	var published []int
	for range 12 {
		now = now.Add(3 * 24 * time.Hour)
		evolve(w, rng, 20)
		if s := m.Run(); s.Published {
			trees[s.Version] = allFiles(t, m)
			published = append(published, s.Version)
		}
	}
	kept := func(s *store.Site) (out []int) {
		vs, err := s.Versions.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			out = append(out, v.Number)
		}
		return out
	}
	check := func() {
		withSite(t, m, func(st *store.State, s *store.Site) {
			for _, n := range kept(s) {
				wantPast(t, st, s, n, trees[n])
			}
		})
	}
	withSite(t, m, func(st *store.State, s *store.Site) {
		got := kept(s)
		if len(got) < 3 || len(got) > 5 || !slices.Contains(got, published[len(published)-1]) ||
			!slices.Contains(got, published[len(published)-2]) {
			t.Errorf("kept are %v of %v", got, published)
		}
		if _, err := s.Compact(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	})
	check()
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := st.CollectBlobs(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("collected %+v", f)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	check()
	now = now.Add(time.Hour)
	evolve(w, rng, 20)
	if s := m.Run(); s.Published {
		trees[s.Version] = allFiles(t, m)
	}
	check()
}

// A version that is detached is read while a run holds the site, and also after later runs have changed the
// records.
func TestDetachedVersion(t *testing.T) {
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "limits.max_delete = \"100%\"\n"+job())
	rng := rand.New(rand.NewPCG(4, 4))
	evolve(w, rng, 20)
	want := map[int]map[string]string{m.Run().Version: allFiles(t, m)}
	evolve(w, rng, 20)
	want[m.Run().Version] = allFiles(t, m)
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	open := map[int]*render.PastFS{}
	for n := range want {
		p, err := render.OpenPast(render.MaterialOf(st, s), n)
		if err == nil {
			var docs *bodies.Packs
			if docs, err = st.Documents("test"); err == nil {
				p.Detach(docs)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		open[n] = p
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for n, files := range want {
			for name, text := range files {
				if got, err := fs.ReadFile(open[n], name); err != nil || string(got) != text {
					t.Errorf("version %d: %s is %q (%v), want %q", n, name, got, err, text)
				}
			}
		}
	}
	check()
	for i := range 3 {
		w.Set(fmt.Sprintf("%s/d0/new%d.html", home, i), mirrortest.HTML("New", ""))
		evolve(w, rng, 20)
		m.Run()
		check()
	}
}
