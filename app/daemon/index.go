// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/app/search"
	"mirrord/app/shares"
	"mirrord/serve/find"
	"mirrord/store"
)

// How often the daemon looks for texts that the index lacks, besides after each run, and how long it waits
// after an index could not be made.
const (
	findEvery = 10 * time.Minute
	findRetry = 30 * time.Minute
)

// KeptIndex is the index of texts that a daemon keeps up to date, if a user has made one. It is safe for
// concurrent use.
type KeptIndex struct {
	app   *env.App
	st    *store.State
	due   chan struct{} // something may be new; one is enough, because all that is new is looked at
	doing atomic.Value  // what it does, a string; "" after an update
	// gather asks the other nodes of a cluster what the pages of their mirrors say; nil: there are none
	Gather func(context.Context) error
	// turn reports whether this node of a cluster makes the comparison that is due; nil: there are no others
	Turn func() (bool, error)
}

func NewKeptIndex(a *env.App, st *store.State) *KeptIndex {
	x := *a
	k := &KeptIndex{
		app: &x,
		st:  st,
		due: make(chan struct{}, 1),
	}
	x.Note = func(line string) { k.doing.Store(line) }
	return k
}

// IndexOf is the index that a daemon keeps.
func IndexOf(d *Daemon) *KeptIndex { return d.Texts }

// Keep keeps the index up to date until ctx ends, after each run, with what the run changed. Without begin it
// waits until a user has made one; with it the first run does.
// Once a day it also finds replicas again, if a user ever did and mirrors have changed.
// Its thread is the last to get processor and disk, and runs never wait for it.
func (k *KeptIndex) Keep(ctx context.Context, begin bool) {
	care.IdleThread()
	var tried time.Time
	for ran := false; ; {
		next := findEvery
		err := search.IndexTexts(ctx, k.app, k.st, ran && begin)
		if k.doing.Store(""); err != nil && ctx.Err() == nil {
			k.app.Log.Error("the texts of mirrors are not indexed", "err", err)
			next = findRetry
		}
		if now := k.app.Clock(); now.Sub(tried) >= ReplicasEvery && k.ReplicasAreOld(ctx, now) {
			tried = now
			if err := k.findReplicas(ctx); err != nil && ctx.Err() == nil {
				k.app.Log.Error("replicas are not found again", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(next):
		case <-k.due:
			ran = true
		}
	}
}

// Find looks for pages in the index as it is.
func (k *KeptIndex) Find(ctx context.Context, r search.FindRequest) (*search.FoundTexts, error) {
	out, err := search.SearchTexts(ctx, k.st, r)
	if errors.Is(err, find.ErrDamaged) {
		k.wake()
	}
	if out != nil {
		out.Progress, _ = k.doing.Load().(string)
	}
	return out, search.FindError(err)
}

// Wanted reports whether there is an index, or one is being made.
func (k *KeptIndex) Wanted() bool { return find.Wanted(k.st.Dir) }

// Begin makes the index, which takes a while, and keeps it from now on.
func (k *KeptIndex) Begin() error {
	if err := os.MkdirAll(filepath.Join(k.st.Dir, find.Folder), 0o755); err != nil {
		return err
	}
	k.wake()
	return nil
}

// The search for replicas is repeated at most so often, with so many bytes of memory, and shows so many
// collections and pairs of hosts.
const (
	ReplicasEvery  = 24 * time.Hour
	replicasMemory = 64 << 20
	replicasShown  = 50
)

// ReplicasAreOld reports whether a user has searched for replicas, and mirrors have other versions by now.
func (k *KeptIndex) ReplicasAreOld(ctx context.Context, now time.Time) bool {
	known, err := replicas.LoadReplicas(k.st.Dir)
	if err != nil || now.Sub(known.Made) < ReplicasEvery {
		return false // no search was made; or it is damaged, which the page that shows it reports
	}
	if k.Turn != nil {
		mine, err := k.Turn()
		if err != nil {
			k.app.Log.Warn("whether another node looks for replicas is not known; tried again", "err", err)
		}
		if !mine {
			return false
		}
	}
	if k.Gather != nil {
		if err := k.Gather(ctx); err != nil {
			k.app.Log.Warn("what other nodes know of replicas is not known", "err", err)
		}
	}
	versions, err := replicas.ComparedVersions(k.st)
	return err == nil && !maps.Equal(versions, known.Versions)
}

// findReplicas compares all mirrors, as mirrord replicas does. Pages that it knows are not read again.
func (k *KeptIndex) findReplicas(ctx context.Context) error {
	o := replicas.ReplicaOptions{Limit: replicasShown, Memory: replicasMemory}
	_, err := replicas.FindReplicas(ctx, k.app, nil, o)
	return err
}

// Replicas is what mirrord replicas last found among all mirrors; fs.ErrNotExist when it was never run.
func (k *KeptIndex) Replicas() (*replicas.KnownReplicas, error) {
	return replicas.LoadReplicas(k.st.Dir)
}

// wake has new texts indexed now. A nil index is not kept.
func (k *KeptIndex) wake() {
	if k == nil {
		return
	}
	shares.Kick(k.due)
}
