// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Texts come back as they were added: short and long ones, alike and not, over many blocks and chunks.
func TestTexts(t *testing.T) {
	t.Run("memory", func(t *testing.T) { readBack(t, new(List)) })
	t.Run("file", func(t *testing.T) {
		var list List
		f := useFile(t, &list)
		readBack(t, &list)
		if err := list.Err(); err != nil || f.writes < 20 || f.reads.Load() == 0 {
			t.Errorf("%d chunks written, %d blocks read: %v", f.writes, f.reads.Load(), err)
		}
		if err := list.Close(); err != nil || !f.closed {
			t.Error(f.closed, err)
		}
	})
	t.Run("full disk", func(t *testing.T) {
		var list List
		f := useFile(t, &list)
		f.most = 10
		readBack(t, &list)
		if err := list.Err(); err != nil || f.writes != f.most || f.reads.Load() == 0 {
			t.Errorf("%d chunks written, %d blocks read: %v", f.writes, f.reads.Load(), err)
		}
	})
	t.Run("no file", func(t *testing.T) {
		var list List
		list.UseFile(0, func() (File, error) { return nil, errDisk })
		readBack(t, &list)
		if err := errors.Join(list.Err(), list.Close()); err != nil {
			t.Error(err)
		}
	})
}

var errDisk = errors.New("disk")

// testFile is a file of which tests say what it does.
type testFile struct {
	*os.File
	writes, most  int // most of them are done
	reads         atomic.Int64
	closed, fails bool
	lies          bool
}

func useFile(t *testing.T, list *List) *testFile {
	f, err := os.Create(filepath.Join(t.TempDir(), "texts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	use := &testFile{File: f, most: 1 << 30}
	list.UseFile(1<<20, func() (File, error) { return use, nil })
	return use
}

func (f *testFile) WriteAt(b []byte, at int64) (int, error) {
	if f.writes == f.most {
		n, _ := f.File.WriteAt(b[:100], at)
		return n, errDisk
	}
	f.writes++
	return f.File.WriteAt(b, at)
}

func (f *testFile) ReadAt(b []byte, at int64) (int, error) {
	f.reads.Add(1)
	n, err := f.File.ReadAt(b, at)
	if f.lies {
		b[n/2] ^= 1
	}
	if f.fails {
		return 0, errDisk
	}
	return n, err
}

func (f *testFile) Close() error {
	f.closed = true
	return f.File.Close()
}

// What cannot be read is said, and is no other text; what was read before stays.
func TestUnreadable(t *testing.T) {
	for name, damage := range map[string]func(*testFile){
		"error": func(f *testFile) { f.fails = true },
		"lie":   func(f *testFile) { f.lies = true },
	} {
		t.Run(name, func(t *testing.T) {
			var list List
			f := useFile(t, &list)
			r := rand.New(rand.NewPCG(1, 2))
			for range 200_000 {
				list.Add(fmt.Appendf(nil, "http://host.example/%x", r.Uint64()))
			}
			first := string(list.Append(nil, 1))
			damage(f)
			var reader Reader
			for n := range uint32(40) {
				n++
				got := [2]string{string(list.Append(nil, n)), string(reader.Read(&list, n))}
				if want := [2]string{Unreadable, Unreadable}; n > textBlock && got != want || got[1] != Unreadable {
					t.Errorf("%d: %q", n, got)
				}
			}
			if got := string(list.Append(nil, 1)); got != first || !strings.HasPrefix(first, "http://host") {
				t.Errorf("%q, was %q", got, first)
			}
			if err := list.Err(); err == nil || (f.fails != errors.Is(err, errDisk)) {
				t.Error(err)
			}
		})
	}
}

func readBack(t *testing.T, list *List) {
	r := rand.New(rand.NewPCG(1, 2))
	var want [][]byte
	var numbers []uint32
	for i := range 20_000 {
		ends := [...]string{".html", ".html", "", "l", ".tar.gz.html"}
		b := fmt.Appendf(nil, "http://host%d.example/%s%s", i%3, strings.Repeat("p", r.IntN(300)), ends[r.IntN(5)])
		switch i % 1000 {
		case 0:
			b = bytes.Repeat([]byte{byte(i / 1000)}, textChunk/2)
		case 1:
			b = nil
		case 2:
			b = bytes.Clone(want[i-1]) // again
		}
		want = append(want, b)
		n := list.Add(b)
		if n == 0 {
			t.Fatal("number 0")
		}
		numbers = append(numbers, n)
	}
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for i, n := range numbers {
				if got := list.Append([]byte("x"), n); string(got[1:]) != string(want[i]) {
					t.Errorf("%d: %.40q, want %.40q", i, got[1:], want[i])
					return
				}
			}
		})
	}
	readers.Wait()
	var reader Reader
	for i, n := range numbers { // in order, with gaps, and back again
		for _, at := range []int{i, i - i%7, min(i+i%5, len(numbers)-1)} {
			if i%3 == 0 || at != i {
				n = numbers[at]
				if got := reader.Read(list, n); string(got) != string(want[at]) {
					t.Fatalf("read %d: %.40q, want %.40q", at, got, want[at])
				}
			}
		}
	}
	if got := list.Append(nil, 0); got != nil {
		t.Errorf("number 0 is %q", got)
	}
}

// Neighbours of one directory take a few bytes.
func TestTextsShare(t *testing.T) {
	var list List
	const n = 100_000
	for i := range n {
		list.Add(fmt.Appendf(nil, "https://www.example.org/some/folder/of/the/site/page-%d.html", i))
	}
	if got := list.Size(); got > 9*n {
		t.Errorf("%d bytes for %d URLs", got, n)
	}
}
