// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/mirror/render"
	"mirrord/replica/collections"
	"mirrord/store"
	"mirrord/store/pages"
	"mirrord/testing/apptest"
	"mirrord/testing/objectstest"
)

// depotNodes are nodes of a cluster with a depot, to which their mirrors go.
type depotNodes struct {
	*replicaNodes
	dir   string
	depot *depot.Depot
	asked []string // what nodes were asked of single mirrors
}

func newDepotNodes(t *testing.T) *depotNodes {
	t.Helper()
	n := &depotNodes{replicaNodes: newReplicaNodes(t), dir: filepath.Join(t.TempDir(), "depot")}
	s, err := objects.OpenFolder(n.dir)
	if err != nil {
		t.Fatal(err)
	}
	if n.depot, err = depot.Open(t.Context(), depot.Options{Store: s, Machine: "m", Create: true}); err != nil {
		t.Fatal(err)
	}
	for site, node := range n.sites {
		n.in(t, site, replicas.PageLister(n.faces[node].here.State, n.faces[node].here.Log))
		n.faces[node].Depot = n.depot
		say := n.nodes[node]
		n.nodes[node] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if name, ok := strings.CutPrefix(r.URL.Path, replicasPath+"/"); ok {
				n.mu.Lock()
				n.asked = append(n.asked, name)
				n.mu.Unlock()
			}
			say.ServeHTTP(w, r)
		})
	}
	return n
}

// in checks a site in from its node.
func (n *depotNodes) in(t *testing.T, site string, l depot.PageLister) {
	t.Helper()
	st := n.faces[n.sites[site]].here.State
	if _, err := n.depot.Checkin(t.Context(), st, site, depot.In{Pages: l}); err != nil {
		t.Fatal(err)
	}
}

// lister is that of the node that has a site.
func (n *depotNodes) lister(site string) depot.PageLister {
	c := n.faces[n.sites[site]]
	return replicas.PageLister(c.here.State, c.here.Log)
}

// depotSaid is what a report says of the depot.
func depotSaid(t *testing.T, r *replicas.Replicas) replicas.ReplicaNode {
	t.Helper()
	i := slices.IndexFunc(r.Elsewhere, func(n replicas.ReplicaNode) bool { return n.Depot })
	if i < 0 {
		t.Fatalf("nothing of the depot: %+v", r.Elsewhere)
	}
	return r.Elsewhere[i]
}

// The later of two versions is that of the later time, and within a second that of the greater number: a
// mirror that was begun again counts from 1.
func TestPublishedAfter(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	old := env.PublishedAs{Version: 7, Retrieved: at}
	for p, want := range map[env.PublishedAs]bool{
		{Version: 8, Retrieved: at}:                   true,
		{Version: 7, Retrieved: at}:                   false,
		{Version: 6, Retrieved: at}:                   false,
		{Version: 1, Retrieved: at.Add(time.Second)}:  true,
		{Version: 8, Retrieved: at.Add(-time.Second)}: false,
	} {
		if got := p.After(old); got != want {
			t.Errorf("%v after %v: %v", p, old, got)
		}
	}
}

// The replicas of a node that is gone for good are found by one that never asked it: its mirrors are in the
// depot. No node is asked for mirrors that the depot has, and nothing is read twice.
func TestReplicasFromDepot(t *testing.T) {
	n := newDepotNodes(t)
	alone := n.find(t, "")
	n.faces["b"].Close()
	for _, node := range []string{"c", "a"} {
		r := n.find(t, node)
		if !reflect.DeepEqual(r.Clusters, alone.Clusters) || r.Pages != alone.Pages || len(r.Hosts) != 1 {
			t.Errorf("%s: %+v\nwant %+v", node, r.Clusters, alone.Clusters)
		}
		d := depotSaid(t, r)
		if d.Jobs != 2 || d.AsOf == nil || d.Away != "" || len(d.Missing)+len(d.Behind) > 0 ||
			!strings.HasPrefix(d.Line(), "the depot: 2 mirrors, as of ") {
			t.Errorf("%s: %+v", node, d)
		}
	}
	if len(n.asked) > 0 {
		t.Errorf("nodes were asked for %v", n.asked)
	}
	file := filepath.Join(apptest.StateOf(t, n.apps["c"]), env.ElsewhereFolder, "x")
	first, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	n.run(t, "a", "x") // nothing new
	n.in(t, "x", n.lister("x"))
	n.find(t, "c")
	if again, err := os.Stat(file); err != nil || !os.SameFile(first, again) {
		t.Errorf("the digests came once more: %v", err)
	}

	// An older program checks in a new version, which its node reports; then one without a node.
	n.manuals["x"].pages.Store(16)
	n.run(t, "a", "x")
	if r := n.find(t, "c"); r.Pages != alone.Pages+2 || !slices.Equal(n.asked, []string{"x"}) {
		t.Errorf("a newer version on its node: %d pages, asked for %v", r.Pages, n.asked)
	}
	n.in(t, "x", nil)
	n.manuals["x"].pages.Store(17)
	n.run(t, "a", "x")
	if r := n.find(t, "c"); r.Pages != alone.Pages+3 || len(n.asked) != 2 {
		t.Errorf("no list in the depot: %d pages, asked for %v", r.Pages, n.asked)
	}
	n.in(t, "x", n.lister("x"))
	n.faces["a"].Close()
	if r := n.find(t, "c"); r.Pages != alone.Pages+3 || depotSaid(t, r).Jobs != 2 || len(n.asked) != 2 {
		t.Errorf("no node answers: %d pages, %+v, asked for %v", r.Pages, r.Elsewhere, n.asked)
	}
}

// A mirror whose list cannot be read is left out, with the reason, unless its node answers. The others are
// compared.
func TestReplicasFromDamagedDepot(t *testing.T) {
	n := newDepotNodes(t)
	whole := n.find(t, "")
	spoil := func(site string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(n.dir, "data", site, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err == nil {
				err = errors.Join(os.Remove(file), os.WriteFile(file, b[:len(b)/2], 0o644))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil("x")
	spoil("y")
	n.faces["b"].Close()
	r := n.find(t, "c")
	d := depotSaid(t, r)
	if d.Jobs != 0 || !strings.Contains(d.Away, "y: pages of y: data/y/") ||
		!strings.Contains(d.Away, "damaged") {
		t.Errorf("%+v", d)
	}
	last := r.Elsewhere[len(r.Elsewhere)-1]
	if last.Node != "" || last.Depot || !slices.Equal(last.Missing, []string{"y"}) {
		t.Errorf("%+v", r.Elsewhere)
	}
	if !slices.Equal(n.asked, []string{"x"}) || r.Pages != 2+15 {
		t.Errorf("%d pages, asked for %v", r.Pages, n.asked)
	}
	if _, err := n.depot.Checkin(t.Context(), n.faces["b"].here.State, "y", depot.In{
		Again: true,
		Pages: n.lister("y"),
	}); err != nil {
		t.Fatal(err)
	}
	if r := n.find(t, "c"); !reflect.DeepEqual(r.Clusters, whole.Clusters) || depotSaid(t, r).Jobs != 2 {
		t.Errorf("put again: %+v", r.Elsewhere)
	}
	// fetched digests count while the depot is away
	away := &objectstest.Faulty{Store: n.depot.Store}
	away.Decide = func(_ int, op, _ string) objectstest.Failure {
		if op == "list" {
			return objectstest.Before
		}
		return objectstest.None
	}
	d2, err := depot.Open(t.Context(), depot.Options{Store: away})
	if err != nil {
		t.Fatal(err)
	}
	n.faces["c"].Depot = d2
	r = n.find(t, "c")
	if d := depotSaid(t, r); d.Away == "" || d.Jobs != 2 || !reflect.DeepEqual(r.Clusters, whole.Clusters) {
		t.Errorf("the depot is away: %+v", r.Elsewhere)
	}
}

// The list of a mirror's pages says, with its digests, what the node that has it says. Pages whose digests
// are not kept stand in the list, and are kept for the next one.
func TestPageList(t *testing.T) {
	m := new(manual)
	m.pages.Store(14)
	srv := httptest.NewServer(m)
	defer srv.Close()
	dir := t.TempDir()
	apptest.RunMirror(t, dir, "x", srv.URL)
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var want bytes.Buffer
	if err := replicas.WriteSiteDigests(t.Context(), &want, st, "x"); err != nil {
		t.Fatal(err)
	}
	list := func() (list []byte, digests *os.File) {
		t.Helper()
		tr, err := store.OpenTravelling(st, "x")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tr.Close() })
		at, err := replicas.ListPages(t.Context(), st, tr, func(piece []byte) error {
			list = append(list, piece...)
			return nil
		})
		meta, merr := render.PublishedMeta(st, "x")
		if err = errors.Join(err, merr); err != nil || !at.Equal(meta.Retrieved) {
			t.Fatalf("%s, %v", at, err)
		}
		for i := range tr.Files {
			if tr.Files[i].Name == pages.DigestsFile {
				digests = tr.Files[i].File
			}
		}
		return list, digests
	}
	say := func(list []byte, digests *os.File) error {
		var got bytes.Buffer
		if err := replicas.SayPages(&got, bytes.NewReader(list), digests); err != nil {
			return err
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Error("it says something else")
		}
		return nil
	}
	short, digests := list()
	if err := say(short, digests); err != nil || len(short) > 15*40 {
		t.Errorf("%d bytes, %v", len(short), err)
	}
	for n := range short {
		if err := say(short[:n], digests); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut off at %d: %v", n, err)
		}
		bad := bytes.Clone(short)
		bad[n] ^= 0x01
		if err := say(bad, digests); err == nil {
			t.Fatalf("byte %d is another", n)
		}
	}
	if err := say(short, nil); !errors.Is(err, replicas.ErrSpoiltDigests) {
		t.Errorf("without digests: %v", err)
	}
	file := filepath.Join(st.Dir, "sites", "x", pages.DigestsFile)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	long, digests := list()
	if err := say(long, digests); err != nil || len(long) < 14*140 {
		t.Errorf("no digests are kept: %d bytes, %v", len(long), err)
	}
	if again, digests := list(); len(again) != len(short) || say(again, digests) != nil {
		t.Errorf("the next list has %d bytes, want %d", len(again), len(short))
	}
}

// Pieces of a list do not depend on those before them.
func TestPageListPieces(t *testing.T) {
	pieces := func(leave int) (out []string) {
		w := replicas.NewPageListWriter(func(piece []byte) error {
			out = append(out, string(piece))
			return nil
		})
		var d replicas.PageSaid
		for i := range 5000 {
			if i == leave {
				continue
			}
			at := collections.Address{Host: "www.example.org", Path: "/a/" + strings.Repeat("x", i%7) + "/" +
				time.Unix(int64(i), 0).UTC().Format("15-04-05")}
			if err := w.Add(at, time.Time{}, &d.Digest, uint32(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all, without := pieces(-1), pieces(2500)
	other := 0
	for _, p := range without {
		if !slices.Contains(all, p) {
			other++
		}
	}
	if len(all) < 8 || other < 2 || other > 3 { // its piece, perhaps one more, and the end
		t.Errorf("%d of %d pieces are others", other, len(all))
	}
}

// BenchmarkPageList is what a list costs with a check-in, for a mirror of MIRRORD_LIST_PAGES pages: its bytes
// when it is new, when one page of a hundred was changed, and when one was.
func BenchmarkPageList(b *testing.B) {
	pages := 500
	if s := os.Getenv("MIRRORD_LIST_PAGES"); s != "" {
		var err error
		if pages, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	var step atomic.Int64 // 1: one page of a hundred has other words; 2: and one more page
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Last-Modified", "Mon, 01 Jun 2026 12:00:00 GMT")
		n := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/section-%d", &n); err != nil {
			for i := range pages {
				fmt.Fprintf(w, "<a href=/section-%03d/chapter-%05d.html>%d</a>\n", i%101, i, i)
			}
			return
		}
		_, _ = fmt.Sscanf(path.Base(r.URL.Path), "chapter-%d", &n) // else it is page 0
		seed := 0
		if k := step.Load(); (k > 0 && n%100 == 0) || (k > 1 && n == 77) {
			seed = 1
			w.Header().Set("Last-Modified", "Tue, 02 Jun 2026 12:00:00 GMT")
		}
		rng := rand.New(rand.NewPCG(uint64(n), uint64(seed)))
		for range 300 {
			fmt.Fprintf(w, " word%d", rng.IntN(20_000))
		}
	}))
	defer srv.Close()
	dir := b.TempDir()
	a := apptest.TestApp(dir)
	a.Jobs = b.TempDir()
	job := fmt.Sprintf("url = %q\npolite.delay = \"0s\"\npolite.factor = 0\npolite.connections = 16\n",
		srv.URL+"/")
	if err := os.WriteFile(filepath.Join(a.Jobs, "x.toml"), []byte(job), 0o644); err != nil {
		b.Fatal(err)
	}
	depots := map[bool]*depot.Depot{}
	for _, lists := range []bool{true, false} {
		s, err := objects.OpenFolder(filepath.Join(b.TempDir(), "depot"))
		if err == nil {
			depots[lists], err = depot.Open(b.Context(), depot.Options{Store: s, Create: true})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	st, err := a.MakeState()
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	lister := replicas.PageLister(st, a.Log)
	for k := range int64(4) { // the last one changes nothing
		step.Store(k)
		if _, err := runs.RunNow(b.Context(), a, runs.RunHere{Job: "x"}); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		with, err := depots[true].Checkin(b.Context(), st, "x", depot.In{Pages: lister})
		if err != nil {
			b.Fatal(err)
		}
		took, began := time.Since(began), time.Now()
		without, err := depots[false].Checkin(b.Context(), st, "x", depot.In{})
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("step %d: version %d; %d bytes sent in %v, %d in %v without lists", k, with.Version, with.Sent, took,
			without.Sent, time.Since(began))
	}
	bytes := 0
	for b.Loop() {
		t, err := store.OpenTravelling(st, "x")
		if err != nil {
			b.Fatal(err)
		}
		bytes = 0
		_, err = replicas.ListPages(b.Context(), st, t, func(piece []byte) error {
			bytes += len(piece)
			return nil
		})
		if err = errors.Join(err, t.Close()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(bytes)/float64(pages), "B/page")
}
