// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// A kill at any step of a run leaves a site of which verify says that all is well, before any process has
// opened it for writing, and whose newest version can be read: the one that was decided on.
func TestVerifyAfterKillAtEachStep(t *testing.T) {
	const home = "http://www.example.org"
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=a.html>a</a> <img src=a.png>`))
	w.Set(home+"/a.png", mirrortest.Page{Body: "a picture"})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\n")
	m.Durable = true
	type kill struct {
		name, dir string
		decided   int // the version that readers have
	}
	var kills []kill
	for version := 1; version <= 3; version++ {
		w.Set(home+"/a.html", mirrortest.HTML("A", fmt.Sprintf("<p>version %d", version)))
		_, err := m.RunWith(t.Context(), func(o *mirror.Options) {
			decided := version - 1
			store.OnStep(o.Site, func(step string) {
				if step == "publish decided" {
					decided = version
				}
				dir := filepath.Join(t.TempDir(), "state")
				if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
					t.Error(err)
				}
				kills = append(kills, kill{fmt.Sprintf("%d %s", version, step), dir, decided})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pending := 0
	for _, k := range kills {
		t.Run(k.name, func(t *testing.T) {
			if verifyKilled(t, k.dir, k.decided) {
				pending++
			}
		})
	}
	if len(kills) < 15 || pending < 6 {
		t.Errorf("only %d kills, %d while a publish was pending", len(kills), pending)
	}
}

// verifyKilled verifies a site as a kill left it, and reads its newest version.
func verifyKilled(t *testing.T, dir string, version int) (pending bool) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found := func(p upkeep.Problem) { t.Errorf("verify: %s", p) }
	if _, err := report.Verify(t.Context(), s, found); err != nil {
		t.Error(err)
	}
	vs, err := s.Versions.List()
	if err != nil || len(vs) != version {
		t.Errorf("versions %d, want %d, %v", len(vs), version, err)
	}
	if version == 0 {
		return false
	}
	m := render.MaterialOf(st, s)
	if err := render.CheckTree(m); err != nil {
		t.Error(err)
	}
	for n := 1; n <= version; n++ {
		p, err := render.OpenPast(m, n)
		if err != nil {
			t.Errorf("version %d: %v", n, err)
			continue
		}
		for _, f := range p.Files() {
			if f, err := p.Open(f.Path); err != nil {
				t.Errorf("version %d: %v", n, err)
			} else {
				f.Close()
			}
		}
	}
	g, _, err := store.SeenGlance(st, "test")
	return err == nil && g.Publishing
}
