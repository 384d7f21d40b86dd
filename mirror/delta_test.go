// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// A page of which a line changes costs about a line, and every version of it comes back, after unused space
// was given back too.
func TestChangedPageCostsItsChange(t *testing.T) {
	w := mirrortest.Start(t)
	rng := rand.New(rand.NewPCG(1, 1))
	lines := make([]string, 500)
	for i := range lines {
		lines[i] = fmt.Sprintf("<p>%x <a href=/p%d.html>%d</a>\n", rng.Uint64(), i%3, i)
	}
	for i := range 3 {
		w.Set(fmt.Sprintf("%s/p%d.html", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), "short"))
	}
	m := mirrortest.New(t, w, job())
	m.Durable = true
	packs := func() (n int64) {
		names, err := filepath.Glob(filepath.Join(m.Dir, "sites", "*", "packs", "*"))
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			fi, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			n += fi.Size()
		}
		return n
	}
	trees := map[int]map[string]string{}
	var first, last int64
	for i := range 10 {
		lines[50*i] = fmt.Sprintf("<p>week %d is new: %x\n", i, rng.Uint64())
		w.Set(home+"/", mirrortest.HTML("Hub", strings.Join(lines, "")))
		s := m.Run()
		if !s.Published {
			t.Fatalf("week %d: %+v", i, s)
		}
		trees[s.Version] = allFiles(t, m)
		if last = packs(); i == 0 {
			first = last
		}
	}
	if grown := (last - first) / 9; grown > 600 || grown < 50 {
		t.Errorf("a changed line costs %d bytes, the first version has %d", grown, first)
	}
	withSite(t, m, func(st *store.State, s *store.Site) {
		for n, want := range trees {
			wantPast(t, st, s, n, want)
		}
		for n := 1; n < 9; n++ {
			if err := s.Versions.Drop(n); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Compact(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		for n := 9; n <= 10; n++ {
			wantPast(t, st, s, n, trees[n])
		}
	})
}
