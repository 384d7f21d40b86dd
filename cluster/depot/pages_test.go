// SPDX-License-Identifier: Apache-2.0

package depot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/cluster/depot"
	"mirrord/cluster/objects"
	"mirrord/store"
	"mirrord/store/pages"
	"mirrord/testing/objectstest"
)

// pageList lists pages as some pieces, regardless of the site.
type pageList struct {
	pieces []string
	calls  int
	fail   error
}

var listed = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func (l *pageList) list(_ context.Context, _ *store.Travelling, put func([]byte) error) (time.Time, error) {
	l.calls++
	for _, p := range l.pieces {
		if err := put([]byte(p)); err != nil {
			return listed, err
		}
	}
	return listed, l.fail
}

// pageDepot is a machine whose site goes to a depot with a list of its pages.
type pageDepot struct {
	*machine
	pageList
	t     *testing.T
	store objects.Store
	open  func(s objects.Store) *depot.Depot
}

func newPageDepot(t *testing.T, s objects.Store) *pageDepot {
	p := &pageDepot{machine: newMachine(t), t: t, store: s}
	p.open = func(s objects.Store) *depot.Depot { return openDepot(t, s) }
	for i := range 20 {
		p.pieces = append(p.pieces, noise(10_000, 5000+i))
	}
	p.web.Set(origin+"/large.bin", file("application/octet-stream", "small"))
	p.Run()
	p.digest()
	return p
}

// digest adds an entry to the site's file of digests, as a search for replicas does.
func (p *pageDepot) digest() {
	p.t.Helper()
	st := openState(p.t, p.Dir)
	defer st.Close()
	s, err := st.OpenSite("test")
	if err != nil {
		p.t.Fatal(err)
	}
	d, err := s.Pages().Digests()
	if err == nil {
		_, err = d.Append(&pages.PageDigest{ID: d.Len()})
		err = errors.Join(err, d.Close(), s.Close())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pageDepot) in(lister depot.PageLister) *depot.CheckedIn {
	p.t.Helper()
	st := openState(p.t, p.Dir)
	defer st.Close()
	c, err := p.open(p.store).Checkin(p.t.Context(), st, "test", depot.In{Pages: lister})
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *pageDepot) read(s objects.Store, known int) (version int, list string, digests []byte, err error) {
	l, err := depot.ReadPages(p.t.Context(), p.open(s), "test", p.t.TempDir(),
		func(l *depot.PageList) bool { return l.Version == known },
		func(from, entries *os.File) error {
			b, err := io.ReadAll(from)
			list = string(b)
			if entries != nil {
				digests, err = io.ReadAll(entries)
			}
			return err
		})
	if err != nil {
		return 0, "", nil, err
	}
	if !l.Retrieved.Equal(listed) {
		p.t.Errorf("retrieved %s", l.Retrieved)
	}
	return l.Version, list, digests, nil
}

// must reads the list, which is that of a version.
func (p *pageDepot) must(version int) {
	p.t.Helper()
	got, list, digests, err := p.read(p.store, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	if got != version || list != strings.Join(p.pieces, "") {
		p.t.Errorf("version %d, %d bytes", got, len(list))
	}
	want, err := os.ReadFile(filepath.Join(p.Dir, "sites", "test", pages.DigestsFile))
	if err != nil || !bytes.Equal(digests, want) {
		p.t.Errorf("%d bytes of digests, want %d; %v", len(digests), len(want), err)
	}
}

// A list of pages goes to the depot with a site, and only there: its new pieces when the version is
// another one, and nothing when it is known.
func TestPages(t *testing.T) {
	t.Parallel()
	keepers := newKept(t)
	for name, s := range map[string]objects.Store{
		"folder":  folder(t),
		"S3":      objectstest.OpenS3(t, objectstest.Serve(t, nil), "some/where"),
		"keepers": keepers.store,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPageDepot(t, s)
			if name == "keepers" {
				p.open = keepers.open
			}
			p.in(p.list)
			p.must(1)
			if _, list, _, err := p.read(s, 1); err != nil || list != "" {
				t.Errorf("a list that is known: %d bytes, %v", len(list), err)
			}
			p.Run()
			if c := p.in(p.list); c.Unchanged || c.Version != 1 || p.calls != 1 {
				t.Errorf("a run without changes: %+v, %d lists", c, p.calls)
			}
			p.must(1)
			p.change(1)
			p.pieces[7] = noise(9_000, 6000)
			p.pieces = slices.Insert(p.pieces, 3, noise(8_000, 6001))
			list := p.in(p.list)
			p.must(2)
			if name != "folder" {
				return
			}
			p.change(2)
			without := p.in(nil) // as an older program does
			if more := list.Sent - without.Sent; more > 25_000 {
				t.Errorf("17 kB of 200 kB were new, and %d bytes went", more)
			}
			if _, _, _, err := p.read(s, 0); !errors.Is(err, depot.ErrNoPages) {
				t.Errorf("without a list: %v", err)
			}
			other := filepath.Join(t.TempDir(), "other")
			mustCheckout(t, s, other)
			sameTree(t, p.Dir, other)
			p.Run()
			p.in(p.list)
			p.must(3)
			p.change(3)
			p.fail = errors.New("no pages")
			if c := p.in(p.list); c.Version != 4 {
				t.Errorf("the list failed: %+v", c)
			}
			if _, _, _, err := p.read(s, 0); !errors.Is(err, depot.ErrNoPages) {
				t.Errorf("the list failed: %v", err)
			}
		})
	}
}

// Lists are removed with what nothing refers to. One whose check-in is replaced, and removed, while it is
// read is not missed: the next one is read.
func TestPagesCollected(t *testing.T) {
	t.Parallel()
	s := folder(t)
	p := newPageDepot(t, s)
	p.in(p.list)
	collect := func() {
		for range 2 {
			d, err := depot.Open(t.Context(), depot.Options{Store: s, Epoch: noTime})
			if err == nil {
				_, err = d.Collect(t.Context(), false)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	collect()
	p.must(1)
	objects := len(listing(t, s))
	for _, when := range []string{"manifests/", "data/"} {
		moved := false
		f := &objectstest.Faulty{Store: s, Decide: func(_ int, op, name string) objectstest.Failure {
			if op == "get" && strings.HasPrefix(name, when) && !moved {
				moved = true
				for i := range p.pieces {
					p.pieces[i] = noise(10_000, 7000+100*len(when)+i)
				}
				p.change(len(when))
				p.in(p.list)
				collect()
			}
			return objectstest.None
		}}
		version, list, _, err := p.read(f, 0)
		if err != nil || !moved || version < 2 || list != strings.Join(p.pieces, "") {
			t.Errorf("%s: version %d, %d bytes, %v", when, version, len(list), err)
		}
	}
	whole(t, s)
	if now := len(listing(t, s)); now > objects+8 {
		t.Errorf("%d objects, %d at first", now, objects)
	}
}

// Truncated, damaged and missing objects are reported with the site.
func TestPagesDamaged(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "depot")
	s, err := objects.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := newPageDepot(t, s)
	p.in(nil)
	before := listing(t, s)
	p.change(1)
	p.in(p.list)
	file := ""
	for name := range listing(t, s) {
		if _, had := before[name]; !had && strings.HasPrefix(name, "data/") {
			file = filepath.Join(dir, name)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil || len(b) < 100_000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	bad := bytes.Clone(b)
	for i := range bad {
		bad[i] ^= 0x20
	}
	for what, c := range map[string]struct {
		now  []byte // nil: it is gone
		want error
	}{
		"cut off": {b[:len(b)/2], depot.ErrDamaged},
		"damaged": {bad, depot.ErrDamaged},
		"gone":    {nil, depot.ErrLost},
	} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if c.now != nil {
			if err := os.WriteFile(file, c.now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, _, _, err := p.read(s, 0)
		if !errors.Is(err, c.want) || !strings.HasPrefix(fmt.Sprint(err), "pages of test: ") {
			t.Errorf("%s: %v", what, err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.must(2)
}
