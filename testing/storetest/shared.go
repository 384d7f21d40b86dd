// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"mirrord/store/shared"
)

// TestShared holds an implementation of shared.KeyValues to the contract. open makes one with nothing in it,
// and returns how others of the same values are made, as other processes have them.
func TestShared(
	t *testing.T, open func(t *testing.T) (shared.KeyValues, func(t *testing.T) shared.KeyValues),
) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, s, other shared.KeyValues)
	}{
		{"values", sharedValues},
		{"kinds and keys", sharedKeys},
		{"errors change nothing", sharedErrors},
		{"one writes at a time", sharedRace},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, again := open(t)
			tc.test(t, s, again(t))
		})
	}
}

// setShared writes a value.
func setShared(t *testing.T, s shared.KeyValues, kind, key string, value []byte) {
	t.Helper()
	err := s.Change(kind, key, func([]byte) ([]byte, error) { return value, nil })
	if err != nil {
		t.Fatal(err)
	}
}

// wantShared checks the values of a kind; those of another process may come a little later.
func wantShared(t *testing.T, s shared.KeyValues, kind string, later bool, want map[string]string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got, err := s.All(kind)
		if err != nil {
			t.Fatal(err)
		}
		same := len(got) == len(want)
		for key, v := range want {
			same = same && string(got[key]) == v
		}
		if same {
			return
		}
		if !later || time.Now().After(end) {
			t.Fatalf("%s: %q, want %q", kind, got, want)
		}
	}
}

func sharedValues(t *testing.T, s, other shared.KeyValues) {
	wantShared(t, s, "a", false, nil)
	setShared(t, s, "a", "x", nil)
	wantShared(t, s, "a", false, nil)
	setShared(t, s, "a", "x", []byte("1"))
	wantShared(t, s, "a", false, map[string]string{"x": "1"})
	wantShared(t, other, "a", true, map[string]string{"x": "1"})
	err := other.Change("a", "x", func(was []byte) ([]byte, error) { return append([]byte("0"), was...), nil })
	if err != nil {
		t.Fatal(err)
	}
	wantShared(t, other, "a", false, map[string]string{"x": "01"})
	wantShared(t, s, "a", true, map[string]string{"x": "01"})
	setShared(t, s, "a", "y", []byte{0, 0xff})
	setShared(t, s, "a", "x", nil)
	wantShared(t, s, "a", false, map[string]string{"y": "\x00\xff"})
	wantShared(t, other, "a", true, map[string]string{"y": "\x00\xff"})
	setShared(t, other, "a", "x", []byte("again"))
	wantShared(t, s, "a", true, map[string]string{"x": "again", "y": "\x00\xff"})
}

func sharedKeys(t *testing.T, s, other shared.KeyValues) {
	keys := map[string]string{"a b": "1", "ü.>*": "2", "a.b": "3", "=41": "4", "A": "5"}
	for key, v := range keys {
		setShared(t, s, "kind", key, []byte(v))
	}
	setShared(t, s, "kinds", "a b", []byte("other"))
	wantShared(t, s, "kind", false, keys)
	wantShared(t, other, "kind", true, keys)
	wantShared(t, other, "kinds", true, map[string]string{"a b": "other"})
}

func sharedErrors(t *testing.T, s, _ shared.KeyValues) {
	setShared(t, s, "a", "x", []byte("1"))
	sentinel := errors.New("not now")
	err := s.Change("a", "x", func([]byte) ([]byte, error) { return []byte("2"), sentinel })
	if !errors.Is(err, sentinel) {
		t.Errorf("got %v", err)
	}
	wantShared(t, s, "a", false, map[string]string{"x": "1"})
}

func sharedRace(t *testing.T, s, other shared.KeyValues) {
	const each = 20
	var wg sync.WaitGroup
	for _, s := range []shared.KeyValues{s, other} {
		wg.Go(func() {
			for range each {
				err := s.Change("a", "count", func(was []byte) ([]byte, error) {
					n := 0
					if was != nil {
						var err error
						if n, err = strconv.Atoi(string(was)); err != nil {
							return nil, err
						}
					}
					return strconv.AppendInt(nil, int64(n+1), 10), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantShared(t, s, "a", true, map[string]string{"count": strconv.Itoa(2 * each)})
}
