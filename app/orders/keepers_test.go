// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/orders"
	"mirrord/cluster/objects"
	"mirrord/scheduler/control"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/orderstest"
	"mirrord/testing/poll"
)

// An order that could not be placed because the keepers were away can be placed afterwards, and counts once.
func TestPlacedAgain(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	a := nodes.Join(t, "a", site.at)
	l := a.Limits()
	l.Orders = 1
	if err := a.SetLimits(l); err != nil {
		t.Fatal(err)
	}
	x, y := drafted(t, a, a, ann, page("/1/")), drafted(t, a, a, ann, page("/2/"))
	nodes.Break(func(ref string) bool { return ref == x.Ref() }) // it is noted that it is being placed
	for range 2 {
		err := a.PlaceOrder(x.OrderID, ann, false)
		if !errors.Is(err, orders.ErrKeepers) || !errors.Is(err, control.ErrConflict) {
			t.Errorf("%v", err)
		}
	}
	nodes.Break(nil)
	if err := a.PlaceOrder(x.OrderID, ann, false); err != nil {
		t.Fatal(err)
	}
	orderstest.Until(t, a, x.OrderID, orders.Done)
	if err := a.PlaceOrder(x.OrderID, ann, false); !errors.Is(err, control.ErrConflict) {
		t.Errorf("placed twice: %v", err)
	}
	if err := a.PlaceOrder(y.OrderID, ann, false); err == nil || !strings.Contains(err.Error(), "within a day") {
		t.Errorf("%v", err)
	}
}

// What a user did not place, because the keepers were away, does not count for ever.
func TestNeverPlaced(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	var ahead atomic.Int64
	a := nodes.Join(t, "a", site.at, func(o *orders.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	l := a.Limits()
	l.Orders = 1
	if err := a.SetLimits(l); err != nil {
		t.Fatal(err)
	}
	x, y := drafted(t, a, a, ann, page("/1/")), drafted(t, a, a, ann, page("/2/"))
	nodes.Break(func(ref string) bool { return ref == x.Ref() })
	if err := a.PlaceOrder(x.OrderID, ann, false); !errors.Is(err, orders.ErrKeepers) {
		t.Errorf("%v", err)
	}
	nodes.Break(nil)
	if n := a.Left("ann").Orders; n != 0 {
		t.Errorf("%d orders are left", n)
	}
	ahead.Store(int64(time.Hour))
	if err := a.PlaceOrder(y.OrderID, ann, false); err != nil {
		t.Error(err)
	}
}

// A node whose session ends while it takes an order does not run it under that session.
func TestSessionEndsInClaim(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	a := nodes.Join(t, "a", site.at)
	x := drafted(t, a, a, ann, page("/1/"))
	var once atomic.Bool
	nodes.Break(func(ref string) bool {
		now, err := a.Get(x.OrderID)
		if err == nil && now.State == orders.Waits && ref == x.Ref() && once.CompareAndSwap(false, true) {
			nodes.Over("a")
			nodes.Notice("a")
			nodes.Back("a")
			time.Sleep(1500 * time.Millisecond) // which the node sees meanwhile
		}
		return false
	})
	if err := a.PlaceOrder(x.OrderID, ann, false); err != nil {
		t.Fatal(err)
	}
	orderstest.Until(t, a, x.OrderID, orders.Done)
	// the preview, and a run under each session
	if got := get(t, a, x.OrderID).Claim.Token; !once.Load() || got < 3 {
		t.Errorf("claim %d", got)
	}
}

// A node that cannot know at first whether the session of another one is over asks again soon.
func TestOverNotKnown(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	nodes.Drain("b")
	a, b := nodes.Join(t, "a", site.at), nodes.Join(t, "b", site.at)
	open := site.shut()
	defer open()
	x := placed(t, a, ann, page("/"))
	orderstest.Until(t, b, x.OrderID, orders.Runs)
	poll.Until(t, "a makes no request", func() bool { return site.count("/") == 2 })
	nodes.Doubt(3)
	nodes.Undrain("b")
	nodes.Over("a")
	poll.Until(t, "b makes no request", func() bool { return site.count("/") == 3 })
	open()
	orderstest.Until(t, b, x.OrderID, orders.Done)
}

// What a run came to is kept although the keepers are away at that moment.
func TestDoneWithoutKeepers(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	var mails atomic.Int64
	a := nodes.Join(t, "a", site.at, func(o *orders.Options) {
		o.Mail = func(context.Context, string, string, string) error { mails.Add(1); return nil }
	})
	open := site.shut()
	defer open()
	w := page("/")
	w.Mail = "ann@example.org"
	x := placed(t, a, ann, w)
	poll.Until(t, "no request", func() bool { return site.count("/") == 2 })
	var broken atomic.Int64
	nodes.Break(func(string) bool { return broken.Add(1) <= 3 })
	open()
	orderstest.Until(t, a, x.OrderID, orders.Done)
	poll.Until(t, "no mail", func() bool { return get(t, a, x.OrderID).Mailed != "" })
	if n := site.count("/"); n != 2 || mails.Load() != 1 || broken.Load() < 4 {
		t.Errorf("%d requests, %d mails", n, mails.Load())
	}
}

// A node asks keepers that do not answer again, and does not take that for damage of its own records.
func TestJoinsWithoutKeepers(t *testing.T) {
	nodes := orderstest.NewCluster(t)
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	err = shared.NewOrderFacts(st.Shared).ChangeOrder(1, func([]byte) ([]byte, error) {
		return []byte(`{"by":"ann","state":"refused","ended":"2099-01-01T00:00:00Z"}`), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	join := func() error {
		_, err := orders.InCluster(nodes.Facts(), st, "a", slog.New(slog.DiscardHandler))
		return err
	}
	for n := range int64(2) { // the ID of the cluster is not known, the order is not handed in
		var asked atomic.Int64
		nodes.Break(func(string) bool { return asked.Add(1) > n })
		if err := join(); !errors.Is(err, orders.ErrKeepers) {
			t.Errorf("%d calls answered: %v", n, err)
		}
	}
	nodes.Break(nil)
	if err := join(); err != nil {
		t.Error(err)
	}
}

// Archives that are no longer on the disk do not keep others from the depot, and a new order of the same is
// a run of its own. While the place of archives in the depot cannot be recorded, they are stored there
// once.
func TestArchivesNotThere(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	folder, err := objects.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	depot := &failing{Store: folder}
	depot.left.Store(1 << 40)
	dir := ""
	a := nodes.Join(t, "a", site.at, func(o *orders.Options) {
		o.Depot, o.Again = depot, time.Millisecond
		dir, _ = o.App.State()
	})
	x := placed(t, a, opal, page("/1/"))
	orderstest.Until(t, a, x.OrderID, orders.Done)
	y := placed(t, a, opal, page("/2/"))
	orderstest.Until(t, a, y.OrderID, orders.Done)
	if err := os.RemoveAll(filepath.Join(dir, "orders", x.Ref()[:1])); err != nil {
		t.Fatal(err)
	}
	var tries atomic.Int64
	nodes.Break(func(ref string) bool { return ref == y.Ref() && tries.Add(1) <= 5 })
	begun := depot.failed.Load() + 2 // a try that began before has the archive open
	poll.Until(t, "the depot is tried again", func() bool { return depot.failed.Load() >= begun })
	depot.left.Store(0)
	poll.Until(t, "the others do not get to the depot", func() bool { return get(t, a, y.OrderID).Depot != "" })
	if got := inDepot(t, folder); len(got) != 1 || tries.Load() < 6 {
		t.Errorf("%q after %d tries", got, tries.Load())
	}
	again := placed(t, a, opal, page("/1/"))
	orderstest.Until(t, a, again.OrderID, orders.Done)
	if z := get(t, a, again.OrderID); z.Same != 0 {
		t.Errorf("it shares the run of order %d", z.Same)
	}
	same := placed(t, a, opal, page("/2/"))
	orderstest.Until(t, a, same.OrderID, orders.Done)
	if z := get(t, a, same.OrderID); z.Same != y.Number {
		t.Errorf("it shares the run of order %d", z.Same)
	}
}

// A node that is cut off from the keepers removes nothing from the depot: what it knows of orders may be old.
func TestCutOffRemovesNothing(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	folder, err := objects.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const stray = "orders/1@a/lost/x.phm"
	if _, err := folder.Put(t.Context(), stray, objects.Bytes([]byte("x")), objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	a := nodes.Join(t, "a", site.at, func(o *orders.Options) {
		o.Depot = folder
		o.Now = func() time.Time { asked.Add(1); return time.Now().AddDate(0, 2, 0) }
		nodes.Notice("a")
	})
	x, err := a.Draft(opal, page("/"))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "it does nothing", func() bool { // each is a reason to look around
		if err := a.SetLimits(a.Limits()); err != nil {
			t.Fatal(err)
		}
		return asked.Load() > 20
	})
	if got := inDepot(t, folder); !slices.Contains(got, stray) {
		t.Errorf("%q", got)
	}
	nodes.Back("a")
	orderstest.Until(t, a, x.OrderID, orders.Draft)
	poll.Until(t, "it stays", func() bool { return len(inDepot(t, folder)) == 0 })
}

// oldFacts are those of a keeper that is behind: what they say at first was so once.
type oldFacts struct {
	orders.Facts
	old map[orders.OrderID][]byte
}

func (f oldFacts) All() (map[orders.OrderID][]byte, error) { return f.old, nil }

func (f oldFacts) Watch(ctx context.Context, _ func(orders.OrderID, []byte)) { <-ctx.Done() }

// A node removes no archives because of what a keeper says that is behind.
func TestKeeperBehind(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	nodes.Back("b")
	facts := nodes.Facts()
	write := func(k orders.OrderID, state orders.State, held string) []byte {
		t.Helper()
		x := orders.Ordered{Rev: 5, Held: held, Claim: orders.Claim{Node: "b", Session: "s1", Token: 2}}
		x.OrderID, x.By, x.State = k, "ann", state
		x.At, x.Expires = time.Now(), time.Now().Add(time.Hour)
		v, err := json.Marshal(x)
		if err == nil {
			err = facts.Change("orders", k.Ref(), func([]byte) ([]byte, error) { return v, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	mine, others := orders.OrderID{Number: 1, Node: "a"}, orders.OrderID{Number: 2, Node: "a"}
	old := map[orders.OrderID][]byte{}
	for _, k := range []orders.OrderID{mine, others} {
		old[k] = write(k, orders.Runs, "")
		file := filepath.Join(st.Dir, "orders", orders.OrderID{Number: k.Number}.Ref(), "files", "x.phm")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("PK"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(mine, orders.Done, "a") // which the keeper has not heard of
	has := func(k orders.OrderID) bool {
		_, err := os.Stat(filepath.Join(st.Dir, "orders", orders.OrderID{Number: k.Number}.Ref()))
		return err == nil
	}
	with := nodes.With(t, "a", st)
	orderstest.From(t, site.at, with, patient, func(o *orders.Options) {
		o.Facts, o.Patience = oldFacts{o.Facts, old}, 20*time.Millisecond
	})
	poll.Until(t, "what another node works on stays", func() bool { return !has(others) })
	if !has(mine) {
		t.Error("archives are gone")
	}
}

// No record leads a node to other files of its disk.
func TestNamesOfArchives(t *testing.T) {
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	const name = "../../secret"
	if err := os.MkdirAll(filepath.Join(st.Dir, "orders", "7", "files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(st.Dir, "orders", "secret"), []byte("it is"), 0o600); err != nil {
		t.Fatal(err)
	}
	var x orders.Ordered
	x.By, x.State, x.Expires = "opal", orders.Done, time.Now().Add(time.Hour)
	x.Result.Archives = []orders.ArchiveFile{{Form: "phm", Name: name, Bytes: 5}}
	v, err := json.Marshal(x)
	if err == nil {
		err = shared.NewOrderFacts(st.Shared).ChangeOrder(7, func([]byte) ([]byte, error) { return v, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	all := orderstest.From(t, "127.0.0.1:1", func(o *orders.Options) {
		a := *o.App
		a.State = func() (string, error) { return st.Dir, nil }
		o.App, o.Facts = &a, orders.OnMachine(st)
	})
	w := httptest.NewRecorder()
	err = all.SendArchive(w, httptest.NewRequest(http.MethodGet, "/", nil), opal, "7", name)
	if !errors.Is(err, orders.ErrNone) || w.Body.Len() > 0 {
		t.Errorf("%v, %q", err, w.Body)
	}
}
