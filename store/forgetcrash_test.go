// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/mirror/report"
	"mirrord/mirror/scope"
	"mirrord/mirror/takedown"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// After a kill at any step of a take-down, the next call ends like one that was not interrupted.
func TestForgetKilledAtEachStep(t *testing.T) {
	const home, secret = "http://www.example.org", "not for any reader"
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=a.html>a</a> <a href=bad.html>b</a> <img src=bad.png>`))
	w.Set(home+"/bad.png", mirrortest.Page{Body: secret})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\n")
	m.Durable = true
	for i := range 3 {
		w.Set(home+"/bad.html", mirrortest.HTML("Bad", fmt.Sprintf("<p>%s %d<a href=a.html>a</a>", secret, i)))
		w.Set(home+"/a.html", mirrortest.HTML("A", fmt.Sprintf("<p>%d<a href=bad.html>b</a>", i)))
		m.Run()
	}
	kills := map[string]string{} // step -> copy of the state
	n := 0
	withSite(t, m.Dir, func(st *store.State, s *store.Site) {
		store.OnStep(s, func(step string) {
			n++
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
				t.Fatal(err)
			}
			kills[fmt.Sprintf("%d %s", n, step)] = dir
		})
		if err := takedown.Begin(s, scope.TakeDown{
			What:   "bad.*",
			Glob:   true,
			Reason: "it is a test",
			At:     time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := takedown.Finish(t.Context(), st, s, nil); err != nil {
			t.Fatal(err)
		}
	})
	want := gone(t, m.Dir, secret)
	if n < 8 {
		t.Errorf("only %d steps", n)
	}
	for step, dir := range kills {
		t.Run(step, func(t *testing.T) {
			withSite(t, dir, func(st *store.State, s *store.Site) {
				if _, err := takedown.Finish(t.Context(), st, s, nil); err != nil {
					t.Fatal(err)
				}
			})
			if got := gone(t, dir, secret); got != want {
				t.Errorf("files %q, want %q", got, want)
			}
		})
	}
}

func withSite(t *testing.T, dir string, f func(*store.State, *store.Site)) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
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

// gone collects the shared bodies, verifies the site, holds that no file has a text, and returns the
// published tree.
func gone(t *testing.T, dir, text string) string {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.CollectBlobs(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	withSite(t, dir, func(_ *store.State, s *store.Site) {
		stats, err := report.Verify(t.Context(), s, func(p upkeep.Problem) { t.Errorf("verify: %s", p) })
		if err != nil || stats.Problems > 0 {
			t.Errorf("%d problems, %v", stats.Problems, err)
		}
	})
	var tree strings.Builder
	current, err := filepath.EvalSymlinks(filepath.Join(dir, "sites/test/current"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s has the text", p)
		}
		if rel, rerr := filepath.Rel(current, p); rerr == nil && filepath.IsLocal(rel) {
			fmt.Fprintf(&tree, "%s %d\n", rel, len(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree.String()
}
