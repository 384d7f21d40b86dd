// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"mirrord/store/disk"
	"sync"
	"testing"
	"time"
)

// Contract is what blobs.Blobs promises of bodies, and Bodies too.
type Contract interface {
	Stat(digest [32]byte) (disk.FileStat, error)
	Put(digest [32]byte, body []byte, modified time.Time) error
	Open(digest [32]byte, n int64) (io.ReadCloser, error)
	Delete(digest [32]byte) error
}

// TestBodies holds an implementation to the contract. open makes one with nothing in it.
func TestBodies(t *testing.T, open func(t *testing.T) Contract) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, b Contract)
	}{
		{"missing", bodiesMissing},
		{"ranges", bodiesRanges},
		{"put twice", bodiesTwice},
		{"delete", bodiesDelete},
		{"many at a time", bodiesMany},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

// bytesOf makes a body that is like no other.
func bytesOf(n int, seed byte) []byte {
	out := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(out)
	return out
}

func put(t *testing.T, b Contract, data []byte, modified int64) [32]byte {
	t.Helper()
	d := sha256.Sum256(data)
	if err := b.Put(d, data, time.Unix(modified, 0)); err != nil {
		t.Fatal(err)
	}
	if s, ok := b.(interface{ Sync() error }); ok {
		if err := s.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func read(t *testing.T, b Contract, d [32]byte, n int64) []byte {
	t.Helper()
	r, err := b.Open(d, n)
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantMissing(t *testing.T, b Contract, d [32]byte) {
	t.Helper()
	if _, err := b.Stat(d); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
	if _, err := b.Open(d, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open: %v", err)
	}
}

func bodiesMissing(t *testing.T, b Contract) {
	d := sha256.Sum256([]byte("x"))
	wantMissing(t, b, d)
	if err := b.Delete(d); err != nil {
		t.Error(err)
	}
	put(t, b, []byte("y"), 1)
	wantMissing(t, b, d)
}

func bodiesRanges(t *testing.T, b Contract) {
	for _, size := range []int64{0, 1, 100_003} {
		data := bytesOf(int(size), 1)
		d := put(t, b, data, 1234567890)
		fi, err := b.Stat(d)
		if err != nil || !fi.Regular || fi.Size != size || !fi.Time.Equal(time.Unix(1234567890, 0)) {
			t.Errorf("%d bytes: %+v, %v", size, fi, err)
		}
		for _, n := range []int64{-1, 0, 1, size / 3, size, size + 1} {
			want := data
			if n >= 0 {
				want = data[:min(n, size)]
			}
			if got := read(t, b, d, n); !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d: %d that are other ones", n, size, len(got))
			}
		}
	}
}

func bodiesTwice(t *testing.T, b Contract) {
	data := bytesOf(1000, 2)
	want := bytes.Clone(data)
	d := put(t, b, data, 5)
	put(t, b, data, 6)
	clear(data) // it is the caller's
	if got := read(t, b, d, -1); !bytes.Equal(got, want) {
		t.Error("other bytes")
	}
	if fi, err := b.Stat(d); err != nil || !fi.Time.Equal(time.Unix(5, 0)) {
		t.Errorf("%+v, %v", fi, err)
	}
}

func bodiesDelete(t *testing.T, b Contract) {
	data := bytesOf(200_000, 3)
	d := put(t, b, data, 1)
	other := put(t, b, bytesOf(10, 4), 1)
	r, err := b.Open(d, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for range 2 {
		if err := b.Delete(d); err != nil {
			t.Error(err)
		}
	}
	wantMissing(t, b, d)
	if got, err := io.ReadAll(r); !bytes.Equal(got, data) || err != nil {
		t.Errorf("a reader of a body that was deleted: %d bytes, %v", len(got), err)
	}
	read(t, b, other, -1)
	put(t, b, data, 2)
	if got := read(t, b, d, -1); !bytes.Equal(got, data) {
		t.Error("other bytes after the body was put again")
	}
}

// bodiesMany has bodies put, read and deleted at the same time: each is whole or missing.
func bodiesMany(t *testing.T, b Contract) {
	all := make([][]byte, 8)
	for i := range all {
		all[i] = bytesOf(20_000+i, byte(10+i))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				data := all[(i+n)%len(all)]
				d := sha256.Sum256(data)
				if err := b.Put(d, data, time.Unix(1, 0)); err != nil {
					t.Error(err)
				}
				if n%7 == i%7 {
					if err := b.Delete(d); err != nil {
						t.Error(err)
					}
				}
				r, err := b.Open(d, -1)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					continue
				}
				if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes of %d, %v", len(got), len(data), err)
				}
				r.Close()
			}
		})
	}
	wg.Wait()
}
