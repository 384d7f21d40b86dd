// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/collect"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// pastSite is a site of several versions, with what every version had.
type pastSite struct {
	t    testing.TB
	rng  *rand.Rand
	s    *Site
	want map[int]map[string]string // version -> URL -> body
	now  map[string]string
	n    int
	many bool // full frames are of many documents
}

const pastURLs = 12

// newPast publishes versions. Pages are large and do not compress, so that packs fill.
func newPast(t testing.TB, s *Site, rng *rand.Rand, versions int) *pastSite {
	return newPastOf(t, s, rng, versions, false)
}

func newPastOf(t testing.TB, s *Site, rng *rand.Rand, versions int, many bool) *pastSite {
	h := &pastSite{
		t:    t,
		rng:  rng,
		s:    s,
		want: map[int]map[string]string{},
		now:  map[string]string{},
		many: many,
	}
	s.Frames.Packs.Max = 128 << 10
	for range versions {
		h.version()
	}
	return h
}

// change commits another state of some URLs and folds it for the version to come.
func (h *pastSite) change() {
	h.t.Helper()
	var done []*record.Done
	for id := range pastURLs {
		if h.n > 0 && h.rng.IntN(3) > 0 {
			continue
		}
		body := fmt.Sprintf("%d of %d %x", id, h.n, random(5000+h.rng.IntN(20000), byte(h.rng.IntN(256))))
		var d *record.Done
		switch k := h.rng.IntN(6); {
		case k == 0 && h.n > 0 && h.now[testURL(id).String()] != "":
			r, _, err := h.s.Records.Get(testURL(id))
			if err != nil {
				h.t.Fatal(err)
			}
			r.InSet = false
			d = &record.Done{Resource: r}
			delete(h.now, testURL(id).String())
			done = append(done, d)
			continue
		case k < 3:
			d = blobOf(h.t, h.s, id, body)
		default:
			r, _, err := h.s.Records.Get(testURL(id))
			if err != nil || r.Body != record.PackBody || h.rng.IntN(4) == 0 {
				kept := document
				if h.many {
					kept = gathered
				}
				d = kept(h.t, h.s, id, body)
				break
			}
			if old := h.now[testURL(id).String()]; old != "" && h.rng.IntN(4) > 0 { // it changes a little
				body = body[:200] + old[min(len(old), h.rng.IntN(400)):]
			}
			d = documentOver(h.t, h.s, id, body, r.At)
		}
		d.Path = fmt.Sprintf("p%d.html", id)
		h.now[testURL(id).String()] = body
		done = append(done, d)
	}
	var news []record.NewURL
	first := pastURLs
	if h.n == 0 {
		news, first = newURLs(0, pastURLs), 0
	}
	commit(h.t, h.s, uint32(first), news, done...)
}

func (h *pastSite) version() {
	h.t.Helper()
	h.change()
	h.n++
	foldAll(h.t, h.s, h.n)
	tree, err := h.s.Trees.Build(trees.TreeRules{})
	if err != nil {
		h.t.Fatal(err)
	}
	defer tree.Close()
	if err := tree.Publish(record.Version{Number: h.n, Time: at(int64(1000 * h.n))}, nil); err != nil {
		h.t.Fatal(err)
	}
	h.want[h.n] = maps.Clone(h.now)
}

// check reads every version that is kept.
func (h *pastSite) check(s *Site) {
	h.t.Helper()
	for n, want := range h.want {
		p, err := s.Versions.Past(n)
		if err != nil {
			h.t.Errorf("version %d: %v", n, err)
			continue
		}
		got := map[string]string{}
		err = p.Resources(func(r *record.Resource, here bool) error {
			if !here || !r.InSet {
				return nil
			}
			body, err := bodyOf(s, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.URL, err)
			}
			got[r.URL.String()] = body
			return nil
		})
		if err != nil {
			h.t.Errorf("version %d: %v", n, err)
		} else if !maps.Equal(got, want) {
			h.t.Errorf("version %d has other bodies than it had", n)
		}
		checkChanges(h.t, s, p, got)
	}
	for id := range pastURLs {
		u := testURL(id)
		all, err := s.Versions.History(u)
		if err != nil || len(all) != len(h.want) {
			h.t.Fatalf("history of %s: %d entries of %d, %v", u, len(all), len(h.want), err)
		}
		for _, x := range all {
			body, in := h.want[x.Version.Number][u.String()]
			if got := x.Known && x.Record.InSet; got != in || (in && x.Record.Digest != sha256.Sum256([]byte(body))) {
				h.t.Errorf("history of %s: version %d has it: %v, want %v; digest %x", u, x.Version.Number, got, in,
					x.Record.Digest[:6])
			}
		}
	}
}

func bodyOf(s *Site, r *record.Resource) (string, error) {
	if r.Body == record.BlobBody {
		b, err := os.ReadFile(blobFile(s, r.Digest))
		return string(b), err
	}
	f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), r.At)
	return string(f.Body), err
}

func (h *pastSite) drop(n int) {
	h.t.Helper()
	if err := h.s.Versions.Drop(n); err != nil {
		h.t.Fatal(err)
	}
	delete(h.want, n)
}

// sizeOf adds up the files below a folder.
func sizeOf(t testing.TB, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			n += fi.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// usesOf says which places of the packs the versions have, and how many of these are deltas.
func usesOf(t testing.TB, s *Site) (uses []*bodies.PackUse, deltas int) {
	t.Helper()
	uses, byNum, err := s.Frames.Packs.List()
	if err == nil {
		err = s.Records.Bodied(t.Context(), func(r *record.Resource, _ bool) error {
			if r.Body == record.PackBody && r.InSet {
				byNum[r.At.Pack].Places = append(byNum[r.At.Pack].Places, r.At)
			}
			return nil
		})
	}
	if err = errors.Join(err, bodies.Measure(s.Frames.Packs, uses)); err != nil {
		t.Fatal(err)
	}
	for _, u := range uses {
		for _, at := range u.Places {
			if under, _ := s.Frames.Packs.Under(at); len(under) > 0 {
				deltas++
			}
		}
	}
	return uses, deltas
}

func deltasOf(t testing.TB, s *Site) int {
	t.Helper()
	_, deltas := usesOf(t, s)
	return deltas
}

func compact(t testing.TB, s *Site, dry bool) collect.Compaction {
	t.Helper()
	c, err := s.Compact(t.Context(), dry)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompactFreesWhatNothingRefersTo(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	h := newPast(t, s, rand.New(rand.NewPCG(1, 1)), 10)
	if c := compact(t, s, false); c.Packs != 0 {
		t.Errorf("nothing is dropped, but %+v", c)
	}
	for n := 1; n < 9; n++ {
		h.drop(n)
	}
	packs := filepath.Join(s.Dir, "packs")
	before := sizeOf(t, packs)
	would := compact(t, s, true)
	if sizeOf(t, packs) != before {
		t.Error("a dry call changed something")
	}
	did := compact(t, s, false)
	if did.Packs == 0 || did.Packs != would.Packs || did.Freed != would.Freed || did.Moved != would.Moved {
		t.Errorf("it did %+v and said %+v before", did, would)
	}
	if freed := before - sizeOf(t, packs); freed != did.Freed {
		t.Errorf("%d bytes are free, it says %d", freed, did.Freed)
	}
	h.check(s)
	verifyTest(t, s)
	if c := compact(t, s, false); c.Packs != 0 {
		t.Errorf("again: %+v", c)
	}
	// Runs continue as before, also after opening it again.
	h.version()
	closeTest(t, st, s)
	_, h.s = openTest(t, dir, Options{})
	h.version()
	h.check(h.s)
}

// Random histories, versions dropped, collections, new versions and reopening in any order: nothing that a
// kept version or an unfinished run refers to is ever lost.
func TestCollectNeverLosesAnythingInBulk(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(seed, 2))
			st, s := openTest(t, dir, Options{Volatile: true})
			h := newPastOf(t, s, rng, 3, seed%2 > 0)
			most := 0
			defer func() {
				if most == 0 {
					t.Error("no document was a delta")
				}
			}()
			for range 12 {
				switch rng.IntN(6) {
				case 5: // a run that was held back: its records are there, its version is not published
					h.change()
					foldAll(t, s, h.n+1)
				case 0:
					h.version()
				case 1, 2:
					if kept := slices.Sorted(maps.Keys(h.want)); len(kept) > 1 {
						h.drop(kept[rng.IntN(len(kept)-1)])
					}
				case 3:
					compact(t, s, false)
				case 4:
					h.change() // a run that is not finished
					pending := resourcesOfJournal(t, s)
					compact(t, s, false)
					closeTest(t, st, s)
					collectBlobs(t, dir)
					st, s = openTest(t, dir, Options{Volatile: true})
					h.s = s
					s.Frames.Packs.Max = 256 << 10
					for _, r := range pending {
						if _, err := bodyOf(s, &r); r.InSet && err != nil {
							t.Errorf("the unfinished run lost %s: %v", r.URL, err)
						}
					}
					h.version()
				}
				h.check(s)
				most = max(most, deltasOf(t, s))
			}
			verifyTest(t, s)
		})
	}
}

func resourcesOfJournal(t testing.TB, s *Site) (out []record.Resource) {
	t.Helper()
	err := s.Records.Replay(func(uint32, record.NewURL) error {
		return nil
	}, func(r *record.Resource, _ []byte, _ bool) error {
		out = append(out, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func collectBlobs(t testing.TB, dir string) blobs.BlobsFreed {
	t.Helper()
	st, err := OpenState(dir, Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f, err := st.CollectBlobs(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A kill at any step of a compaction leaves a site in which every version is whole, and the next compaction
// frees the same.
func TestCompactKilledAnywhere(t *testing.T) {
	for _, many := range []bool{false, true} {
		t.Run(fmt.Sprint("many ", many), func(t *testing.T) { compactKilledAnywhere(t, many) })
	}
}

func compactKilledAnywhere(t *testing.T, many bool) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{Volatile: true})
	h := newPastOf(t, s, rand.New(rand.NewPCG(3, 22)), 10, many) // with which all steps come about
	for n := 1; n < 10; n++ {
		if n != 5 {
			h.drop(n)
		}
	}
	if deltasOf(t, s) == 0 {
		t.Fatal("no document in use is a delta")
	}
	type kill struct{ step, dir string }
	var kills []kill
	s.Records.FoldItems = 20
	s.Step = func(step string) { kills = append(kills, kill{step, copyState(t, dir)}) }
	compact(t, s, false)
	s.Step = nil
	want := sizeOf(t, filepath.Join(s.Dir, "packs"))
	steps := map[string]bool{}
	for _, k := range kills {
		steps[k.step] = true
		t.Run(k.step, func(t *testing.T) {
			_, s := openTest(t, k.dir, Options{Volatile: true})
			s.Frames.Packs.Max = 256 << 10
			h := &pastSite{
				t:    t,
				rng:  rand.New(rand.NewPCG(4, 4)),
				s:    s,
				want: maps.Clone(h.want),
				now:  maps.Clone(h.now),
				n:    h.n,
				many: h.many,
			}
			h.check(s)
			compact(t, s, false)
			h.check(s)
			limit := want + want/10
			if k.step == "some records changed" { // a base of which only some deltas were moved is there twice
				limit = want + want/4
			}
			if got := sizeOf(t, filepath.Join(s.Dir, "packs")); got > limit {
				t.Errorf("the packs have %d bytes after another compaction, want at most %d", got, limit)
			}
			h.version()
			h.check(s)
		})
	}
	for _, step := range []string{
		"pack ended", "frames copied", "some records changed", "records moved", "pack removed",
	} {
		if !steps[step] && (step != "pack ended" || !many) {
			t.Errorf("no kill at %q", step)
		}
	}
}

func TestCompactLeavesDamagedPacks(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{Volatile: true})
	h := newPast(t, s, rand.New(rand.NewPCG(5, 1)), 8)
	for n := 1; n < 8; n++ {
		h.drop(n)
	}
	uses, _ := usesOf(t, s)
	var damaged record.Place
	for _, u := range uses {
		for _, at := range u.Places {
			if under, _ := s.Frames.Packs.Under(at); len(under) == 0 && float64(u.Live) < 0.6*float64(u.Size) {
				damaged = at
			}
		}
	}
	name := filepath.Join(s.Dir, "packs", bodies.PackName(damaged.Pack))
	raw, err := os.ReadFile(name)
	if err != nil || damaged.Pack == 0 {
		t.Fatal(damaged, err)
	}
	raw[damaged.Off+int64(damaged.Len)-1] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
	c := compact(t, s, false)
	if !slices.Equal(c.Damaged, []string{bodies.PackName(damaged.Pack)}) || c.Packs == 0 {
		t.Errorf("%+v, want %s left as it is and others emptied", c, bodies.PackName(damaged.Pack))
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
	raw[damaged.Off+int64(damaged.Len)-1] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
	h.check(s)
}

func TestCompactEndsWithItsContext(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	h := newPast(t, s, rand.New(rand.NewPCG(6, 6)), 6)
	for n := 1; n < 6; n++ {
		h.drop(n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Step = func(string) { cancel() }
	if _, err := s.Compact(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Step = nil
	h.check(s)
}
