// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/cluster/depot"
)

// askDepot fetches the digests that the depot has of pages of mirrors that are not this node's: those of
// the jobs in force on any node. The others' stay unchanged when the depot does not answer.
func askDepot(ctx context.Context, c *Everywhere, e *replicas.OthersSaid) {
	if c.Depot == nil {
		e.Depot = nil
		return
	}
	was := e.Depot
	if was == nil {
		was = new(replicas.SaidMirrors)
		e.Depot = was
	}
	marks, err := c.Depot.Marks(ctx)
	if err != nil {
		was.Away = err.Error()
		return
	}
	kept := map[string]env.PublishedAs{} // from any source
	for _, n := range e.All() {
		for name, s := range n.Sites {
			if s.Kept.Version > 0 {
				kept[name] = s.Kept
			}
		}
	}
	now := &replicas.SaidMirrors{AsOf: c.here.State.Now().UTC(), Sites: map[string]replicas.SaidMirror{}}
	came := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	room := make(chan struct{}, env.MovesAtOnce)
	for name, entry := range c.Wanted() {
		if marks[name] == "" || entry.Job == nil || hasMirror(c.here, name) {
			continue
		}
		s := was.Sites[name]
		s.Kept = kept[name]
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			s, fetched := pagesInDepot(ctx, c, name, marks[name], s)
			mu.Lock()
			defer mu.Unlock()
			now.Sites[name], came[name] = s, fetched
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return
	}
	e.Depot = now
	for _, n := range e.Nodes {
		for name, s := range n.Sites {
			if came[name] { // the file is another one now
				s.Kept = env.PublishedAs{}
				n.Sites[name] = s
			}
		}
	}
}

// pagesInDepot fetches the digests of the pages of one mirror, unless they are here. was is the mirror as
// known here.
func pagesInDepot(
	ctx context.Context, c *Everywhere, name, mark string, was replicas.SaidMirror,
) (now replicas.SaidMirror, fetched bool) {
	here, ok := env.PublishedHere(c.here.State, name)
	known := func(has env.PublishedAs) bool { return was.Kept.Equal(has) || (ok && here.Equal(has)) }
	now = replicas.SaidMirror{Kept: was.Kept, Mark: mark, Settled: was.Mark == mark}
	if now.Settled && was.Settled && was.Why == "" && (was.Has.Version == 0 || known(was.Has)) {
		return was, false
	}
	folder := filepath.Join(c.here.State.Dir, env.ElsewhereFolder)
	l, err := depot.ReadPages(ctx, c.Depot, name, folder, func(l *depot.PageList) bool {
		return known(env.PublishedAs{Version: l.Version, Retrieved: l.Retrieved})
	}, func(list, digests *os.File) (err error) {
		f, err := renameio.NewPendingFile(filepath.Join(folder, name), renameio.WithPermissions(0o644))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Cleanup()) }()
		if err := replicas.SayPages(f, list, digests); err != nil {
			return err
		}
		fetched = true
		return f.CloseAtomicallyReplace()
	})
	switch {
	case errors.Is(err, depot.ErrNoPages), errors.Is(err, depot.ErrUnknown):
	case err != nil:
		now.Has, now.Settled, now.Why = was.Has, false, err.Error()
		if ctx.Err() == nil && was.Why != now.Why {
			c.here.Log.Warn("what the pages of a mirror say does not come from the depot", "job", name, "err", err)
		}
	default:
		if now.Has = (env.PublishedAs{Version: l.Version, Retrieved: l.Retrieved}); fetched {
			now.Kept = now.Has
		}
	}
	return now, fetched && err == nil
}
