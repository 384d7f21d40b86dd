// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"testing"

	"mirrord/app/env"
	"mirrord/replica/collections"
	"mirrord/replica/text"
	"mirrord/store"
	"mirrord/store/pages"
	"mirrord/testing/apptest"
)

// publishedTree is the published tree of a site, until the test ends.
func publishedTree(t *testing.T, st *store.State, name string) replicaTree {
	t.Helper()
	root, err := env.OpenTree(st, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return replicaTree{name: "site " + name, root: root, site: name}
}

// digestsIn reads the digests of trees.
func digestsIn(
	t *testing.T, st *store.State, trees ...replicaTree,
) (map[collections.Address]text.ContentDigest, *replicaPages) {
	t.Helper()
	r := &replicaPages{
		trees: trees,
		state: st,
		note:  func(string) {},
		warn:  func(s string) { t.Error(s) },
	}
	out := map[collections.Address]text.ContentDigest{}
	err := r.digests(t.Context(), func(p *replicaPage) error {
		d := p.digest.Digest
		d.Site = 0
		out[p.at] = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, r
}

// A page says the same whether it is looked at when it comes or when it is published.
func TestDigestsOfBodiesAndFiles(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(apptest.InManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	apptest.RunMirror(t, state, "many", srv.URL)
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	open := func() replicaTree { return publishedTree(t, st, "many") }
	plain := open()
	plain.site = ""
	files, r := digestsIn(t, st, plain)
	if r.known != 0 || r.pages < 17 {
		t.Fatalf("%d pages, %d known", r.pages, r.known)
	}
	same := func(what string, got map[collections.Address]text.ContentDigest) {
		t.Helper()
		for a, d := range files {
			if got[a] != d {
				t.Errorf("%s: %v: %d words, %x; of the file %d, %x", what, a, got[a].Words, got[a].Text, d.Words, d.Text)
			}
		}
		if len(got) != len(files) {
			t.Errorf("%s: %d pages, want %d", what, len(got), len(files))
		}
	}

	// At first all is read, and kept then.
	name := filepath.Join(state, "sites", "many", "digests")
	for _, want := range []int{0, r.pages} {
		got, r := digestsIn(t, st, open())
		same("again", got)
		if r.known != want {
			t.Errorf("%d of %d pages were known", r.known, r.pages)
		}
	}

	// While a run writes the site, the digests that are kept count, and none are added.
	s, err := st.OpenSite("many")
	if err != nil {
		t.Fatal(err)
	}
	busy, r := digestsIn(t, st, open())
	same("busy", busy)
	if r.known != r.pages {
		t.Errorf("%d of %d pages of a site that is being written were known", r.known, r.pages)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	busy, _ = digestsIn(t, st, open())
	same("busy, without digests", busy)
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("digests were kept of a site that is being written: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// What says something else of the same body, or of another body, is not believed.
	if s, err = st.ViewSite("many"); err != nil {
		t.Fatal(err)
	}
	d, err := s.Pages().Digests()
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint32(30) {
		if _, err := d.Append(&pages.PageDigest{
			ID:     id,
			Body:   7,
			Digest: text.ContentDigest{Text: 9, Words: 9},
		}); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	s.Close()
	got, r := digestsIn(t, st, open())
	same("of other bodies", got)
	if r.known != 0 {
		t.Errorf("%d pages were known", r.known)
	}
}

// A tree that a run has replaced since it was opened is read, and nothing that is read of it is kept for the
// pages of the new one.
func TestDigestsOfReplacedTree(t *testing.T) {
	t.Parallel()
	var text atomic.Value
	text.Store("the first text of the page")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<p>%s<a href="/">x</a>`, text.Load())
	}))
	defer srv.Close()
	state := t.TempDir()
	run := func() { apptest.RunMirror(t, state, "one", srv.URL) }
	run()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	open := func() replicaTree { return publishedTree(t, st, "one") }
	old := open()
	first, _ := digestsIn(t, st, old)
	text.Store("quite another text comes then")
	run()
	name := filepath.Join(state, "sites", "one", "digests")
	digestsIn(t, st, open())
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // with the digests of the new version, and without
		got, r := digestsIn(t, st, old)
		if !reflect.DeepEqual(got, first) || r.known != 0 {
			t.Errorf("of the old tree: %d known, %v, want %v", r.known, got, first)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	tree := open()
	tree.site = ""
	want, _ := digestsIn(t, st, tree)
	if reflect.DeepEqual(want, first) {
		t.Fatal("the new tree is as the old one")
	}
	digestsIn(t, st, old)
	if got, _ := digestsIn(t, st, open()); !reflect.DeepEqual(got, want) {
		t.Errorf("of the new tree: %v, want %v", got, want)
	}

	// A run that publishes between the look and the reading: what was read is not kept.
	if err := os.WriteFile(name, kept[:16], 0o644); err != nil {
		t.Fatal(err)
	}
	tree = open()
	k, err := openKept(st, tree)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	batch := []replicaPage{{file: replicaFile{url: srv.URL + "/"}}}
	k.look(batch)
	if !batch[0].keep {
		t.Fatal("the page is not to be kept")
	}
	text.Store("and a third one")
	run()
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	k.keep(batch)
	if after, err := os.Stat(name); err != nil || after.Size() != before.Size() {
		t.Errorf("%d bytes, %d before; %v", after.Size(), before.Size(), err)
	}
}

// The second look at the same mirrors reads no page, and finds the same.
func TestReplicasReadOnce(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for _, name := range []string{"one", "two"} {
		srv := httptest.NewServer(apptest.InManyCharsets(t))
		defer srv.Close()
		apptest.RunMirror(t, state, name, srv.URL)
	}
	var reports [2]*Replicas
	for i := range reports {
		var err error
		if reports[i], err = FindReplicas(t.Context(), apptest.TestApp(state), nil, ReplicaOptions{
			Limit:  50,
			Memory: 1 << 30,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if reports[0].Kept != 0 || reports[1].Kept != reports[1].Pages || reports[1].Pages < 34 {
		t.Errorf("%d pages, %d and %d kept", reports[1].Pages, reports[0].Kept, reports[1].Kept)
	}
	reports[0].Kept = reports[1].Kept
	if !reflect.DeepEqual(reports[0], reports[1]) || len(reports[0].Clusters) == 0 {
		t.Errorf("first  %+v\nsecond %+v", reports[0], reports[1])
	}
}
