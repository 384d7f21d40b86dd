// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/store/shared"
	"mirrord/testing/objectstest"
)

// careless is a store that ignores conditions.
type careless struct{ objects.Store }

func (c careless) Put(
	ctx context.Context, name string, data *io.SectionReader, _ objects.Condition,
) (string, error) {
	return c.Store.Put(ctx, name, data, objects.Condition{})
}

// kept is a depot whose pointers lie with keepers.
type kept struct {
	t      *testing.T
	store  objects.Store
	shared shared.KeyValues // nil: unreachable
	epoch  time.Duration
	lazy   bool // check-outs leave what only older versions need
}

func newKept(t *testing.T) *kept {
	return &kept{t: t, store: careless{folder(t)}, shared: keepersOf(t)}
}

// keepersOf stands for keepers that have nothing yet.
func keepersOf(t *testing.T) shared.KeyValues {
	st := openState(t, t.TempDir())
	t.Cleanup(func() { st.Close() })
	return st.Shared
}

func (k *kept) open(s objects.Store) *depot.Depot {
	k.t.Helper()
	d, err := k.tryOpen(s)
	if err != nil {
		k.t.Fatal(err)
	}
	return d
}

func (k *kept) tryOpen(s objects.Store) (*depot.Depot, error) {
	d, err := depot.Open(k.t.Context(), depot.Options{
		Store:      s,
		Machine:    "a machine",
		Create:     true,
		CreateKept: true,
		Epoch:      k.epoch,
		OnDemand:   k.lazy,
	})
	if err != nil {
		return nil, err
	}
	if !d.AtKeepers() {
		k.t.Error("the pointers lie in the store")
	}
	if k.shared != nil {
		d.Keep(k.shared)
	}
	return d, nil
}

func (k *kept) in(s objects.Store, dir string) (*depot.CheckedIn, error) {
	k.t.Helper()
	st := openState(k.t, dir)
	defer st.Close()
	d, err := k.tryOpen(s)
	if err != nil {
		return nil, err
	}
	return d.Checkin(k.t.Context(), st, "test", false)
}

func (k *kept) out(dir string) *depot.CheckedOut {
	k.t.Helper()
	st := openState(k.t, dir)
	defer st.Close()
	out, err := k.open(k.store).Checkout(k.t.Context(), st, "test", depot.Out{Ready: publish})
	if err != nil {
		k.t.Fatal(err)
	}
	return out
}

// sequence is that of the depot's site, all of which is there.
func (k *kept) sequence() uint64 {
	k.t.Helper()
	d := k.open(k.store)
	c, err := d.Check(k.t.Context())
	if err != nil || len(c.Problems) > 0 {
		k.t.Fatalf("%+v, %v", c, err)
	}
	all, err := d.Sites(k.t.Context())
	if err != nil || len(all) > 1 {
		k.t.Fatalf("%+v, %v", all, err)
	}
	for _, p := range all {
		return p.Sequence
	}
	return 0
}

// A store that cannot put on a condition does for a cluster: its keepers have the pointers. Who reaches no
// keeper may read, and when the keepers have lost everything the copies in the store count.
func TestKeptPointers(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	if err := objects.CheckConditions(t.Context(), k.store, ""); !errors.Is(err, objects.ErrLacks) {
		t.Fatalf("the store: %v", err)
	}
	m := newMachine(t)
	m.Run()
	if in, err := k.in(k.store, m.Dir); err != nil || in.Sequence != 1 {
		t.Fatalf("%+v, %v", in, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	k.out(other)
	sameTree(t, m.Dir, other)
	k.shared = nil
	if k.sequence() != 1 {
		t.Error("nothing can be read without keepers")
	}
	m.change(1)
	_, err := k.in(k.store, m.Dir)
	check(t, "check-in without keepers", err, depot.ErrKeepers)
	_, err = k.open(k.store).Collect(t.Context(), false)
	check(t, "collection without keepers", err, depot.ErrKeepers)
	k.shared = keepersOf(t)
	if in, err := k.in(k.store, m.Dir); err != nil || in.Sequence != 2 {
		t.Fatalf("with other keepers: %+v, %v", in, err)
	}
	if out := k.out(other); out.Sequence != 2 {
		t.Errorf("%+v", out)
	}
	sameTree(t, m.Dir, other)
	k.epoch = noTime
	for range 3 {
		if _, err := k.open(k.store).Collect(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	if k.sequence() != 2 {
		t.Error("a collection changed the site")
	}
	use := func(cluster string, takeOver bool, want error) {
		t.Helper()
		check(t, cluster, k.open(k.store).UseFor(t.Context(), cluster, takeOver), want)
	}
	use("one", false, nil)
	use("two", false, depot.ErrForeign)
	use("two", true, nil)
	use("one", false, depot.ErrForeign)
}

// Whenever a check-in ends, the keepers' pointer is of the old state or the new one, and the same call then
// ends in the new one.
func TestCrashKeptPointers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.Run()
	for _, fault := range []objectstest.Failure{objectstest.Dead, objectstest.After} {
		done := false
		for n := 0; !done; n++ {
			k, dir := newKept(t), copyDir(t, m.Dir)
			k.open(k.store)
			_, err := k.in(dying(k.store, n, fault), dir)
			if done = err == nil; n > 40 {
				t.Fatal("it does not end")
			}
			s := k.sequence()
			if s > 1 || (done && s == 0) {
				t.Fatalf("call %d: check-in %d", n, s)
			}
			in, err := k.in(k.store, dir)
			if err != nil || in.Sequence != 1 || in.Unchanged != (s == 1) || k.sequence() != 1 {
				t.Fatalf("call %d: %+v after %d, %v", n, in, s, err)
			}
		}
	}
}

// Of two machines that check the same state in, one wins, and the other one gets an error.
func TestKeptPointersTwice(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	m := newMachine(t)
	m.Run()
	if _, err := k.in(k.store, m.Dir); err != nil {
		t.Fatal(err)
	}
	m.change(1)
	other := copyDir(t, m.Dir)
	faster := false
	f := &objectstest.Faulty{Store: k.store, Decide: func(_ int, op, name string) objectstest.Failure {
		if op == "put" && strings.HasPrefix(name, "manifests/test/2-") && !faster {
			faster = true
			if _, err := k.in(k.store, other); err != nil {
				t.Error(err)
			}
		}
		return objectstest.None
	}}
	if _, err := k.in(f, m.Dir); !errors.Is(err, depot.ErrDiverged) || !faster {
		t.Errorf("%v", err)
	}
	if k.sequence() != 2 {
		t.Error("not the state of the winner")
	}
}

// Where the keepers have the pointers, a machine may leave older versions in the depot as well.
func TestKeptPointersOnDemand(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	m := newHistory(t)
	if _, err := k.in(k.store, m.Dir); err != nil {
		t.Fatal(err)
	}
	want := mustPast(t, m.Dir)
	lazy := filepath.Join(t.TempDir(), "lazy")
	k.lazy = true
	k.out(lazy)
	if isWhole(lazy) {
		t.Error("nothing was left in the depot")
	}
	d := k.open(k.store)
	samePast(t, want, lazy, d)
	m.on(lazy, d).another(4)
	if in, err := k.in(k.store, lazy); err != nil || in.Sequence != 2 || k.sequence() != 2 {
		t.Fatalf("%+v, %v", in, err)
	}
	k.lazy = false
	k.out(m.Dir)
	now := mustPast(t, m.Dir)
	for f, digest := range want {
		if now[f] != digest {
			t.Errorf("%s is another one", f)
		}
	}
	if len(now) <= len(want) {
		t.Errorf("%d files of five versions, %d of four", len(now), len(want))
	}
}
