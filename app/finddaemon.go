// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"mirrord/find"
)

// How often the daemon looks what is not in the index of texts, besides after each run, and how long it waits
// after an index could not be made.
const (
	findEvery = 10 * time.Minute
	findRetry = 30 * time.Minute
)

// Index keeps the index of texts up to date until ctx ends, if there is one: after each run, with what the
// run changed. Its thread is the last to get processor and disk, and runs never wait for it.
func (d *Daemon) Index(ctx context.Context) {
	idleThread()
	x := *d.app
	x.Note = nil
	t := time.NewTimer(findEvery)
	defer t.Stop()
	for {
		next := findEvery
		if err := indexTexts(ctx, &x, d.st, false); err != nil && ctx.Err() == nil {
			d.log.Error("the texts of mirrors are not indexed", "err", err)
			next = findRetry
		}
		t.Reset(next)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-d.texts:
		}
	}
}

// Find looks for pages in the index of texts as it is.
func (d *Daemon) Find(ctx context.Context, r FindRequest) (*FoundTexts, error) {
	out, err := searchTexts(ctx, d.st, r)
	if errors.Is(err, find.ErrDamaged) {
		wake(d.texts)
	}
	return out, findError(err)
}

// HasFind reports whether there is an index of texts, or one is being made.
func (d *Daemon) HasFind() bool { return find.Wanted(d.st.Dir) }

// MakeFind begins the index of texts.
func (d *Daemon) MakeFind() error {
	if err := os.MkdirAll(filepath.Join(d.st.Dir, find.Folder), 0o755); err != nil {
		return err
	}
	wake(d.texts)
	return nil
}

// wake tells a goroutine that there is something to do, if it is not told already.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
