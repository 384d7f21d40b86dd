// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/store"
	"mirrord/testing/mirrortest"
	"mirrord/testing/objectstest"
)

// A site comes back from a depot as it was, with all its versions, and only new data travels.
func TestInAndOut(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) objects.Store{
		"folder": func(t *testing.T) objects.Store { return folder(t) },
		"S3": func(t *testing.T) objects.Store {
			return objectstest.OpenS3(t, objectstest.Serve(t, nil), "some/where")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			m := newMachine(t)
			m.Run()
			first := mustCheckin(t, s, m.Dir)
			if first.Sequence != 1 || first.Version != 1 || first.Bodies != 13 || first.Lacks > 0 {
				t.Errorf("%+v", first)
			}
			if again := mustCheckin(t, s, m.Dir); !again.Unchanged || again.Sent > 0 || again.Sequence != 1 {
				t.Errorf("nothing changed: %+v", again)
			}
			other := filepath.Join(t.TempDir(), "other")
			if out := mustCheckout(t, s, other); out.Bodies != 13 || out.Lacks > 0 {
				t.Errorf("%+v", out)
			}
			sameTree(t, m.Dir, other)
			if out := mustCheckout(t, s, other); !out.Unchanged || out.Received > 0 {
				t.Errorf("nothing changed: %+v", out)
			}
			m.change(1)
			second := mustCheckin(t, s, m.Dir)
			if second.Sequence != 2 || second.Version != 2 || second.Bodies != 1 || second.Sent > first.Sent/10 {
				t.Errorf("%+v after %+v", second, first)
			}
			out := mustCheckout(t, s, other)
			if out.Sequence != 2 || out.Bodies != 1 || out.Received > first.Sent/10 {
				t.Errorf("%+v", out)
			}
			sameTree(t, m.Dir, other)
			// The other machine continues, and the first one follows.
			fork := *m.Mirror
			fork.Dir = other
			(&machine{Mirror: &fork, web: m.web, t: t}).change(2)
			mustCheckin(t, s, other)
			mustCheckout(t, s, m.Dir)
			sameTree(t, m.Dir, other)
			if here, there := runsOf(t, m.Dir), runsOf(t, other); len(here) < 3 || !slices.Equal(here, there) {
				t.Errorf("noted runs: %v and %v", here, there)
			}
		})
	}
}

// runsOf are the times of the runs that a state notes.
func runsOf(t *testing.T, dir string) (out []string) {
	t.Helper()
	st := openState(t, dir)
	defer st.Close()
	runs, err := st.Shared.Runs("test", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		out = append(out, r.Started.String())
	}
	return out
}

// The reason that a site is not fetched is reported, and nothing is changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	made := filepath.Join(t.TempDir(), "depot")
	s, err := objects.OpenFolder(made)
	if err != nil {
		t.Fatal(err)
	}
	mustCheckin(t, s, m.Dir)
	m.change(1)
	type world struct {
		*testing.T
		dir string // of the depot
	}
	overwrite := func(w *world, name string, change func(p map[string]any)) {
		w.Helper()
		file := filepath.Join(w.dir, name)
		b, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		var p map[string]any
		if err := json.Unmarshal(b, &p); err != nil {
			w.Fatal(err)
		}
		change(p)
		if b, err = json.Marshal(p); err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
	remove := func(name string) func(w *world) {
		return func(w *world) {
			if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
				w.Fatal(err)
			}
		}
	}
	for _, tc := range []struct {
		name    string
		happens func(w *world)
		in, out error // of the machine that has checked it in; of one that is empty. nil: it works
	}{
		{"nothing", func(*world) {}, nil, nil},
		{"emptied", func(w *world) {
			for _, name := range []string{"sites", "manifests", "data", "bodies"} {
				remove(name)(w)
			}
		}, depot.ErrLost, depot.ErrUnknown},
		{"manifest gone", remove("manifests"), depot.ErrLost, depot.ErrLost},
		{"data gone", remove("data"), depot.ErrLost, depot.ErrLost},
		{"a large body gone", remove("bodies/large"), depot.ErrLost, depot.ErrLost},
		{"bodies gone", remove("bodies"), depot.ErrLost, depot.ErrLost},
		{"another cluster", func(w *world) {
			overwrite(w, "sites/test.json", func(p map[string]any) { p["cluster"] = "another" })
		}, depot.ErrForeign, depot.ErrForeign},
		{"a later owner", func(w *world) {
			overwrite(w, "sites/test.json", func(p map[string]any) { p["token"] = 1000 })
		}, depot.ErrOldToken, nil},
		{"a newer format", func(w *world) {
			overwrite(w, "sites/test.json", func(p map[string]any) { p["format"] = 2 })
		}, errAny, errAny},
		{"no pointer", func(w *world) {
			if err := os.WriteFile(filepath.Join(w.dir, "sites/test.json"), []byte("{}"), 0o600); err != nil {
				w.Fatal(err)
			}
		}, depot.ErrDamaged, depot.ErrDamaged},
		{"checked in elsewhere", func(w *world) {
			overwrite(w, "sites/test.json", func(p map[string]any) { p["checkin"] = "x" })
		}, depot.ErrDiverged, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &world{t, copyDir(t, made)}
			s, err := objects.OpenFolder(w.dir)
			if err != nil {
				t.Fatal(err)
			}
			copied := copyDir(t, m.Dir)
			tc.happens(w)
			before := listing(t, s)
			out, err := checkout(t, s, filepath.Join(t.TempDir(), "empty"), depot.Out{Ready: unpublished})
			check(t, "out", err, tc.out)
			if err == nil && out.Version != 1 {
				t.Errorf("%+v", out)
			}
			_, err = checkin(t, s, copied, false)
			check(t, "in", err, tc.in)
			after := listing(t, s)
			if err != nil && before["sites/test.json"] != after["sites/test.json"] {
				t.Error("the pointer was moved")
			}
			if errors.Is(err, depot.ErrForeign) || errors.Is(tc.in, errAny) {
				return // nothing but the other cluster's owner can do anything here
			}
			if tc.in == nil {
				return
			}
			c, err := openDepot(t, s).Check(t.Context())
			if said := err == nil && len(c.Problems) > 0; errors.Is(tc.out, depot.ErrDamaged) && !said {
				t.Errorf("the check says %+v, %v", c, err)
			}
			// those who have seen the check-in before take this one for a later one
			if in, err := checkin(t, s, copied, true); err != nil || in.Sequence != 2 {
				t.Errorf("again: %+v, %v", in, err)
			}
			fresh := filepath.Join(t.TempDir(), "fresh")
			mustCheckout(t, s, fresh)
			sameTree(t, copied, fresh)
		})
	}
}

// Of many large bodies one list says whether they are there, and a store that lists late is asked for them
// one by one.
func TestManyLargeBodies(t *testing.T) {
	t.Parallel()
	const many = 17
	m := newMachine(t)
	links := ""
	for i := range many {
		name := fmt.Sprintf("/%d.bin", i)
		links += `<a href="` + name + `">x</a>`
		body := strings.Repeat(noise(64, i), 1<<14)
		m.web.Set(origin+name, file("application/octet-stream", body))
	}
	m.web.Set(origin+"/", dated(mirrortest.HTML("home", links)))
	m.Run()
	s := folder(t)
	mustCheckin(t, s, m.Dir)
	for _, late := range []bool{false, true} {
		m.change(1)
		gets, lists := 0, 0
		f := &objectstest.Faulty{Store: s, Decide: func(_ int, op, name string) objectstest.Failure {
			switch {
			case op == "list":
				lists++
			case strings.HasPrefix(name, "bodies/large/"):
				gets++
			}
			return objectstest.None
		}}
		if late {
			f.Store = lateLists{s}
		}
		c, err := checkin(t, f, m.Dir, false)
		if err != nil || lists != 2 || (gets > 0) != late || c.Unchanged {
			t.Errorf("late %v: %d lists, %d gets, %+v, %v", late, lists, gets, c, err)
		}
	}
}

// lateLists is a store whose lists know of nothing yet.
type lateLists struct{ objects.Store }

func (lateLists) List(context.Context, string) iter.Seq2[objects.Info, error] {
	return func(func(objects.Info, error) bool) {}
}

// unpublished leaves out the published tree, which takes a good part of a check-out.
func unpublished(context.Context, *store.State, string) error { return nil }

var errAny = errors.New("any error")

func check(t *testing.T, what string, got, want error) {
	t.Helper()
	if want == errAny && got != nil {
		return
	}
	if !errors.Is(got, want) || (got != nil && want == nil) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// listing is what a store has: names with sizes, pointers with what they say.
func listing(t *testing.T, s objects.Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	for info, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out[info.Name] = ""
		if strings.HasPrefix(info.Name, "sites/") {
			b, _, err := s.Get(t.Context(), info.Name, 0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			out[info.Name] = string(b)
		}
	}
	return out
}

// A machine that never saw the depot does not replace what it has, and one that has a site of its own does
// not give it up.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := folder(t)
	a, b := newMachine(t), newMachine(t)
	a.Run()
	b.Run()
	mustCheckin(t, s, a.Dir)
	unseen := func(m *machine, want bool) {
		t.Helper()
		st := openState(t, m.Dir)
		defer st.Close()
		if names, err := openDepot(t, s).Strangers(st); err != nil || names["test"] != want || len(names) > 1 {
			t.Errorf("unseen: %v, %v", names, err)
		}
	}
	unseen(a, false)
	unseen(b, true)
	_, err := checkin(t, s, b.Dir, false)
	check(t, "in", err, depot.ErrDiverged)
	_, err = checkout(t, s, b.Dir, depot.Out{})
	check(t, "out", err, depot.ErrStranger)
	unseen(b, true)
	older, err := objects.OpenFolder(copyDir(t, strings.TrimPrefix(s.String(), "file://")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = checkout(t, s, b.Dir, depot.Out{Discard: true}); err != nil {
		t.Fatal(err)
	}
	unseen(b, false)
	sameTree(t, a.Dir, b.Dir)
	a.change(1)
	mustCheckin(t, s, a.Dir)
	b.change(2) // both have changed
	_, err = checkin(t, s, b.Dir, false)
	check(t, "in", err, depot.ErrDiverged)
	_, err = checkout(t, s, b.Dir, depot.Out{})
	check(t, "out", err, depot.ErrDiverged)
	out, err := checkout(t, s, a.Dir, depot.Out{})
	if err != nil || !out.Unchanged {
		t.Errorf("%+v, %v", out, err)
	}
	a.change(3)
	if out, err = checkout(t, s, a.Dir, depot.Out{}); err != nil || !out.Ahead {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = checkout(t, older, a.Dir, depot.Out{})
	check(t, "of a depot that was set back", err, depot.ErrSetBack)
	fresh := newMachine(t) // made before the depot knew of the site, and never checked in
	unseen(fresh, false)
	fresh.Run()
	unseen(fresh, false)
	_, err = checkout(t, s, fresh.Dir, depot.Out{})
	check(t, "out", err, depot.ErrStranger)
}

// A site that gets another name is new to a depot that knew it under the old one. What the depot has under
// the new name is another mirror: nothing is given up for it.
func TestRenamed(t *testing.T) {
	t.Parallel()
	s, m := folder(t), newMachine(t)
	m.Run()
	mustCheckin(t, s, m.Dir)
	st := openState(t, m.Dir)
	defer st.Close()
	d := openDepot(t, s)
	rename := func(from, to string) {
		t.Helper()
		err := depot.Renamed(st, from, to)
		held, herr := st.HoldSite(from)
		if err = errors.Join(err, herr); err == nil {
			err = errors.Join(held.Rename(to), held.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Strangers(st); err != nil {
		t.Fatal(err)
	}
	rename("test", "other")
	_, err := d.Checkout(t.Context(), st, "other", depot.Out{})
	check(t, "out under the new name", err, depot.ErrUnknown)
	if in, err := d.Checkin(t.Context(), st, "other", false); err != nil || in.Sequence != 1 {
		t.Errorf("in under the new name: %+v, %v", in, err)
	}
	rename("other", "test")
	_, err = d.Checkout(t.Context(), st, "test", depot.Out{})
	check(t, "out under the old name", err, depot.ErrStranger)
	if names, err := d.Strangers(st); err != nil || !names["test"] {
		t.Errorf("unseen: %v, %v", names, err)
	}
}

// A depot is used by one cluster, until another one takes it over.
func TestUseFor(t *testing.T) {
	t.Parallel()
	s := folder(t)
	d := openDepot(t, s)
	use := func(cluster string, takeOver bool, want error) {
		t.Helper()
		check(t, cluster, d.UseFor(t.Context(), cluster, takeOver), want)
	}
	use("one", false, nil)
	use("two", false, depot.ErrForeign)
	use("one", false, nil)
	use("two", true, nil)
	use("one", false, depot.ErrForeign)
	use("two", false, nil)
	d = openDepot(t, folder(t))
	use("two", true, nil)
	use("one", false, depot.ErrForeign)
}

func TestNoDepot(t *testing.T) {
	t.Parallel()
	_, err := depot.Open(t.Context(), depot.Options{Store: folder(t)})
	check(t, "open", err, depot.ErrNoDepot)
	s := folder(t)
	if _, err := s.Put(t.Context(), "depot.json", objects.Bytes([]byte("[]")), objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	_, err = depot.Open(t.Context(), depot.Options{Store: s, Create: true})
	check(t, "open", err, errAny)
}

// BenchmarkCheckin checks a site into a folder after a run that changed a page, and looks whether the depot
// has something newer: what a run of a cluster costs at the depot.
func BenchmarkCheckin(b *testing.B) {
	m := newMachine(b)
	m.Run()
	s := folder(b)
	mustCheckin(b, s, m.Dir)
	d := openDepot(b, s)
	st := openState(b, m.Dir)
	defer st.Close()
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		m.change(n)
		b.StartTimer()
		if _, err := d.Checkin(b.Context(), st, "test", false); err != nil {
			b.Fatal(err)
		}
		out, err := d.Checkout(b.Context(), st, "test", depot.Out{})
		if err != nil || !out.Unchanged {
			b.Fatalf("%+v, %v", out, err)
		}
	}
}
