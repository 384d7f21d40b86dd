// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/store"
	"mirrord/store/shared"
)

// ClusterUsers keeps what a node knows of users that of its cluster: users, tokens, sessions and pauses of
// jobs. Each node has all of them in its own mirror.db, where commands change them and from where logins are
// checked, also when no keeper is reached. It is safe for concurrent use.
type ClusterUsers struct {
	State *store.State
	Facts Facts
	log   *slog.Logger
	wake  chan struct{} // size 1: there is a reason for a round

	mu     sync.Mutex
	asked  *round // the next round; nil: no caller waits for it
	failed bool   // the last round
}

// round is an exchange that callers wait for.
type round struct {
	done chan struct{} // is closed after it
	ok   bool          // it did all; set before
}

// NewClusterUsers returns those of a state. Follow exchanges them.
func NewClusterUsers(st *store.State, facts Facts, log *slog.Logger) *ClusterUsers {
	return &ClusterUsers{
		State: st,
		Facts: facts,
		log:   log,
		wake:  make(chan struct{}, 1),
	}
}

// Kinds of facts about the facts.
const (
	kindCluster = "cluster"
	clusterID   = "id"      // see ClusterID
	kindSynced  = "synced " // and the ID: KIND/KEY -> digest of the value that was last the same here and there
)

// usersEvery is how often is looked whether users and tokens have changed here: commands say no word.
const usersEvery = 2 * time.Second

// usersAgain is how often they are compared with those of the cluster, also without a message.
const usersAgain = 10 * time.Minute

// exchangeWithin is how long a login or logout waits for an exchange.
const exchangeWithin = time.Second

// Exchange sends the changes made here before it was called, and fetches those of other nodes. It
// waits for that, but not for long, and not while the keepers cannot be reached: then it happens later, and
// the result is false.
func (c *ClusterUsers) Exchange(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, exchangeWithin)
	defer cancel()
	c.mu.Lock()
	x, failed := c.asked, c.failed
	if x == nil {
		x = &round{done: make(chan struct{})}
		c.asked = x
	}
	c.mu.Unlock()
	Kick(c.wake)
	if failed {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-x.done:
		return x.ok
	}
}

// begins takes whom a round is for that begins now.
func (c *ClusterUsers) begins() (x *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x, c.asked = c.asked, nil
	return x
}

// ended notes how a round went.
func (c *ClusterUsers) ended(x *round, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = err != nil && !errors.Is(err, errMoved)
	if x != nil {
		x.ok = err == nil
		close(x.done)
	}
}

// Follow exchanges them until ctx ends, and calls after each exchange that did all.
func (c *ClusterUsers) Follow(ctx context.Context, after func()) {
	var changed atomic.Bool // in the cluster
	var watch sync.WaitGroup
	watch.Go(func() {
		c.Facts.Watch(ctx, func() {
			changed.Store(true)
			Kick(c.wake)
		}, shared.CommonKinds()...)
	})
	defer watch.Wait()
	last, at := "", time.Time{}
	for {
		asked := c.begins()
		now, err := c.local()
		if err == nil && (asked != nil || changed.Swap(false) || now != last || time.Since(at) > usersAgain) {
			if err = c.Settle(); err == nil {
				last, at = now, time.Now() // what was written here meanwhile is compared once more
				after()
			} else {
				changed.Store(true)
			}
		}
		c.ended(asked, err)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !errors.Is(err, errMoved):
			c.log.Warn("users, tokens, sessions and pauses are not exchanged with the cluster; tried again", "err",
				err)
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-time.After(usersEvery):
		}
	}
}

// local tells whether something has changed here.
func (c *ClusterUsers) local() (string, error) {
	h := sha256.New()
	for _, kind := range shared.CommonKinds() {
		all, err := c.State.Shared.All(kind)
		if err != nil {
			return "", err
		}
		for _, key := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(h, "%s %q %x\n", kind, key, all[key])
		}
	}
	return string(h.Sum(nil)), nil
}

// errMoved says that a value was changed while it was compared: the next time decides.
var errMoved = errors.New("another process is changing it")

// digestOfFact is "" for none.
func digestOfFact(v []byte) string {
	if v == nil {
		return ""
	}
	sum := sha256.Sum256(v)
	return string(sum[:])
}

// ClusterID is a name that no other cluster has, nor this one after its keepers lost all.
func ClusterID(facts shared.KeyValues) (id string, err error) {
	err = facts.Change(kindCluster, clusterID, func(was []byte) ([]byte, error) {
		if id = string(was); id == "" {
			id = rand.Text()
		}
		return []byte(id), nil
	})
	return id, err
}

// Settle exchanges once.
func (c *ClusterUsers) Settle() error {
	id, err := ClusterID(c.Facts)
	if err != nil {
		return err
	}
	here, synced := c.State.Shared, kindSynced+id
	base, err := here.All(synced)
	if err != nil {
		return err
	}
	var moved error
	for _, kind := range shared.CommonKinds() {
		local, err := here.All(kind)
		if err != nil {
			return err
		}
		cluster, err := c.Facts.All(kind)
		if err != nil {
			return err
		}
		keys := map[string][]byte{}
		maps.Copy(keys, local)
		maps.Copy(keys, cluster)
		for note := range base { // of what was removed everywhere too
			if key, ok := strings.CutPrefix(note, kind+"/"); ok {
				keys[key] = nil
			}
		}
		for key := range keys {
			note := kind + "/" + key
			last := string(base[note])
			now, err := c.one(kind, key, local[key], cluster[key], last)
			if err == nil && now != last {
				err = here.Change(synced, note, func([]byte) ([]byte, error) {
					if now == "" {
						return nil, nil
					}
					return []byte(now), nil
				})
			}
			switch {
			case errors.Is(err, errMoved):
				moved = fmt.Errorf("%s %q: %w", kind, key, err)
			case err != nil:
				return fmt.Errorf("%s %q: %w", kind, key, err)
			}
		}
	}
	return moved
}

// one makes a value the same here and in the cluster. base is the digest of what it last was in both; now of
// what it is.
func (c *ClusterUsers) one(kind, key string, local, cluster []byte, base string) (now string, err error) {
	l, r := digestOfFact(local), digestOfFact(cluster)
	set := func(s shared.KeyValues, was string, now []byte) error {
		return s.Change(kind, key, func(v []byte) ([]byte, error) {
			if digestOfFact(v) != was {
				return nil, errMoved
			}
			return now, nil
		})
	}
	switch {
	case l == r:
		return l, nil
	case r == base: // changed, made or removed here only
		return l, set(c.Facts, r, local)
	case l != base:
		c.log.Warn("it was changed on two nodes: that of the cluster counts", "kind", kind, "name", key)
	}
	return r, set(c.State.Shared, l, cluster)
}
