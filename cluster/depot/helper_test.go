// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/mirror/finish"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

const origin = "http://www.example.org"

// machine is a state on one machine, with a site named "test" of a few pages, pictures and a large file.
type machine struct {
	*mirrortest.Mirror
	web *mirrortest.Web
	t   testing.TB
}

func newMachine(t testing.TB) *machine {
	t.Helper()
	w := mirrortest.NewWeb()
	m := &machine{Mirror: mirrortest.New(t, w, `url = "`+origin+`/"`), web: w, t: t}
	fake := &mirrortest.Fake{Web: w}
	m.Fetcher, m.Robots, m.Hosts, m.Durable = fake, fake, mirrortest.Eager{}, true
	links := `<a href="/large.bin">large</a>`
	for i := range 12 {
		page, picture := fmt.Sprintf("/p%d.html", i), fmt.Sprintf("/i%d.png", i)
		links += `<a href="` + page + `">p</a>`
		w.Set(origin+page, dated(mirrortest.HTML(page, `<img src="`+picture+`">`+noise(2000, i))))
		w.Set(origin+picture, file("image/png", noise(5000, 100+i)))
	}
	w.Set(origin+"/", dated(mirrortest.HTML("home", links)))
	w.Set(origin+"/large.bin", file("application/octet-stream", noise(1<<20+4321, 1000)))
	return m
}

// dated is a page that says when it was changed: the time of its file.
func dated(p mirrortest.Page) mirrortest.Page {
	p.Header["Last-Modified"] = "Mon, 01 Jun 2026 12:00:00 GMT"
	return p
}

func file(mime, body string) mirrortest.Page {
	return dated(mirrortest.Page{Header: map[string]string{"Content-Type": mime}, Body: body})
}

// noise is text of letters that does not compress well.
func noise(n, seed int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	for i := range b {
		b[i] = 'a' + b[i]%26
	}
	return string(b)
}

// change makes the site another one and mirrors it.
func (m *machine) change(n int) {
	m.t.Helper()
	m.web.Set(origin+"/p1.html", dated(mirrortest.HTML("p1", `<img src="/n.png">`+noise(2000, 2000+n))))
	m.web.Set(origin+"/n.png", file("image/png", noise(4000, 3000+n)))
	m.Run()
}

func openState(t testing.TB, dir string) *store.State {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func openDepot(t testing.TB, s objects.Store) *depot.Depot {
	t.Helper()
	d, err := depot.Open(t.Context(), depot.Options{Store: s, Machine: "a machine", Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func folder(t testing.TB) *objects.Folder {
	t.Helper()
	f, err := objects.OpenFolder(filepath.Join(t.TempDir(), "depot"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func checkin(t testing.TB, s objects.Store, dir string, in bool) (*depot.CheckedIn, error) {
	t.Helper()
	st := openState(t, dir)
	defer st.Close()
	d, err := depot.Open(t.Context(), depot.Options{Store: s, Machine: "a machine", Create: true})
	if err != nil {
		return nil, err
	}
	return d.Checkin(t.Context(), st, "test", in)
}

func mustCheckin(t testing.TB, s objects.Store, dir string) *depot.CheckedIn {
	t.Helper()
	c, err := checkin(t, s, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// publish makes the published tree of a site that stands aside.
func publish(ctx context.Context, st *store.State, aside string) error {
	s, err := st.OpenSite(aside)
	if err != nil {
		return err
	}
	m, err := finish.Site(ctx, st, s, false)
	return errors.Join(err, m.Tree, s.Close())
}

func checkout(t testing.TB, s objects.Store, dir string, o depot.Out) (*depot.CheckedOut, error) {
	t.Helper()
	st := openState(t, dir)
	defer st.Close()
	d, err := depot.Open(t.Context(), depot.Options{Store: s, Machine: "another machine"})
	if err != nil {
		return nil, err
	}
	if o.Ready == nil {
		o.Ready = publish
	}
	return d.Checkout(t.Context(), st, "test", o)
}

func mustCheckout(t testing.TB, s objects.Store, dir string) *depot.CheckedOut {
	t.Helper()
	c, err := checkout(t, s, dir, depot.Out{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tree is the published tree of a state, its files by path, with their times, after a check of all that is
// kept.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	st := openState(t, dir)
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := report.Verify(context.Background(), s, func(p upkeep.Problem) {
		t.Errorf("%s: verify: %s", dir, p)
	}); err != nil {
		t.Fatal(err)
	}
	root, err := s.Trees.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	out := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(root.FS(), p)
		fi, ierr := e.Info()
		if ierr == nil && p != "phm.json" && p != "phm.files" {
			out[p+" time"] = fi.ModTime().UTC().Format(time.RFC3339)
		}
		out[p] = string(b)
		return errors.Join(err, ierr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameTree(t testing.TB, a, b string) {
	t.Helper()
	x, y := tree(t, a), tree(t, b)
	if maps.Equal(x, y) {
		return
	}
	for p := range x {
		if x[p] != y[p] {
			t.Errorf("%s: %.40q and %.40q", p, x[p], y[p])
		}
	}
	t.Errorf("trees of %d and %d files differ", len(x), len(y))
}

// copyDir copies a folder with the times of its files. Holes stay holes: most of a small database is one.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", "--sparse=always", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return to
}
