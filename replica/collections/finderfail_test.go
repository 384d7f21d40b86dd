// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// brokenSpill is room that does not keep what it should: after so many calls, breaks says what becomes of the
// next one of its kind.
type brokenSpill struct {
	memorySpill
	kind  string
	after int
	calls int
}

func (s *brokenSpill) broken(kind string) bool {
	if s.kind != kind {
		return false
	}
	s.calls++
	return s.calls > s.after
}

func (s *brokenSpill) Create() (SpillFile, error) {
	if s.broken("create") {
		return nil, errSpill
	}
	r, err := s.memorySpill.Create()
	return &brokenRun{r, s}, err
}

type brokenRun struct {
	SpillFile
	s *brokenSpill
}

func (r *brokenRun) Write(b []byte) (int, error) {
	switch {
	case r.s.broken("write"):
		return 0, errSpill
	case r.s.broken("short write"):
		return r.SpillFile.Write(b[:len(b)/2])
	}
	return r.SpillFile.Write(b)
}

func (r *brokenRun) ReadAt(b []byte, off int64) (int, error) {
	switch {
	case r.s.broken("read"):
		return 0, errSpill
	case r.s.broken("short read"):
		return r.SpillFile.ReadAt(b[:len(b)/2], off)
	case r.s.broken("end"):
		return 0, io.EOF
	}
	return r.SpillFile.ReadAt(b, off)
}

func (r *brokenRun) Close() error {
	if r.s.broken("close") {
		return errors.Join(errSpill, r.SpillFile.Close())
	}
	return r.SpillFile.Close()
}

// Any failure at any time is reported, and nothing stays open. Nothing is ever found of half the pages.
func TestFinderBrokenRuns(t *testing.T) {
	pages, digests := generated(2200)
	run := func(s *brokenSpill) error {
		f := NewFinder(s, FinderOptions{Memory: 1})
		err := addAndFind(f, pages, digests)
		if err != nil {
			if err := f.Add(pages[0], digests[0]); err == nil {
				t.Errorf("%s: a page is taken after an error", s.kind)
			}
			if _, _, err := f.Find(); err == nil {
				t.Errorf("%s: found after an error", s.kind)
			}
		}
		err = errors.Join(err, f.Close())
		if s.open != 0 {
			t.Errorf("%s after %d calls: %d files open", s.kind, s.after, s.open)
		}
		return err
	}
	for kind, want := range map[string]error{
		"create": errSpill, "write": errSpill, "read": errSpill, "close": errSpill, "short write": io.ErrShortWrite,
		"short read": io.ErrUnexpectedEOF, "end": io.ErrUnexpectedEOF,
	} {
		all := &brokenSpill{kind: kind, after: math.MaxInt}
		if err := run(all); err != nil {
			t.Fatal(err)
		}
		if all.calls < 5 {
			t.Errorf("%s: %d calls", kind, all.calls)
		}
		for i := range 12 {
			s := &brokenSpill{kind: kind, after: (all.calls - 1) * i / 11}
			if err := run(s); !errors.Is(err, want) {
				t.Errorf("%s after %d of %d calls: %v", kind, s.after, all.calls, err)
			}
		}
	}
}

// It can be ended soon wherever it is: between two times that it tells of its progress few pages are gone
// through.
func TestFinderTells(t *testing.T) {
	n := 50_000
	if replicatest.Long() {
		n = 200_000
	}
	pages, digests := generated(n)
	spill := &countingSpill{}
	told, most := map[string]int{}, 0
	f := NewFinder(spill, FinderOptions{Memory: 4 << 20, Progress: func(phase string, done, total int) error {
		if done > total {
			t.Errorf("%s: %d of %d", phase, done, total)
		}
		told[phase]++
		most = max(most, spill.since)
		spill.since = 0
		return nil
	}})
	for i := range pages {
		if err := f.Add(pages[i], digests[i]); err != nil {
			t.Fatal(err)
		}
	}
	spill.since = 0
	if _, _, err := f.Find(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for phase, least := range map[string]int{
		"compare words":       1,
		"compare pages":       n / 2000,
		"read pages again":    1,
		"compare directories": 1,
	} {
		if told[phase] < least {
			t.Errorf("%s: told %d times", phase, told[phase])
		}
	}
	if most > 20<<20 {
		t.Errorf("%d MiB are read and written without a word, told %v", most>>20, told)
	}
}

// countingSpill counts bytes read and written.
type countingSpill struct {
	memorySpill
	since int
}

func (s *countingSpill) Create() (SpillFile, error) {
	r, err := s.memorySpill.Create()
	return &countingRun{r, s}, err
}

type countingRun struct {
	SpillFile
	s *countingSpill
}

func (r *countingRun) Write(b []byte) (int, error) {
	r.s.since += len(b)
	return r.SpillFile.Write(b)
}

func (r *countingRun) ReadAt(b []byte, off int64) (int, error) {
	r.s.since += len(b)
	return r.SpillFile.ReadAt(b, off)
}

// diskSpill makes files, and tells when they are read.
type diskSpill struct {
	t    *testing.T
	read func() error
}

func (s diskSpill) Create() (SpillFile, error) {
	f, err := os.CreateTemp(s.t.TempDir(), "run")
	return diskRun{f, s.read}, err
}

type diskRun struct {
	*os.File
	read func() error
}

func (r diskRun) ReadAt(b []byte, off int64) (int, error) {
	if err := r.read(); err != nil {
		return 0, err
	}
	return r.File.ReadAt(b, off)
}

// The memory is the budget, and 5 bytes a page, 64 a directory.
func TestFinderMemory(t *testing.T) {
	n, every := 20_000, 1024 // how often is looked
	if replicatest.Long() {
		n = 100_000
	}
	held := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, web := range []struct {
		name string
		page func(i int) (Address, text.ContentDigest)
		dirs int
		more int // of each sorted piece one record is held
	}{
		{"generated", generatedPage, n / perHost * 22, 0},
		{"one page under all names of two directories", func(i int) (Address, text.ContentDigest) {
			return Address{"h" + strconv.Itoa(i%2), "/dir/" + strconv.Itoa(i)}, text.ContentDigest{Words: 1, Text: 1}
		}, 10, 0},
		{"two large hosts that are the same", func(i int) (Address, text.ContentDigest) {
			_, d := generatedPage(i / 2)
			return Address{"h" + strconv.Itoa(i%2), "/doc/" + strconv.Itoa(i/1000) + "/" + strconv.Itoa(i/2)}, d
		}, n / 500, 0},
		{"a directory for each page", func(i int) (Address, text.ContentDigest) {
			_, d := generatedPage(i)
			return Address{"h", "/" + strconv.Itoa(i) + "/"}, d
		}, n / 20, 0},
		{"long paths", func(i int) (Address, text.ContentDigest) {
			_, d := generatedPage(i / 2)
			if i > n/10 { // the others are not alone
				d = text.ContentDigest{}
				return Address{"h", "/"}, d
			}
			return Address{"h" + strconv.Itoa(i%2), "/doc/" + strings.Repeat("long", 2000) + "/" + strconv.Itoa(i/2)},
				d
		}, 10, 0},
		{"longer paths", func(i int) (Address, text.ContentDigest) {
			_, d := generatedPage(i / 2)
			if i > n/20 {
				return Address{"h", "/"}, text.ContentDigest{}
			}
			return Address{"h" + strconv.Itoa(i%2), "/doc/" + strings.Repeat("long", 8300) + "/" + strconv.Itoa(i/2)},
				d
		}, 10, 2 << 20},
	} {
		const memory = 4 << 20
		base, most, tells := held(), 0, 0
		see := func() error {
			if tells++; tells%every == 0 {
				most = max(most, held()-base)
			}
			return nil
		}
		f := NewFinder(diskSpill{t, see}, FinderOptions{
			Memory:   memory,
			Progress: func(string, int, int) error { return see() },
		})
		for i := range n {
			if err := f.Add(web.page(i)); err != nil {
				t.Fatal(err)
			}
			if i%8000 == 0 {
				_ = see()
			}
		}
		if _, _, err := f.Find(); err != nil {
			t.Fatal(err)
		}
		const garbage = 4 << 20 // between two looks
		if allowed := memory + garbage + 5*n + 64*web.dirs + web.more; most > allowed {
			t.Errorf("%s: %d kB are held, %d allowed", web.name, most>>10, allowed>>10)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
