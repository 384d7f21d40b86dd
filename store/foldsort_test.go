// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"mirrord/internal/binread"
)

// The sorter returns what was added by key, and of one key in the order of the journal, and all of a key in
// one part.
func TestFoldSorter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		s, err := newFoldSorter(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer s.file.Close()
		s.run, s.block = rapid.IntRange(1, 400).Draw(rt, "run"), rapid.IntRange(1, 100).Draw(rt, "block")
		type item struct {
			key string
			at  uint32
			is  string
		}
		var want []item
		for at := range uint32(rapid.IntRange(1, 80).Draw(rt, "items")) {
			i := item{key: rapid.StringMatching("[a-c]{1,2}").Draw(rt, "key"), at: at}
			if rapid.Bool().Draw(rt, "done") {
				rec := strings.Repeat("r", rapid.IntRange(0, 60).Draw(rt, "record"))
				i.is = fmt.Sprintf("0 %q %q", rec, "head")
				err = s.addDone([]byte(i.key), at/10, at, []byte(rec), []byte("head"))
			} else {
				i.is = fmt.Sprintf("%d %d", at+8, at)
				err = s.addNew([]byte(i.key), at/10, at, at+7, &NewURL{Referrer: at})
			}
			if want = append(want, i); err != nil {
				rt.Fatal(err)
			}
		}
		slices.SortFunc(want, func(a, b item) int {
			return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at))
		})
		if err := s.merge(); err != nil {
			rt.Fatal(err)
		}
		var got []item
		n := rapid.IntRange(1, 10).Draw(rt, "part")
		for last, key := false, ""; !last; {
			p, err := s.part(n)
			if err != nil {
				rt.Fatal(err)
			}
			last = p.last
			taken := 0
			for rest := s.items; len(rest) > 0; taken++ {
				var i sortedItem
				if rest, err = i.read(rest); err != nil {
					rt.Fatal(err)
				}
				if string(i.key) <= key {
					rt.Fatalf("%q comes after %q, in another part", i.key, key)
				}
				d := binread.Reader{Rest: i.rest}
				is := fmt.Sprint(d.Uvarint())
				if is == "0" {
					is += fmt.Sprintf(" %q %q", d.Bytes(), d.Bytes())
				} else {
					is += fmt.Sprintf(" %d", d.Uvarint())
				}
				got = append(got, item{string(i.key), i.at, is})
			}
			if key = string(p.key); taken < n && !last {
				rt.Fatalf("%d items in a part of %d", taken, n)
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

// A sorter whose file cannot be written says so; one of which the file was changed is no part of a fold.
func TestFoldSorterDisk(t *testing.T) {
	filled := func(f *os.File) *foldSorter {
		s := &foldSorter{file: f, run: 1000, block: 100}
		for n := range uint32(100) {
			if err := s.addDone(fmt.Append(nil, "key", n), 0, n, []byte("record"), nil); err != nil {
				if !s.full || !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("full: %v, %v", s.full, err)
				}
				return nil
			}
		}
		return s
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if filled(full) != nil {
		t.Error("a full disk took all")
	}
	f, err := temporaryFile(t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := filled(f)
	for at := range s.size {
		for _, bit := range []byte{1, 0x80} {
			var b [1]byte
			if _, err := f.ReadAt(b[:], at); err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte{b[0] ^ bit}, at)
			c := &foldSorter{file: f, size: s.size, runs: slices.Clone(s.runs)}
			err := c.merge()
			for last := false; (err == nil) && !last; {
				var p foldPart
				p, err = c.part(10)
				last = p.last
			}
			if err == nil {
				t.Fatalf("byte %d was changed, and no error", at)
			}
			f.WriteAt(b[:], at)
		}
	}
}
