// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/mirror/render"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
	"mirrord/testing/objectstest"
)

// lazily opens a depot whose check-outs leave what only older versions need.
func lazily(t testing.TB, s objects.Store) *depot.Depot {
	t.Helper()
	d, err := depot.Open(t.Context(), depot.Options{
		Store:    s,
		Machine:  "a lazy machine",
		OnDemand: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// openLazy opens a state that reads what was left in a depot; nil: in none.
func openLazy(t testing.TB, dir string, d *depot.Depot) *store.State {
	t.Helper()
	o := store.Options{}
	if d != nil {
		o.Away = d.Fetcher(context.Background())
	}
	st, err := store.OpenState(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func lazyCheckout(t testing.TB, s objects.Store, dir string, ready bool) (*depot.CheckedOut, error) {
	t.Helper()
	st := openLazy(t, dir, nil)
	defer st.Close()
	o := depot.Out{}
	if ready {
		o.Ready = publish
	}
	return lazily(t, s).Checkout(t.Context(), st, "test", o)
}

// newHistory is a machine with four versions, of which each has other pictures, and pages of its own, in
// small packs.
func newHistory(t testing.TB) *machine {
	m := newMachine(t)
	m.PackSize = 4 << 10
	for n := range 4 {
		m.another(n)
	}
	return m
}

// another gives pictures other bytes, has other pages instead of some, and mirrors them.
func (m *machine) another(n int) {
	m.t.Helper()
	links := `<a href="/large.bin">large</a>`
	for i := range 12 {
		page, picture := fmt.Sprintf("/p%d.html", i), fmt.Sprintf("/i%d.png", i)
		if i < 2 {
			page = fmt.Sprintf("/v%d/p%d.html", n, i)
			m.web.Set(origin+page, dated(mirrortest.HTML(page, `<img src="`+picture+`">`+noise(9000, 4000+100*n+i))))
		}
		links += `<a href="` + page + `">p</a>`
		m.web.Set(origin+picture, file("image/png", noise(5000, 5000+100*n+i)))
	}
	m.web.Set(origin+"/", dated(mirrortest.HTML("home", links)))
	m.web.Set(origin+"/large.bin", file("application/octet-stream", noise(1<<20+n, 6000+n)))
	m.Run()
}

// on is the same site, mirrored on another machine.
func (m *machine) on(dir string, d *depot.Depot) *machine {
	fork := *m.Mirror
	fork.Dir, fork.Away = dir, d.Fetcher(context.Background())
	return &machine{Mirror: &fork, web: m.web, t: m.t}
}

// past is what all versions of a site have, by version and path.
func past(t testing.TB, dir string, d *depot.Depot) (map[string]string, error) {
	t.Helper()
	st := openLazy(t, dir, d)
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	vs, err := s.Versions.List()
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range vs {
		p, err := render.OpenPast(render.MaterialOf(st, s), v.Number)
		if err != nil {
			return nil, err
		}
		for _, f := range p.Files() {
			b, err := fs.ReadFile(p, f.Path)
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			out[fmt.Sprintf("%d %s", v.Number, f.Path)] = fmt.Sprintf("%x", sha256.Sum256(b))
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func samePast(t testing.TB, want map[string]string, dir string, d *depot.Depot) {
	t.Helper()
	got, err := past(t, dir, d)
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s: %d files of all versions, want %d, or others", dir, len(got), len(want))
	}
}

func mustPast(t testing.TB, dir string) map[string]string {
	t.Helper()
	out, err := past(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// verified is how many frames and bodies a check of everything found away; damage ends the test.
func verified(t testing.TB, dir string, d *depot.Depot) int {
	t.Helper()
	st := openLazy(t, dir, d)
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found := func(p upkeep.Problem) { t.Errorf("%s: %s", dir, p) }
	stats, err := s.Verify(t.Context(), found)
	_, rerr := report.Verify(t.Context(), s, found)
	if err = errors.Join(err, rerr); err != nil {
		t.Fatal(err)
	}
	return stats.Away
}

func isWhole(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "sites", "test", "away.json"))
	return errors.Is(err, fs.ErrNotExist)
}

// A machine that leaves older versions in the depot has the published one immediately, continues the site,
// and gives it back whole, regardless of which parts were fetched meanwhile.
func TestOnDemand(t *testing.T) {
	t.Parallel()
	stores := []objects.Store{folder(t)}
	if os.Getenv("MIRRORD_LONG") != "" {
		stores = append(stores, objectstest.OpenS3(t, objectstest.Serve(t, nil), "some/where"))
	}
	for _, s := range stores {
		m := newHistory(t)
		mustCheckin(t, s, m.Dir)
		want := mustPast(t, m.Dir)
		all := mustCheckout(t, s, filepath.Join(t.TempDir(), "all"))
		lazy := filepath.Join(t.TempDir(), "lazy")
		out, err := lazyCheckout(t, s, lazy, true)
		if err != nil || out.Received > all.Received/2 || out.Bodies >= all.Bodies || out.Lacks > 0 {
			t.Fatalf("%+v, %v; all: %+v", out, err, all)
		}
		away := verified(t, lazy, nil)
		if away < 43 || isWhole(lazy) {
			t.Errorf("%d frames and bodies are away", away)
		}
		t.Logf("received %d bytes of %d, %d of %d bodies; %d frames and bodies are away", out.Received,
			all.Received, out.Bodies, all.Bodies, away)
		sameTree(t, m.Dir, lazy)
		if verified(t, lazy, nil) != away {
			t.Error("the published tree fetched older versions")
		}
		if _, err := past(t, lazy, nil); !errors.Is(err, blobs.ErrAway) || errors.Is(err, disk.ErrDamaged) {
			t.Errorf("older versions without a depot: %v", err)
		}
		// It continues without the depot, and checks in what it has and has not.
		d := lazily(t, s)
		l := m.on(lazy, d)
		l.Away = nil
		l.another(4)
		st := openLazy(t, lazy, nil)
		in, err := d.Checkin(t.Context(), st, "test", false)
		if err != nil || in.Lacks > 0 || in.Sequence != 2 || in.Sent > all.Received/2 {
			t.Fatalf("%+v, %v", in, err)
		}
		if out, err := d.Checkout(t.Context(), st, "test", depot.Out{}); err != nil || !out.Unchanged {
			t.Errorf("%+v, %v", out, err)
		}
		st.Close()
		whole(t, s)
		mustCheckout(t, s, m.Dir)
		sameTree(t, m.Dir, lazy)
		now := mustPast(t, m.Dir)
		for f, digest := range want {
			if now[f] != digest {
				t.Errorf("%s is another one", f)
			}
		}
		// The other one continues; the lazy one follows it, and reads what it has not.
		m.another(5)
		mustCheckin(t, s, m.Dir)
		out, err = lazyCheckout(t, s, lazy, true)
		if err != nil || out.Sequence != 3 || out.Received > all.Received/2 {
			t.Fatalf("%+v, %v", out, err)
		}
		sameTree(t, m.Dir, lazy)
		if verified(t, lazy, nil) < away {
			t.Error("older versions came")
		}
		want = mustPast(t, m.Dir)
		samePast(t, want, lazy, d)
		samePast(t, want, lazy, nil)
		if verified(t, lazy, nil) > 0 {
			t.Error("what was read is not here")
		}
		// A check-out without the option fetches all.
		other := filepath.Join(t.TempDir(), "other")
		if _, err := lazyCheckout(t, s, other, true); err != nil {
			t.Fatal(err)
		}
		if out := mustCheckout(t, s, other); !out.Unchanged || out.Received == 0 || !isWhole(other) {
			t.Errorf("%+v", out)
		}
		samePast(t, want, other, nil)
	}
}

// What was left survives collections: in the depot what nothing refers to, and here what no version does.
func TestOnDemandCollect(t *testing.T) {
	t.Parallel()
	m := newHistory(t)
	s := folder(t)
	mustCheckin(t, s, m.Dir)
	lazy := filepath.Join(t.TempDir(), "lazy")
	if _, err := lazyCheckout(t, s, lazy, true); err != nil {
		t.Fatal(err)
	}
	d := lazily(t, s)
	collect := func() {
		t.Helper()
		now, err := depot.Open(t.Context(), depot.Options{Store: s, Epoch: noTime})
		if err == nil {
			_, err = now.Collect(t.Context(), false)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l := m.on(lazy, d)
	l.another(4)
	for n := range 2 { // each check-in replaces a manifest, and collections follow
		l.another(5 + n)
		st := openLazy(t, lazy, d)
		if _, err := d.Checkin(t.Context(), st, "test", false); err != nil {
			t.Fatal(err)
		}
		st.Close()
		collect()
		collect()
		whole(t, s)
	}
	if isWhole(lazy) || verified(t, lazy, d) < 20 {
		t.Error("nothing is in the depot only")
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	mustCheckout(t, s, fresh)
	want := mustPast(t, fresh)
	if len(want) != 7*len(versionOf(want, 7)) {
		t.Errorf("%d files of seven versions", len(want))
	}
	// Versions go here, and space is given back: by the records alone, or with what must be read for that.
	st := openLazy(t, lazy, d)
	site, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{1, 2} {
		if err := site.Versions.Drop(version); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := site.Compact(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := site.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.CollectBlobs(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Checkin(t.Context(), st, "test", false); err != nil {
		t.Fatal(err)
	}
	st.Close()
	for f := range want {
		if f[0] == '1' || f[0] == '2' {
			delete(want, f)
		}
	}
	samePast(t, want, lazy, d)
	whole(t, s)
	collect()
	collect()
	mustCheckout(t, s, fresh)
	samePast(t, want, fresh, nil)
}

// versionOf are the files of one version.
func versionOf(all map[string]string, version int) map[string]string {
	out := map[string]string{}
	for f, digest := range all {
		if strings.HasPrefix(f, fmt.Sprintf("%d ", version)) {
			out[f] = digest
		}
	}
	return out
}

// Whenever a check-out, a read or a check-in on a lazy machine ends, nothing is lost, and the same continues.
func TestOnDemandCrash(t *testing.T) {
	t.Parallel()
	m := newHistory(t)
	made := filepath.Join(t.TempDir(), "depot")
	first, err := objects.OpenFolder(made)
	if err != nil {
		t.Fatal(err)
	}
	mustCheckin(t, first, m.Dir)
	want := mustPast(t, m.Dir)
	lazy := filepath.Join(t.TempDir(), "lazy")
	steps := []func(s objects.Store, dir string) error{
		func(s objects.Store, dir string) error {
			_, err := lazyCheckout(t, s, dir, false)
			return err
		},
		func(s objects.Store, dir string) error {
			got, err := past(t, dir, lazily(t, s))
			if err == nil && !maps.Equal(got, want) {
				t.Error("other versions")
			}
			return err
		},
		func(s objects.Store, dir string) error {
			st := openLazy(t, dir, nil)
			defer st.Close()
			d, err := depot.Open(t.Context(), depot.Options{Store: s})
			if err == nil {
				_, err = d.Checkout(t.Context(), st, "test", depot.Out{})
			}
			return err
		},
	}
	if err := os.MkdirAll(lazy, 0o755); err != nil {
		t.Fatal(err)
	}
	every := 11
	if os.Getenv("MIRRORD_LONG") != "" {
		every = 1
	}
	for i, step := range steps {
		for n := 2; ; n += every { // the depot is opened by the calls before
			dir := copyDir(t, lazy)
			err := step(dying(first, n, objectstest.Dead), dir)
			if err != nil && !errors.Is(err, objectstest.ErrFault) && !errors.Is(err, blobs.ErrAway) {
				t.Fatalf("step %d, call %d: %v", i, n, err)
			}
			if errors.Is(err, disk.ErrDamaged) {
				t.Fatalf("step %d, call %d: reported as damage: %v", i, n, err)
			}
			if ended := step(first, dir); ended != nil {
				t.Fatalf("step %d after call %d: %v", i, n, ended)
			}
			samePast(t, want, dir, lazily(t, first))
			if err == nil {
				lazy = dir
				break
			}
			if n > 200 {
				t.Fatal("it does not end")
			}
		}
	}
}

// Objects that a depot has lost, or that another one has, are reported, and are not damage here. Nothing
// replaces them.
func TestOnDemandLost(t *testing.T) {
	t.Parallel()
	m := newHistory(t)
	made := filepath.Join(t.TempDir(), "depot")
	s, err := objects.OpenFolder(made)
	if err != nil {
		t.Fatal(err)
	}
	mustCheckin(t, s, m.Dir)
	want := mustPast(t, m.Dir)
	lazy := filepath.Join(t.TempDir(), "lazy")
	if _, err := lazyCheckout(t, s, lazy, true); err != nil {
		t.Fatal(err)
	}
	// To another depot everything goes, by way of this machine, when it reaches the first one.
	other := folder(t)
	push := func(from *depot.Depot) error {
		st := openLazy(t, lazy, from)
		defer st.Close()
		_, err := openDepot(t, other).Checkin(t.Context(), st, "test", false)
		return err
	}
	if err := push(nil); !errors.Is(err, blobs.ErrAway) {
		t.Errorf("to another depot: %v", err)
	}
	if len(listing(t, other)) > 3 {
		t.Errorf("%v", listing(t, other))
	}
	backup := copyDir(t, lazy)
	if err := push(lazily(t, s)); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	mustCheckout(t, other, fresh)
	samePast(t, want, fresh, nil)
	d := lazily(t, s)
	if err := os.RemoveAll(filepath.Join(made, "data")); err != nil {
		t.Fatal(err)
	}
	lazy = backup
	if _, err := past(t, lazy, d); !errors.Is(err, blobs.ErrAway) || errors.Is(err, disk.ErrDamaged) {
		t.Errorf("lost in the depot: %v", err)
	}
	if verified(t, lazy, d) == 0 {
		t.Error("nothing is away")
	}
	noneLost(t, lazy, d)
	m.on(lazy, d).another(4)
	for _, again := range []bool{false, true} {
		st := openLazy(t, lazy, d)
		_, err = d.Checkin(t.Context(), st, "test", again)
		st.Close()
		if err == nil || (again && !errors.Is(err, blobs.ErrAway)) || (!again && !errors.Is(err, depot.ErrLost)) {
			t.Errorf("again %v: %v", again, err)
		}
	}
	sites, err := d.Sites(t.Context())
	if err != nil || len(sites) != 1 || sites[0].Sequence != 1 {
		t.Errorf("%+v, %v", sites, err)
	}
}

// noneLost looks for lost bodies as a run does after damage was reported: there are none.
func noneLost(t testing.TB, dir string, d *depot.Depot) {
	t.Helper()
	st := openLazy(t, dir, d)
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Heal(t.Context(), []string{origin + "/v1/p0.html", origin + "/i0.png"}, nil)
	if err := errors.Join(err, s.Close()); err != nil || len(h.Lost) > 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
