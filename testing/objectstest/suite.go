// SPDX-License-Identifier: Apache-2.0

// Package objectstest has the suite that every objects.Store passes, and a store that fails on demand.
package objectstest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"mirrord/cluster/objects"
)

// TestStore holds an implementation to the contract of objects.Store. open makes one with nothing in it.
func TestStore(t *testing.T, open func(t *testing.T) objects.Store) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, s objects.Store)
	}{
		{"missing", missing},
		{"ranges", ranges},
		{"conditions", conditions},
		{"one winner", oneWinner},
		{"list", list},
		{"delete", remove},
		{"large", large},
		{"ability", ability},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

func randomBytes(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

func put(t *testing.T, s objects.Store, name string, b []byte, c objects.Condition) string {
	t.Helper()
	etag, err := s.Put(t.Context(), name, objects.Bytes(b), c)
	if err != nil {
		t.Fatal(err)
	}
	return etag
}

func missing(t *testing.T, s objects.Store) {
	for _, n := range []int64{0, 10} {
		if _, _, err := s.Get(t.Context(), "no/such", 0, n); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("get: %v", err)
		}
	}
	put(t, s, "no/such.but", []byte("x"), objects.Condition{})
	if _, _, err := s.Get(t.Context(), "no/such", 5, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "no", 0, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get of a folder: %v", err)
	}
	if err := s.Delete(t.Context(), "no/such"); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func ranges(t *testing.T, s objects.Store) {
	for _, size := range []int64{1, 100_003} {
		name := fmt.Sprintf("a/b.%d", size)
		data := randomBytes(int(size), 1)
		etag := put(t, s, name, data, objects.Condition{})
		for _, r := range [][2]int64{
			{0, 0}, {0, 1}, {0, size}, {0, size + 1}, {0, objects.MaxGet}, {size / 3, size / 3}, {size / 3, size},
			{size, 5}, {size + 7, 1}, {max(size-1, 0), 1},
		} {
			want := data[min(r[0], size):]
			want = want[:min(r[1], int64(len(want)))]
			got, info, err := s.Get(t.Context(), name, r[0], r[1])
			if err != nil || !bytes.Equal(got, want) || info.Size != size || info.Name != name {
				t.Errorf("%d bytes from %d of %d: %d came, %+v, %v", r[1], r[0], size, len(got), info, err)
			}
			if size < 10 && info.ETag != etag {
				t.Errorf("etag %q, put said %q", info.ETag, etag)
			}
		}
		if got, _, err := objects.ReadAll(t.Context(), s, name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("read all of %d: %d bytes, %v", size, len(got), err)
		}
	}
}

func conditions(t *testing.T, s objects.Store) {
	ctx := t.Context()
	refused := func(name string, c objects.Condition) {
		t.Helper()
		_, err := s.Put(ctx, name, objects.Bytes([]byte("wrong")), c)
		if !errors.Is(err, objects.ErrCondition) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	refused("p/x", objects.Condition{ETag: "0123456789abcdef0123456789abcdef"})
	one := put(t, s, "p/x", []byte("one"), objects.Condition{New: true})
	refused("p/x", objects.Condition{New: true})
	two := put(t, s, "p/x", []byte("two"), objects.Condition{ETag: one})
	refused("p/x", objects.Condition{ETag: one})
	if one == two {
		t.Error("two objects have one ETag")
	}
	b, info, err := s.Get(ctx, "p/x", 0, 10)
	if string(b) != "two" || info.ETag != two || err != nil {
		t.Errorf("%q, %+v, %v", b, info, err)
	}
	put(t, s, "p/x", []byte("three"), objects.Condition{})
	if err := s.Delete(ctx, "p/x"); err != nil {
		t.Error(err)
	}
	refused("p/x", objects.Condition{ETag: two})
	put(t, s, "p/x", []byte("one"), objects.Condition{New: true})
}

// oneWinner has many writers put on one condition at the same time.
func oneWinner(t *testing.T, s objects.Store) {
	etag := ""
	for round := range 4 {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				c := objects.Condition{ETag: etag, New: etag == ""}
				text := fmt.Appendf(nil, "%d of %d", i, round)
				switch _, err := s.Put(t.Context(), "race", objects.Bytes(text), c); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, objects.ErrCondition):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		_, info, err := s.Get(t.Context(), "race", 0, 1)
		if err != nil || won.Load() != 1 {
			t.Fatalf("%d winners, %v", won.Load(), err)
		}
		etag = info.ETag
	}
}

func list(t *testing.T, s objects.Store) {
	names := []string{"a", "b/1", "b/2", "b-", "c/d/e/f~g.h", "ba"}
	for i, name := range names {
		put(t, s, name, randomBytes(i+1, 1), objects.Condition{})
	}
	for prefix, want := range map[string][]string{
		"":      {"a", "b-", "b/1", "b/2", "ba", "c/d/e/f~g.h"},
		"b":     {"b-", "b/1", "b/2", "ba"},
		"b/":    {"b/1", "b/2"},
		"c/d/e": {"c/d/e/f~g.h"},
		"x/y":   nil,
	} {
		var got []string
		for info, err := range s.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			if info.Size != int64(slices.Index(names, info.Name)+1) || info.Time.IsZero() {
				t.Errorf("%+v", info)
			}
			got = append(got, info.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", prefix, got, want)
		}
	}
	for range s.List(t.Context(), "") { // one may end early
		break
	}
}

func remove(t *testing.T, s objects.Store) {
	put(t, s, "x/y", []byte("1"), objects.Condition{})
	put(t, s, "x/z", []byte("2"), objects.Condition{})
	for range 2 {
		if err := s.Delete(t.Context(), "x/y"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := s.Get(t.Context(), "x/y", 0, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after delete: %v", err)
	}
	if b, _, err := s.Get(t.Context(), "x/z", 0, 1); string(b) != "2" || err != nil {
		t.Errorf("the other one: %q, %v", b, err)
	}
}

// large is an object that one Get does not return whole.
func large(t *testing.T, s objects.Store) {
	data := randomBytes(objects.MaxGet+1000, 3)
	put(t, s, "large", data, objects.Condition{})
	got, info, err := objects.ReadAll(t.Context(), s, "large")
	if err != nil || !bytes.Equal(got, data) || info.Size != int64(len(data)) {
		t.Errorf("%d bytes, %+v, %v", len(got), info, err)
	}
}

func ability(t *testing.T, s objects.Store) {
	if err := objects.CheckConditions(t.Context(), s, "p/"); err != nil {
		t.Error(err)
	}
	for info := range s.List(t.Context(), "") {
		t.Errorf("left: %s", info.Name)
	}
}
