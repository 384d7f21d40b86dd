// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// memory is the records of a site: those of now and of one older version, by the numbers of their URLs.
type memory struct {
	packs     *bodies.Packs
	heads     *bodies.HeadFiles
	now, past map[uint32]record.Resource
	bodies    map[[32]byte][]byte
	dir       string
}

func (m *memory) Bodied(_ context.Context, f func(r *record.Resource, held bool) error) error {
	return m.Every(func(r *record.Resource) error {
		if r.Body == record.NoBody {
			return nil
		}
		return f(r, false)
	})
}

func (m *memory) Every(f func(r *record.Resource) error) error {
	return m.change(func(r *record.Resource, _ bool) error { return f(r) })
}

func (m *memory) change(f func(r *record.Resource, past bool) error) error {
	for n, of := range []map[uint32]record.Resource{m.now, m.past} {
		for _, id := range slices.Sorted(maps.Keys(of)) {
			r := of[id]
			if err := f(&r, n > 0); err != nil {
				return err
			}
			of[id] = r
		}
	}
	return nil
}

func (m *memory) BeginPack() error { return nil }

func (m *memory) Repoint(where func(record.Place) (record.Place, bool, error)) error {
	return m.change(func(r *record.Resource, _ bool) (err error) {
		if at, moved, werr := where(r.At); moved {
			r.At = at
		} else {
			err = werr
		}
		return err
	})
}

func (m *memory) BeginHeads(last uint32) error { return m.heads.Skip(last) }

func (m *memory) MoveHeads(move func(r *record.Resource, now record.HeadPlace) (bool, error)) error {
	err := m.change(func(r *record.Resource, past bool) error {
		var now record.HeadPlace
		if past {
			now = m.now[r.ID].Head
		}
		_, err := move(r, now)
		return err
	})
	_, ferr := m.heads.Flush()
	return errors.Join(err, ferr)
}

func testURL(id uint32) site.URL { return site.Canonical(fmt.Sprintf("http://a.test/%d", id)) }

// opened opens the packs and heads of a folder, of which memory says which parts are in use.
func (m *memory) opened(t *testing.T, dir string) {
	t.Helper()
	m.dir = dir
	if err := os.MkdirAll(filepath.Join(dir, "packs"), 0o755); err != nil {
		t.Fatal(err)
	}
	own, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	root, err := own.OpenRoot("packs")
	if err != nil {
		t.Fatal(err)
	}
	m.packs = bodies.Open(root, nil)
	m.packs.Max = 64 << 10
	nums, err := disk.NumbersIn(root, ".", bodies.PackName)
	num, size := uint32(1), int64(0)
	if n := len(nums); n > 0 && err == nil {
		num = nums[n-1]
		var fi os.FileInfo
		if fi, err = root.Stat(bodies.PackName(num)); err == nil {
			size = fi.Size()
		}
	}
	if err = errors.Join(err, m.packs.Begin(num, size)); err != nil {
		t.Fatal(err)
	}
	if m.heads, err = (&bodies.Frames{}).OpenHeads(own); err != nil {
		t.Fatal(err)
	}
	if err := m.heads.Begin(nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.packs.Close(); m.heads.Close() })
}

// of is what a Compactor is made of.
func (m *memory) of() Holdings {
	last, _ := m.packs.Where()
	return Holdings{
		Packs:   m.packs,
		Last:    last,
		Writer:  (&bodies.Frames{}).NewFrameWriter(),
		Heads:   m.heads,
		Records: m,
		Owned:   func() error { return nil },
		Step:    func(string) {},
	}
}

// keep stores a body for a URL, as a delta over what lies at old where that pays.
func (m *memory) keep(t *testing.T, of map[uint32]record.Resource, id uint32, body []byte, old record.Place) {
	t.Helper()
	f := &bodies.Frames{Packs: m.packs}
	r := record.Resource{
		ID:     id,
		URL:    testURL(id),
		Body:   record.PackBody,
		Digest: sha256.Sum256(body),
	}
	w := f.NewFrameWriter()
	meta := bodies.FrameMetaOf(&r)
	var err error
	if r.At, err = f.AppendFrameOver(w, meta, nil, body, old, record.Place{}); err == nil && r.At.Pack > 1<<20 {
		r.At, err = f.AppendFrame(w, meta, nil, body) // not with others
	}
	if err != nil {
		t.Fatal(err)
	}
	of[id], m.bodies[r.Digest] = r, body
}

// newMemory makes a site of URLs with two versions: documents of random bytes, most of them deltas in the
// second one.
func newMemory(t *testing.T, rng *rand.Rand) *memory {
	t.Helper()
	m := &memory{
		now:    map[uint32]record.Resource{},
		past:   map[uint32]record.Resource{},
		bodies: map[[32]byte][]byte{},
	}
	m.opened(t, t.TempDir())
	for id := range uint32(40) {
		body := make([]byte, 2000+rng.IntN(6000))
		for i := range body {
			body[i] = byte(rng.Uint32())
		}
		m.keep(t, m.past, id, body, record.Place{})
		m.keep(t, m.now, id, append(bytes.Clone(body), "more"...), m.past[id].At)
	}
	return m
}

// drop forgets the older version of some URLs, and all of others.
func (m *memory) drop(past, all func(id uint32) bool) {
	maps.DeleteFunc(m.past, func(id uint32, _ record.Resource) bool { return past(id) || all(id) })
	maps.DeleteFunc(m.now, func(id uint32, _ record.Resource) bool { return all(id) })
}

// check reads all documents that records refer to.
func (m *memory) check(t *testing.T) {
	t.Helper()
	r := bodies.NewFrameReader()
	err := m.Bodied(t.Context(), func(rec *record.Resource, _ bool) error {
		f, err := m.packs.ReadFrame(r, rec.At)
		if err == nil {
			err = f.Check(rec.ID, rec.Digest)
		}
		if err == nil && !bytes.Equal(f.Body, m.bodies[rec.Digest]) {
			err = errors.New("another body")
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", rec.URL, err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (m *memory) size(t *testing.T) (n int64) {
	t.Helper()
	uses, _, err := m.packs.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		n += u.Size
	}
	return n
}

func upTo(n uint32) func(uint32) bool { return func(id uint32) bool { return id < n } }

func none(uint32) bool { return false }

// What nothing refers to goes, as much as was said before, and the rest stays; nothing is left to do.
func TestCompactPacks(t *testing.T) {
	m := newMemory(t, rand.New(rand.NewPCG(1, 1)))
	m.drop(none, upTo(30))
	before := m.size(t)
	would, err := New(m.of()).CompactPacks(t.Context(), true)
	if err != nil || would.Packs == 0 || m.size(t) != before {
		t.Fatalf("%+v, %v", would, err)
	}
	did, err := New(m.of()).CompactPacks(t.Context(), false)
	if err != nil || did.Packs != would.Packs || did.Freed != before-m.size(t) {
		t.Errorf("%+v, said %+v; %d of %d bytes are left: %v", did, would, m.size(t), before, err)
	}
	m.check(t)
	if again, err := New(m.of()).CompactPacks(t.Context(), false); err != nil || again.Packs != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// Packs move one after the other, in any order, so that a delta may move twice, or out of a pack that is
// still to come.
func TestPacksMoveInAnyOrder(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 9))
		m := newMemory(t, rng)
		m.drop(func(id uint32) bool { return id%3 == 0 }, func(id uint32) bool { return id%5 == 0 })
		all := New(m.of())
		uses, held, err := all.byRecords(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		deltas, err := all.withBases(t.Context(), uses, held)
		if err != nil || len(deltas) == 0 || len(uses) < 3 {
			t.Fatalf("%d packs, %d deltas, %v", len(uses), len(deltas), err)
		}
		if err := m.packs.Finish(); err != nil {
			t.Fatal(err)
		}
		rng.Shuffle(len(uses), func(i, j int) { uses[i], uses[j] = uses[j], uses[i] })
		var c Compaction
		for _, u := range uses {
			if err := New(m.of()).movePack(t.Context(), u, deltas, &c); err != nil {
				t.Fatal(err)
			}
			m.check(t)
		}
		if c.Packs != len(uses) || len(c.Damaged) > 0 {
			t.Errorf("seed %d: %+v of %d packs", seed, c, len(uses))
		}
	}
}

// A kill between any two steps leaves documents that can be read, and a loss of ownership ends the work.
func TestCompactEndsAnywhere(t *testing.T) {
	m := newMemory(t, rand.New(rand.NewPCG(3, 3)))
	m.drop(upTo(25), upTo(20))
	var kills []*memory
	of := m.of()
	of.Step = func(string) {
		k := &memory{now: maps.Clone(m.now), past: maps.Clone(m.past), bodies: m.bodies}
		k.dir = t.TempDir()
		if err := os.CopyFS(k.dir, os.DirFS(m.dir)); err != nil {
			t.Fatal(err)
		}
		kills = append(kills, k)
	}
	if _, err := New(of).CompactPacks(t.Context(), false); err != nil || len(kills) < 4 {
		t.Fatalf("%d steps, %v", len(kills), err)
	}
	want := m.size(t)
	for _, k := range kills {
		k.opened(t, k.dir)
		k.check(t)
		if _, err := New(k.of()).CompactPacks(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		k.check(t)
		if got := k.size(t); got > want+want/4 {
			t.Errorf("%d bytes are left, of %d without a kill", got, want)
		}
	}
	m.drop(none, upTo(38))
	of, lost := m.of(), errors.New("lost")
	of.Owned = func() error { return lost }
	if _, err := New(of).CompactPacks(t.Context(), false); !errors.Is(err, lost) {
		t.Error(err)
	}
	m.check(t)
}

// No byte of a URL that is to go is left, although other documents were deltas over its own.
func TestGone(t *testing.T) {
	m := newMemory(t, rand.New(rand.NewPCG(4, 4)))
	secret := m.bodies[m.past[7].Digest]
	m.keep(t, m.now, 8, append([]byte("not it"), secret[400:]...), m.past[7].At)
	if under, err := m.packs.Under(m.now[8].At); len(under) != 1 || err != nil {
		t.Fatalf("no delta: %v, %v", under, err)
	}
	found := func() (n int) {
		files, err := filepath.Glob(filepath.Join(m.dir, "packs", "*"))
		for _, f := range files {
			raw, rerr := os.ReadFile(f)
			err = errors.Join(err, rerr)
			n += bytes.Count(raw, secret[100:300])
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if found() == 0 {
		t.Fatal("the bytes are not found before either")
	}
	m.drop(none, func(id uint32) bool { return id == 7 })
	of := m.of()
	of.Gone = map[uint32]bool{7: true}
	if _, err := New(of).CompactPacks(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	m.check(t)
	if n := found(); n > 0 {
		t.Errorf("%d times there", n)
	}
}

// Heads that are in use are written again into one file, those that two versions share once.
func TestCompactHeads(t *testing.T) {
	m := newMemory(t, rand.New(rand.NewPCG(5, 5)))
	head := func(id uint32, n int) *heads.Head {
		return &heads.Head{
			Status: "HTTP/1.1 200 OK",
			Fields: []heads.Field{{Name: "Etag", Value: fmt.Sprint(id, "-", n)}},
		}
	}
	for n := range 3 {
		for id, r := range m.now {
			p := m.past[id]
			p.Head = r.Head
			r.Head = m.heads.Add(testURL(id).String(), head(id, n))
			m.now[id], m.past[id] = r, p
		}
		if _, err := m.heads.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	m.drop(upTo(30), none)
	of := m.of()
	of.Gone = map[uint32]bool{} // however little it is
	freed, err := New(of).CompactHeads(t.Context(), false)
	if err != nil || freed <= 0 {
		t.Fatalf("%d bytes, %v", freed, err)
	}
	for id, r := range m.now {
		h, err := m.heads.Read(testURL(id).String(), r.Head)
		if err != nil || !h.Equal(head(id, 2)) {
			t.Errorf("%d: %v, %v", id, h, err)
		}
		p, is := m.past[id]
		if h, err := m.heads.Read(testURL(id).String(), p.Head); is && (err != nil || !h.Equal(head(id, 1))) {
			t.Errorf("%d before: %v, %v", id, h, err)
		}
	}
	if again, err := New(of).CompactHeads(t.Context(), false); err != nil || again != 0 {
		t.Errorf("again: %d, %v", again, err)
	}
}
