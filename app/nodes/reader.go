// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mirrord/app/daemon"
	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/cluster/depot"
	"mirrord/internal/timed"
	"mirrord/store"
	"mirrord/store/disk"
)

// Reader keeps mirrors of a depot on this machine, to be read: it follows the pointers of the sites, and
// checks each new version out. It has no lease, makes no request to a site, and writes nothing to the depot.
type Reader struct {
	State *store.State
	Open  func(ctx context.Context) (*depot.Depot, error) // called until it succeeds
	Only  map[string]bool                                 // the sites that are wanted; nil: all
	// Claim keeps others of this process from a site until release is called; ok is false when it is not the
	// reader's now. nil: all are.
	Claim func(name string) (release func(), ok bool)
	Log   *slog.Logger

	depot *depot.Depot
	mu    sync.Mutex // guards what follows
	seen  map[string]seenSite
}

// seenSite is the state of a site in the depot.
type seenSite struct {
	mark    string
	settled bool   // it was checked out in two rounds with that mark: a list may miss one of two check-ins
	problem string // that was logged
}

// readerRounds is the pause between looks at a depot.
const readerRounds = 5 * time.Second

// Follow fetches new versions until ctx ends.
func (r *Reader) Follow(ctx context.Context) {
	away := ""
	for {
		switch err := r.Look(ctx); {
		case ctx.Err() != nil:
			return
		case err == nil:
			away = ""
		case away != err.Error():
			away = err.Error()
			r.Log.Warn("the depot cannot be read; mirrors are served as they are here", "err", err)
		}
		if timed.Wait(ctx, readerRounds) != nil {
			return
		}
	}
}

// Look fetches new versions. The error concerns the depot as a whole; errors of a site are in the log.
func (r *Reader) Look(ctx context.Context) (err error) {
	if r.depot == nil {
		if r.depot, err = r.Open(ctx); err != nil {
			return err
		}
	}
	marks, err := r.depot.Marks(ctx)
	if err != nil {
		return err
	}
	env.AtOnce(env.MovesAtOnce, slices.Collect(maps.Keys(marks)), func(name string) {
		if (r.Only == nil || r.Only[name]) && r.due(name, marks[name]) && ctx.Err() == nil {
			r.bring(ctx, name, marks[name])
		}
	})
	return ctx.Err()
}

func (r *Reader) due(name, mark string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.seen[name]
	return s.mark != mark || !s.settled
}

// bring checks one site out.
func (r *Reader) bring(ctx context.Context, name, mark string) {
	if r.Claim != nil {
		release, ok := r.Claim(name)
		if !ok {
			return
		}
		defer release()
	}
	here := env.Exists(filepath.Join(r.State.Dir, "sites", name))
	out, err := r.depot.Checkout(ctx, r.State, name, depot.Out{Ready: depots.MadeWhole, Removed: true})
	removed := env.IsRemoved(err) && !env.Exists(filepath.Join(r.State.Dir, "sites", name))
	r.mu.Lock()
	was := r.seen[name]
	now := seenSite{problem: was.problem}
	if err == nil || removed {
		now = seenSite{mark: mark, settled: was.mark == mark}
	} else {
		now.problem = err.Error()
	}
	if r.seen == nil {
		r.seen = map[string]seenSite{}
	}
	r.seen[name] = now
	r.mu.Unlock()
	switch {
	case removed && here:
		r.Log.Info("a mirror was removed, as from the depot", "job", name)
	case removed:
	case err == nil && !out.Unchanged && !out.Ahead:
		r.Log.Info("a mirror was fetched from the depot", "job", name, "version", out.Version)
	case err == nil, ctx.Err() != nil, errors.Is(err, disk.ErrLocked), was.problem == now.problem:
	default:
		r.Log.Warn("a mirror stays as it is here", "job", name, "err", err)
	}
}

// FollowDepot fetches the mirrors that other nodes of the cluster have, for reading, until ctx ends.
func FollowDepot(ctx context.Context, d *daemon.Daemon, from *depot.Depot) {
	r := &Reader{
		State: d.State,
		Open:  func(context.Context) (*depot.Depot, error) { return from, nil },
		Claim: d.Share.Reads,
		Log:   d.Log,
	}
	r.Follow(ctx)
}
