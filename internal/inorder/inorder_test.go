// SPDX-License-Identifier: Apache-2.0

package inorder_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"mirrord/internal/inorder"
)

func crews() map[string]inorder.Crew {
	return map[string]inorder.Crew{
		"none":  {},
		"one":   {Go: func(f func()) { go f() }, Size: 1},
		"three": {Go: func(f func()) { go f() }, Size: 3},
	}
}

// What comes out has the order of what was added, however long each piece takes; no worker does two things at
// a time, and no more is on its way than is allowed.
func TestOrder(t *testing.T) {
	for name, crew := range crews() {
		t.Run(name, func(t *testing.T) {
			var got []int
			var load, most atomic.Int64
			l := inorder.New(crew, 10, func(n int, err error) error {
				got = append(got, n)
				load.Add(-3)
				return err
			})
			defer l.Close()
			busy := make([]sync.Mutex, l.Workers())
			for i := range 500 {
				err := l.Add(3, func(worker int) (int, error) {
					if !busy[worker].TryLock() {
						t.Errorf("worker %d does two things at a time", worker)
					}
					defer busy[worker].Unlock()
					if n := load.Add(3); n > most.Load() {
						most.Store(n)
					}
					for range 1000 * (i % 7) {
						load.Load()
					}
					return i, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			if len(got) != 500 || !slices.IsSorted(got) {
				t.Errorf("handed on: %v", got)
			}
			if most.Load() > 10 {
				t.Errorf("%d on its way", most.Load())
			}
		})
	}
}

// The first error comes back, and nothing runs after Close.
func TestError(t *testing.T) {
	broken := errors.New("broken")
	for name, crew := range crews() {
		t.Run(name, func(t *testing.T) {
			l := inorder.New(crew, 100, func(_ int, err error) error { return err })
			var running atomic.Int64
			var err error
			for i := 0; err == nil && i < 1000; i++ {
				err = l.Add(1, func(int) (int, error) {
					running.Add(1)
					defer running.Add(-1)
					if i == 20 {
						return 0, broken
					}
					return i, nil
				})
			}
			if err == nil {
				err = l.Flush()
			}
			l.Close()
			if !errors.Is(err, broken) || running.Load() != 0 {
				t.Errorf("error %v, %d run", err, running.Load())
			}
		})
	}
}

// A piece that weighs more than all together may is done alone.
func TestHeavy(t *testing.T) {
	for name, crew := range crews() {
		t.Run(name, func(t *testing.T) {
			sum := 0
			l := inorder.New(crew, 10, func(n int, err error) error {
				sum += n
				return err
			})
			defer l.Close()
			for range 20 {
				if err := l.Add(1000, func(int) (int, error) { return 1, nil }); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Flush(); err != nil || sum != 20 {
				t.Errorf("%d, %v", sum, err)
			}
		})
	}
}
