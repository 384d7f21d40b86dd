// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// WatchOptions say how a directory is watched. The zero value is what a daemon wants.
type WatchOptions struct {
	// between two looks without an event; default 30 s. Where the system does not report changes, as on NFS,
	// this is how they are seen
	Poll time.Duration
	// how long nothing must have changed before it is looked at, so that files are whole; default 500 ms
	Settle time.Duration
	NoTell bool         // do not ask the system to tell of changes
	Log    *slog.Logger // default none
}

// Watch calls look at once, when something in the directories may have changed, when again receives, and
// every Poll. It returns when ctx ends. A directory that is not there yet, or that is replaced, is found by
// the next look.
func Watch(ctx context.Context, dirs []string, o WatchOptions, again <-chan struct{}, look func()) {
	o.Poll = cmp.Or(max(o.Poll, 0), 30*time.Second)
	o.Settle = cmp.Or(max(o.Settle, 0), 500*time.Millisecond)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	var w *fsnotify.Watcher
	var events <-chan fsnotify.Event
	var failures <-chan error
	if !o.NoTell {
		var err error
		if w, err = fsnotify.NewWatcher(); err != nil {
			o.Log.Warn("changes of job files are only seen by looking", "every", o.Poll, "err", err)
			w = nil
		} else {
			defer w.Close()
			events, failures = w.Events, w.Errors
		}
	}
	watching := false
	attend := func() {
		if w == nil {
			return
		}
		err := w.Add(dirs[0]) // again and again: it may be another directory by now
		for _, dir := range dirs[1:] {
			_ = w.Add(dir) // it may be missing
		}
		if err != nil && watching {
			o.Log.Warn("changes of job files are only seen by looking", "every", o.Poll, "err", err)
		}
		watching = err == nil
	}
	attend()
	look()
	poll := time.NewTicker(o.Poll)
	defer poll.Stop()
	settled := time.NewTimer(time.Hour)
	settled.Stop()
	defer settled.Stop()
	var first time.Time // when the oldest change came that was not looked at
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			look()
		case <-poll.C:
			attend()
			look()
		case <-settled.C:
			first = time.Time{}
			attend()
			look()
		case _, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if first.IsZero() {
				first = time.Now()
			}
			if time.Since(first) < 10*o.Settle { // who writes without a pause is looked at all the same
				settled.Reset(o.Settle)
			}
		case err, ok := <-failures:
			if !ok {
				failures = nil
				continue
			}
			o.Log.Warn("watching job files", "err", err)
			settled.Reset(o.Settle) // events may have been lost
		}
	}
}
