// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/apptest"
	"mirrord/testing/replicatest"
)

// writeCorpus writes the crawled pages of a data set to files at HOST/PATH.
func writeCorpus(t *testing.T, c *replicatest.Corpus, dir string) {
	t.Helper()
	for i := range c.Pages {
		p := &c.Pages[i]
		name := filepath.Join(dir, p.Host, filepath.FromSlash(p.Path))
		if strings.HasSuffix(p.Path, "/") {
			name = filepath.Join(name, "index.html")
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, c.Blobs[p.Blob], 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Along links, on real documentation with a banner, reformatted, renamed and in part: reported copies are
// copies, and nearly all are found.
func TestLinkedCorpus(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	dir := t.TempDir()
	writeCorpus(t, c, dir)
	got, err := Find(t.Context(), apptest.TestApp(t.TempDir()), []string{dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	type group struct{ family, lang string }
	copies, pages := map[group]map[string]bool{}, map[string]int{}
	for i := range c.Pages {
		p := &c.Pages[i]
		if pages[p.Copy]++; pages[p.Copy] == 10 {
			g := group{p.Family, p.Lang}
			if copies[g] == nil {
				copies[g] = map[string]bool{}
			}
			copies[g][p.Copy] = true
		}
	}
	mostly := func(at string) (name string, g group) {
		n := map[string]int{}
		for i := range c.Pages {
			if p := &c.Pages[i]; strings.HasPrefix(p.Host+p.Path, at) {
				if n[p.Copy]++; n[p.Copy] > n[name] {
					name, g = p.Copy, group{p.Family, p.Lang}
				}
			}
		}
		return name, g
	}
	right, wrong, found := 0, 0, map[string]bool{}
	for _, cluster := range got.Clusters {
		_, first := mostly(cluster.Copies[0].At)
		for _, cp := range cluster.Copies {
			name, g := mostly(cp.At)
			if g != first {
				wrong++
				t.Logf("wrong: %s beside %s", cp.At, cluster.Copies[0].At)
				continue
			}
			right++
			found[name] = true
		}
	}
	of, have := 0, 0
	for _, names := range copies {
		if len(names) < 2 {
			continue
		}
		for name := range names {
			of++
			if found[name] {
				have++
			} else {
				t.Logf("missed: %s", name)
			}
		}
	}
	precision, recall := float64(right)/float64(right+wrong), float64(have)/float64(of)
	t.Logf("%d clusters; of %d copies %d found: recall %.3f; of %d places %d wrong: precision %.3f",
		got.Found, of, have, recall, right+wrong, wrong, precision)
	if precision < 0.98 || recall < 0.95 {
		t.Errorf("precision %.3f, recall %.3f; want 0.98 and 0.95", precision, recall)
	}
}
