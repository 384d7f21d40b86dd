// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"time"

	"mirrord/internal/timed"
	"mirrord/store/trees"
)

// TreeWait waits until the tree in which the next version is built has passed its grace. All fields but
// Begins are needed.
type TreeWait struct {
	Trees interface {
		Next(r trees.TreeRules) (trees.NextTree, error)
	}
	Rules  trees.TreeRules
	Most   time.Duration // that it waits in all; less than 0 is 0
	Now    func() time.Time
	Begins func(until time.Time) // is called before it waits
}

// lookAgain is how often a wait looks whether another tree can be had: a reader may have let go of one.
const lookAgain = time.Minute

// Wait waits. It returns the tree as it is then, which may still be in its grace, and for how long it waited.
// The error is that of ctx, or of a look at the trees.
func (w *TreeWait) Wait(ctx context.Context) (next trees.NextTree, waited time.Duration, err error) {
	begun := w.Now()
	end := begun.Add(max(w.Most, 0))
	for {
		if next, err = w.Trees.Next(w.Rules); err != nil {
			return next, waited, err
		}
		now := w.Now()
		waited = now.Sub(begun)
		until := next.Free
		if until.After(end) {
			until = end
		}
		if !until.After(now) {
			return next, waited, nil
		}
		if waited == 0 && w.Begins != nil {
			w.Begins(until)
		}
		if err := timed.Wait(ctx, min(until.Sub(now), lookAgain)); err != nil {
			return next, w.Now().Sub(begun), err
		}
	}
}
