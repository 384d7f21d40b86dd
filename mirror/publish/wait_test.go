// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/store/record"
	"mirrord/store/trees"
)

// graceTrees are trees of which the one that is used next is free at a time.
type graceTrees struct {
	free  time.Time
	looks int
	then  func(looks int) (free time.Time, ok bool) // a reader lets go of another tree; may be nil
}

func (g *graceTrees) Next(trees.TreeRules) (trees.NextTree, error) {
	g.looks++
	if g.then != nil {
		if free, ok := g.then(g.looks); ok {
			g.free = free
		}
	}
	return trees.NextTree{Free: g.free, Version: 7}, nil
}

// A publish waits for the end of the grace, and for no longer than it may.
func TestTreeWait(t *testing.T) {
	for _, c := range []struct {
		name        string
		free, most  time.Duration // from now on
		waits       time.Duration
		early, told bool
	}{
		{"a new tree", 0, time.Hour, 0, false, false},
		{"past its grace", -time.Second, time.Hour, 0, false, false},
		{"grace ends soon", 10 * time.Minute, time.Hour, 10 * time.Minute, false, true},
		{"grace ends just in time", time.Hour, time.Hour, time.Hour, false, true},
		{"a tenth of the interval", time.Hour, 6 * time.Minute, 6 * time.Minute, true, true},
		{"by hand", time.Hour, 0, 0, true, false},
		{"less than nothing", time.Hour, -time.Minute, 0, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			g := &graceTrees{free: begun.Add(c.free)}
			told := false
			w := TreeWait{
				Trees: g,
				Most:  c.most,
				Now:   time.Now,
				Begins: func(until time.Time) {
					told = true
					if want := begun.Add(c.waits); !until.Equal(want) {
						t.Errorf("%s: it says that it waits until %v, want %v", c.name, until, want)
					}
				},
			}
			next, waited, err := w.Wait(t.Context())
			if err != nil || waited != c.waits || time.Since(begun) != c.waits || next.Version != 7 {
				t.Errorf("%s: %+v after %v, %v; want %v", c.name, next, waited, err, c.waits)
			}
			if early := next.Free.After(time.Now()); early != c.early || told != c.told {
				t.Errorf("%s: early %v, told %v", c.name, early, told)
			}
		})
	}
}

// A wait ends when a reader lets go of a tree that is past its grace, and when the run is asked to end.
func TestTreeWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		g := &graceTrees{free: begun.Add(time.Hour)}
		g.then = func(looks int) (time.Time, bool) { return time.Time{}, looks == 4 }
		w := TreeWait{Trees: g, Most: time.Hour, Now: time.Now}
		if _, waited, err := w.Wait(t.Context()); err != nil || waited != 3*lookAgain {
			t.Errorf("%v, %v", waited, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		w := TreeWait{
			Trees: &graceTrees{free: time.Now().Add(time.Hour)},
			Most:  time.Hour,
			Now:   time.Now,
		}
		if _, waited, err := w.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || waited != 90*time.Second {
			t.Errorf("%v, %v", waited, err)
		}
	})
}

// With the trees of a site on the disk: the fifth publish within an hour waits a tenth of its interval, and
// then uses the tree of the first version.
func TestTreeWaitOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdition(t)
		rules := trees.TreeRules{Grace: time.Hour, Most: 4}
		for version := 1; version <= 5; version++ {
			w := TreeWait{
				Trees: e.site.Trees,
				Rules: rules,
				Most:  6 * time.Minute,
				Now:   time.Now,
			}
			next, waited, err := w.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			switch last := version == 5; {
			case last && (waited != 6*time.Minute || next.Version != 1 || next.Trees != 4):
				t.Errorf("version 5 waits %v: %+v", waited, next)
			case !last && (waited != 0 || next.Version != 0):
				t.Errorf("version %d waits %v: %+v", version, waited, next)
			}
			tree, err := e.site.Trees.Build(rules)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(tree.Publish(record.Version{Number: version, Time: time.Now()}, nil), tree.Close())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
	})
}
