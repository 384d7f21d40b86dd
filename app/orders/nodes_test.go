// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/orders"
	"mirrord/scheduler/control"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/orderstest"
	"mirrord/testing/poll"
)

// counted is a site of directories of one page each, which counts the requests to each page. Runs wait while
// it is shut: the second request to a page.
type counted struct {
	at   string
	mu   sync.Mutex
	hits map[string]int
	gate chan struct{} // nil: open
}

func newCounted(t *testing.T) *counted {
	t.Helper()
	c := &counted{hits: map[string]int{}}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)
	c.at = srv.Listener.Addr().String()
	return c
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+rand.Text()+`"`) // a file, which is not requested twice
	c.mu.Lock()
	c.hits[r.URL.Path]++
	gate := c.gate
	if c.hits[r.URL.Path] == 1 { // the preview
		gate = nil
	}
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
		}
	}
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "<title>%s</title><p>All of it.", r.URL.Path)
}

func (c *counted) shut() (open func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate = gate
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gate = nil
		close(gate)
	})
}

func (c *counted) count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits[path]
}

func page(path string) orders.Wish {
	return orders.Wish{
		URL:   "http://site.example" + path,
		Scope: "directory",
		Files: 10,
		Size:  1e6,
		Forms: []string{"phm"},
	}
}

var (
	ann  = orders.User{Name: "ann", Base: "https://mirrors.example"}
	opal = orders.User{Name: "opal", Operator: true}
)

// drafted makes a draft on one node that another one knows.
func drafted(t *testing.T, on, and *orders.Orders, who orders.User, w orders.Wish) orders.Ordered {
	t.Helper()
	x, err := on.Draft(who, w)
	if err != nil {
		t.Fatal(err)
	}
	orderstest.Until(t, on, x.OrderID, orders.Draft)
	orderstest.Until(t, and, x.OrderID, orders.Draft)
	return x
}

func placed(t *testing.T, on *orders.Orders, who orders.User, w orders.Wish) orders.Ordered {
	t.Helper()
	x := drafted(t, on, on, who, w)
	if err := on.PlaceOrder(x.OrderID, who, false); err != nil {
		t.Fatal(err)
	}
	return x
}

func get(t *testing.T, all *orders.Orders, k orders.OrderID) orders.Ordered {
	t.Helper()
	x, err := all.Get(k)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func patient(o *orders.Options) { o.Patience = time.Hour }

// Pages of the orders of all nodes have each order once, newest first, also those that were made at the same
// moment; and a user's are his only. Each node knows all.
func TestNewestOfNodes(t *testing.T) {
	nodes := orderstest.NewCluster(t)
	var all []*orders.Orders
	var ticks atomic.Int64
	for _, node := range []string{"a", "b", "c"} {
		all = append(all, nodes.Join(t, node, "127.0.0.1:1", patient, func(o *orders.Options) {
			o.Now = func() time.Time { return time.Unix(2e9+ticks.Load()/4, 0) }
		}))
	}
	const made = 18
	for i := range made {
		who := orders.User{Name: []string{"ann", "eve"}[i%2], Operator: true}
		x, err := all[i%3].Draft(who, page("/"))
		if err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "another node does not hear of it", func() bool {
			_, err := all[1].Get(x.OrderID)
			return err == nil
		})
		ticks.Add(1)
	}
	for _, tc := range []struct {
		who  orders.User
		want int
	}{{orders.User{Name: "ann", Operator: true}, made}, {orders.User{Name: "ann"}, made / 2}} {
		for _, most := range []int{1, 3, 5, 100} {
			seen := map[string]bool{}
			last := time.Unix(1<<40, 0)
			for before := uint64(0); ; {
				p := orders.Newest(all[1], tc.who, before, most)
				for _, x := range p.Orders {
					if seen[x.Ref()] || x.At.After(last) || (!tc.who.Operator && x.By != "ann") {
						t.Errorf("%d at a time: %s of %s, %s after %s", most, x.Ref(), x.By, x.At, last)
					}
					seen[x.Ref()], last = true, x.At
				}
				if left := tc.want - len(seen); p.More != left || (p.Next == 0) != (left == 0) {
					t.Fatalf("%d at a time: %d more, of %d; next %d", most, p.More, left, p.Next)
				}
				if before = p.Next; before == 0 {
					break
				}
			}
		}
	}
}

// An order whose node is lost in its run is run by another one. The first one, which was only silent,
// continues and changes nothing; its files are removed from its disk.
func TestLostNode(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	var mails atomic.Int64
	tell := func(o *orders.Options) {
		o.Mail = func(context.Context, string, string, string) error { mails.Add(1); return nil }
	}
	dirs := map[string]string{}
	join := func(node string) *orders.Orders {
		return nodes.Join(t, node, site.at, tell, func(o *orders.Options) { dirs[node], _ = o.App.State() })
	}
	nodes.Drain("b")
	a, b := join("a"), join("b")
	open := site.shut()
	defer open()
	w := page("/")
	w.Mail = "ann@example.org"
	x := placed(t, a, ann, w)
	orderstest.Until(t, b, x.OrderID, orders.Runs)
	poll.Until(t, "a makes no request", func() bool { return site.count("/") == 2 })
	if got := get(t, b, x.OrderID); got.Claim.Node != "a" {
		t.Errorf("%+v", got.Claim)
	}
	nodes.Undrain("b")
	nodes.Over("a")
	poll.Until(t, "b makes no request", func() bool { return site.count("/") == 3 })
	if got := get(t, b, x.OrderID); got.Claim.Node != "b" || got.Claim.Token < 3 {
		t.Errorf("%+v", got.Claim)
	}
	open()
	orderstest.Until(t, b, x.OrderID, orders.Done)
	orderstest.Until(t, a, x.OrderID, orders.Done)
	poll.Until(t, "no mail", func() bool { return get(t, b, x.OrderID).Mailed != "" })
	poll.Until(t, "the run of a does not end, or its disk keeps the order", func() bool {
		if err := b.SetLimits(b.Limits()); err != nil { // of which a hears, and looks around
			t.Fatal(err)
		}
		left, err := os.ReadDir(filepath.Join(dirs["a"], "orders"))
		return err == nil && len(left) == 0
	})
	y := get(t, b, x.OrderID)
	if y.Held != "b" || len(y.Result.Archives) != 1 {
		t.Errorf("%+v", y)
	}
	if node, there := a.LiesOn(&y); node != "b" || !there {
		t.Errorf("it lies on %q, which is there: %v", node, there)
	}
	if node, there := b.LiesOn(&y); node != "" || !there {
		t.Errorf("for b it lies on %q", node)
	}
	if n := mails.Load(); n != 1 {
		t.Errorf("%d mails", n)
	}
	if n := site.count("/"); n != 3 {
		t.Errorf("%d requests: the preview, and a run on each", n)
	}
}

// A node that learns in a run that its session is over stops, and may continue under its next one.
func TestSessionEnds(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	a := nodes.Join(t, "a", site.at)
	open := site.shut()
	defer open()
	x := placed(t, a, ann, page("/"))
	poll.Until(t, "no request", func() bool { return site.count("/") == 2 })
	was := get(t, a, x.OrderID).Claim
	nodes.Over("a")
	nodes.Notice("a")
	nodes.Back("a")
	poll.Until(t, "it does not begin again", func() bool { return site.count("/") == 3 })
	if now := get(t, a, x.OrderID).Claim; now.Session == was.Session || now.Token <= was.Token {
		t.Errorf("%+v, before %+v", now, was)
	}
	open()
	orderstest.Until(t, a, x.OrderID, orders.Done)
}

// Nodes that take all orders at the same moment run each of them once, and none is left.
func TestClaimedOnce(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	at := func(o *orders.Options) { o.Patience = time.Nanosecond }
	all := []*orders.Orders{nodes.Join(t, "a", site.at, at), nodes.Join(t, "b", site.at, at)}
	const made = 8
	var keys []orders.OrderID
	for i := range made {
		x := placed(t, all[i%2], opal, page(fmt.Sprintf("/%d/", i)))
		keys = append(keys, x.OrderID)
	}
	for i, k := range keys {
		for _, on := range all {
			orderstest.Until(t, on, k, orders.Done)
		}
		if n := site.count(fmt.Sprintf("/%d/", i)); n != 2 { // the preview and the run
			t.Errorf("order %s: %d requests", k.Ref(), n)
		}
	}
}

// What a user may have, and that two orders of the same are one run, count over all nodes, also for orders
// that are placed at the same moment.
func TestQuotaOfNodes(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	all := []*orders.Orders{nodes.Join(t, "a", site.at, patient), nodes.Join(t, "b", site.at, patient)}
	l := all[0].Limits()
	l.Orders = 3
	if err := all[1].SetLimits(l); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a has other limits", func() bool { return all[0].Limits() == l })
	place := func(n int, who orders.User, w func(i int) orders.Wish) (ok int, keys []orders.OrderID) {
		t.Helper()
		for i := range n {
			keys = append(keys, drafted(t, all[i%2], all[(i+1)%2], who, w(i)).OrderID)
		}
		defer site.shut()()
		var wg sync.WaitGroup
		var did atomic.Int64
		for i, k := range keys {
			wg.Go(func() {
				if err := all[i%2].PlaceOrder(k, who, false); err == nil {
					did.Add(1)
				} else if !strings.Contains(err.Error(), "3 orders within a day") {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return int(did.Load()), keys
	}
	if ok, _ := place(8, ann, func(i int) orders.Wish { return page(fmt.Sprintf("/%d/", i)) }); ok != 3 {
		t.Errorf("%d of 3 orders were placed", ok)
	}
	ok, keys := place(6, opal, func(int) orders.Wish { return page("/same/") })
	if ok != 6 {
		t.Errorf("%d of 6 were placed", ok)
	}
	runs := 0
	for _, k := range keys {
		orderstest.Until(t, all[0], k, orders.Done)
		if x := get(t, all[0], k); x.Same == 0 {
			runs++
		} else if len(x.Result.Archives) != 1 {
			t.Errorf("%+v", x)
		}
	}
	if n := site.count("/same/"); runs != 1 || n != 6+1 {
		t.Errorf("%d runs, %d requests beside the previews", runs, n-6)
	}
}

// An order that runs on one node is cancelled on another one; what waits for a node that is drained goes to
// another one.
func TestActsOnOtherNodes(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	a, b := nodes.Join(t, "a", site.at), nodes.Join(t, "b", site.at)
	open := site.shut()
	defer open()
	x := placed(t, a, ann, page("/1/"))
	orderstest.Until(t, b, x.OrderID, orders.Runs)
	if err := b.Cancel(x.OrderID); err != nil {
		t.Fatal(err)
	}
	orderstest.Until(t, b, x.OrderID, orders.Cancelled)
	orderstest.Until(t, a, x.OrderID, orders.Cancelled)
	if err := b.Cancel(x.OrderID); !errors.Is(err, control.ErrConflict) {
		t.Errorf("cancelled twice: %v", err)
	}
	open()
	y := drafted(t, a, b, ann, page("/2/"))
	nodes.Drain("a")
	if err := a.PlaceOrder(y.OrderID, ann, false); err != nil {
		t.Fatal(err)
	}
	orderstest.Until(t, a, y.OrderID, orders.Done)
	if x := get(t, a, y.OrderID); x.Held != "b" {
		t.Errorf("it was run by %s", x.Held)
	}
}

// Orders of a machine are handed in when it becomes a node, under the names that they had, and stay in its
// state for when the keepers lose all.
func TestHandedIn(t *testing.T) {
	site := newCounted(t)
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	alone := orderstest.From(t, site.at, func(o *orders.Options) {
		a := *o.App
		a.State = func() (string, error) { return st.Dir, nil }
		o.App, o.Facts = &a, orders.OnMachine(st)
	})
	x, twin := placed(t, alone, ann, page("/1/")), placed(t, alone, opal, page("/1/"))
	orderstest.Until(t, alone, x.OrderID, orders.Done)
	orderstest.Until(t, alone, twin.OrderID, orders.Done)
	const older = `{"number":20,"by":"ann","state":"refused","ended":"2099-01-01T00:00:00Z"}`
	err = shared.NewOrderFacts(st.Shared).ChangeOrder(20, func([]byte) ([]byte, error) {
		return []byte(older), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var last orders.OrderID
	var nodes *orderstest.FakeCluster
	var b *orders.Orders
	for range 2 { // the second time another cluster, as after a loss of all keepers
		nodes = orderstest.NewCluster(t)
		b = nodes.Join(t, "b", site.at, patient)
		a := orderstest.From(t, site.at, nodes.With(t, "a", st), patient)
		for _, n := range []uint64{x.Number, twin.Number, last.Number} {
			if n == 0 {
				continue
			}
			k := orders.OrderID{Number: n, Node: "a"}
			orderstest.Until(t, b, k, orders.Done)
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			if err := a.SendArchive(w, r, opal, k.Ref(), "site.example.phm"); err != nil || w.Body.Len() == 0 {
				t.Errorf("order %s: %v, %d bytes", k.Ref(), err, w.Body.Len())
			}
			if node, there := orders.NodeOf(b, k.Ref(), orders.ToFetch); node != "a" || there {
				t.Errorf("order %s comes from %q", k.Ref(), node)
			}
		}
		old := orders.OrderID{Number: 20, Node: "a"}
		orderstest.Until(t, b, old, orders.Refused)
		if x := get(t, b, old); x.By != "ann" {
			t.Errorf("an order of an older program: %+v", x)
		}
		if node, known := orders.NodeOf(b, "9@a", orders.ToAct); node != "a" || known {
			t.Errorf("an unknown order: %q, %v", node, known)
		}
		if last.Number == 0 {
			last = placed(t, a, opal, page("/2/")).OrderID
			orderstest.Until(t, a, last, orders.Done)
			poll.Until(t, "the state has no copy", func() bool {
				var x orders.Ordered
				all, err := shared.NewOrderFacts(st.Shared).Orders()
				return err == nil && json.Unmarshal(all[last.Number], &x) == nil && x.State == orders.Done
			})
		}
		nodes.Over("a")
	}

	// the machine is by itself again, and once more a node of the cluster
	alone = orderstest.From(t, site.at, func(o *orders.Options) {
		a := *o.App
		a.State = func() (string, error) { return st.Dir, nil }
		o.App, o.Facts = &a, orders.OnMachine(st)
	})
	meanwhile := placed(t, alone, opal, page("/3/"))
	orderstest.Until(t, alone, meanwhile.OrderID, orders.Done)
	orderstest.From(t, site.at, nodes.With(t, "a", st), patient)
	orderstest.Until(t, b, orders.OrderID{Number: meanwhile.Number, Node: "a"}, orders.Done)
	for _, n := range []uint64{x.Number, twin.Number, last.Number} {
		ref := orders.OrderID{Number: n}.Ref()
		if got := fetched(t, alone, ref, "site.example.phm", ""); !strings.HasPrefix(got, "PK") {
			t.Errorf("order %s: %.10q", ref, got)
		}
	}
}
