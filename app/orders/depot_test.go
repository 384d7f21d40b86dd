// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
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
	"mirrord/testing/orderstest"
	"mirrord/testing/poll"
)

// inDepot lists the objects of archives in a store.
func inDepot(t *testing.T, s objects.Store) (names []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), "orders/") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, o.Name)
	}
	return names
}

// fetched is the answer to a download, of some bytes only when part is not "".
func fetched(t *testing.T, all *orders.Orders, ref, name, part string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if part != "" {
		r.Header.Set("Range", part)
	}
	if err := all.SendArchive(w, r, opal, ref, name); err != nil {
		t.Fatalf("%s of %s: %v", name, ref, err)
	}
	return w.Body.String()
}

// failing is a store whose puts fail for some times.
type failing struct {
	objects.Store
	left, failed atomic.Int64
}

func (f *failing) Put(
	ctx context.Context, name string, data *io.SectionReader, c objects.Condition,
) (string, error) {
	if f.left.Add(-1) >= 0 {
		f.failed.Add(1)
		return "", errors.New("the depot is full")
	}
	return f.Store.Put(ctx, name, data, c)
}

// The archives of an order get to the depot, though it fails at first, and are had from any node when the one
// that made them is lost for good. They are removed there when the order expires, and so is what was left by
// others.
func TestArchivesInDepot(t *testing.T) {
	site, nodes := newCounted(t), orderstest.NewCluster(t)
	folder, err := objects.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := &failing{Store: folder}
	store.left.Store(2)
	var days atomic.Int64
	const stray, unknown = "orders/1@a/lost/x.phm", "orders/9@gone/lost/x.phm"
	for _, name := range []string{stray, unknown} {
		if _, err := folder.Put(t.Context(), name, objects.Bytes([]byte("x")), objects.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	dirs := map[string]string{}
	join := func(node string) *orders.Orders {
		return nodes.Join(t, node, site.at, patient, func(o *orders.Options) {
			o.Depot, o.Again = store, time.Millisecond
			o.Now = func() time.Time { return time.Now().AddDate(0, 0, int(days.Load())) }
			dirs[node], _ = o.App.State()
		})
	}
	a, b := join("a"), join("b")
	w := page("/1/")
	w.Forms = []string{"phm", "tar.zst"}
	x := placed(t, a, opal, w)
	orderstest.Until(t, b, x.OrderID, orders.Done)
	poll.Until(t, "the archives do not get to the depot", func() bool {
		return get(t, b,
			x.OrderID).Depot != ""
	})
	if store.failed.Load() != 2 {
		t.Errorf("%d puts failed", store.failed.Load())
	}
	twin := placed(t, b, ann, w)
	done := get(t, b, x.OrderID)
	for _, form := range done.Result.Archives {
		whole := fetched(t, a, x.Ref(), form.Name, "")
		if int64(len(whole)) != form.Bytes {
			t.Errorf("%s: %d bytes, want %d", form.Name, len(whole), form.Bytes)
		}
		nodes.Over("a")
		for _, ref := range []string{x.Ref(), twin.Ref()} {
			if node, known := orders.NodeOf(b, ref, orders.ToFetch); node != "" || !known {
				t.Errorf("%s comes from node %q", ref, node)
			}
			if got := fetched(t, b, ref, form.Name, ""); got != whole {
				t.Errorf("%s from the depot has %d bytes, want %d", form.Name, len(got), len(whole))
			}
			if got := fetched(t, b, ref, form.Name, "bytes=-5"); got != whole[len(whole)-5:] {
				t.Errorf("the end of %s: %q", form.Name, got)
			}
		}
		nodes.Back("a")
	}
	if err := os.RemoveAll(filepath.Join(dirs["a"], "orders")); err != nil { // a disk that was made again
		t.Fatal(err)
	}
	if got := fetched(t, a, x.Ref(), "site.example.phm", ""); !strings.HasPrefix(got, "PK") {
		t.Errorf("%.10q", got)
	}
	nodes.Over("a")
	if got := inDepot(t, folder); len(got) != 4 {
		t.Errorf("%q", got)
	}
	look := func() {
		if err := b.SetLimits(b.Limits()); err != nil { // of which all hear, and look around
			t.Fatal(err)
		}
	}
	days.Store(2)
	poll.Until(t, "what a node left on the way stays in the depot", func() bool {
		look()
		return !slices.Contains(inDepot(t, folder), stray)
	})
	if got := inDepot(t, folder); len(got) != 3 || !slices.Contains(got, unknown) {
		t.Errorf("%q: the archives of a known order, and of one that the keepers may have lost, have gone", got)
	}
	days.Store(60)
	poll.Until(t, "archives stay in the depot", func() bool {
		look()
		return len(inDepot(t, folder)) == 0
	})
	poll.Until(t, "b does not hear that it has expired", func() bool {
		return get(t, b, x.OrderID).State == orders.Expired
	})
}

// An archive of several parts is read as it was put, from each place on.
func TestArchiveReader(t *testing.T) {
	folder, err := objects.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, 3<<20+17)
	for i := range want {
		want[i] = byte(rnd.Uint32())
	}
	if _, err := folder.Put(t.Context(), "x", objects.Bytes(want), objects.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := orders.OpenArchive(t.Context(), folder, "x", 1); err == nil {
		t.Error("an object of another size was taken")
	}
	r, err := orders.OpenArchive(t.Context(), folder, "x", int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for range 50 {
		from := rnd.Int64N(int64(len(want)))
		n := min(rnd.Int64N(2<<20), int64(len(want))-from)
		if _, err := r.Seek(from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want[from:from+n]) {
			t.Fatalf("%d bytes from %d on: %v", n, from, err)
		}
	}
	if err := folder.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("an object that is gone was read")
	}
}
