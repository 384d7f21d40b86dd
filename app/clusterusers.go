// SPDX-License-Identifier: Apache-2.0

package app

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
	"sync/atomic"
	"time"

	"mirrord/store"
)

// ClusterUsers keeps the users and tokens of a node those of its cluster: each node has all of them in its
// own mirror.db, where commands change them and from where logins are checked, also when no keeper is
// reached.
type ClusterUsers struct {
	State *store.State
	Facts Facts
	Log   *slog.Logger
}

// Kinds of facts about the facts.
const (
	kindCluster = "cluster"
	clusterID   = "id"      // a name that no other cluster has, nor this one after its keepers lost all
	kindSynced  = "synced " // and the ID: KIND/KEY -> digest of the value that was last the same here and there
)

// usersEvery is how often is looked whether users and tokens have changed here: commands say no word.
const usersEvery = 2 * time.Second

// usersAgain is how often they are compared with those of the cluster, whatever nobody said.
const usersAgain = 10 * time.Minute

// Follow exchanges them until ctx ends.
func (c *ClusterUsers) Follow(ctx context.Context) {
	var changed atomic.Bool // in the cluster
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.Facts.Watch(ctx, func() { changed.Store(true) }, store.AccessKinds()...)
	}()
	defer func() { <-watched }()
	said, last, at := "", "", time.Time{}
	for {
		now, err := c.local()
		if err == nil && (changed.Swap(false) || now != last || time.Since(at) > usersAgain) {
			if err = c.settle(); err == nil {
				last, at = now, time.Now() // what was written here meanwhile is compared once more
			} else {
				changed.Store(true)
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			said = ""
		case errors.Is(err, errMoved):
		case said != err.Error():
			said = err.Error()
			c.Log.Warn("users and tokens are not exchanged with the cluster; tried again", "err", err)
		}
		t := time.NewTimer(usersEvery)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// local tells whether users and tokens have changed here.
func (c *ClusterUsers) local() (string, error) {
	h := sha256.New()
	for _, kind := range store.AccessKinds() {
		all, err := store.SharedOf(c.State).All(kind)
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
var errMoved = errors.New("somebody changes it at this moment")

// digestOfFact is "" for none.
func digestOfFact(v []byte) string {
	if v == nil {
		return ""
	}
	sum := sha256.Sum256(v)
	return string(sum[:])
}

// settle exchanges once.
func (c *ClusterUsers) settle() error {
	id := ""
	err := c.Facts.Change(kindCluster, clusterID, func(was []byte) ([]byte, error) {
		if id = string(was); id == "" {
			id = rand.Text()
		}
		return []byte(id), nil
	})
	if err != nil {
		return err
	}
	here, synced := store.SharedOf(c.State), kindSynced+id
	base, err := here.All(synced)
	if err != nil {
		return err
	}
	for _, kind := range store.AccessKinds() {
		local, err := here.All(kind)
		if err != nil {
			return err
		}
		cluster, err := c.Facts.All(kind)
		if err != nil {
			return err
		}
		keys := map[string]bool{}
		for key := range local {
			keys[key] = true
		}
		for key := range cluster {
			keys[key] = true
		}
		for note := range base { // of what was removed everywhere too
			if key, ok := strings.CutPrefix(note, kind+"/"); ok {
				keys[key] = true
			}
		}
		for key := range keys {
			note := kind + "/" + key
			if d := string(base[note]); digestOfFact(local[key]) == d && digestOfFact(cluster[key]) == d {
				continue
			}
			err := c.one(kind, key, local[key], cluster[key], string(base[note]))
			if err == nil {
				err = c.note(synced, note, string(base[note]), kind, key)
			}
			if err != nil {
				return fmt.Errorf("%s %q: %w", kind, key, err)
			}
		}
	}
	return nil
}

// one makes a value the same here and in the cluster. base is the digest of what it last was in both.
func (c *ClusterUsers) one(kind, key string, local, cluster []byte, base string) error {
	l, r := digestOfFact(local), digestOfFact(cluster)
	set := func(s store.Shared, was string, now []byte) error {
		return s.Change(kind, key, func(v []byte) ([]byte, error) {
			if digestOfFact(v) != was {
				return nil, errMoved
			}
			return now, nil
		})
	}
	switch {
	case l == r:
		return nil
	case r == base: // changed, made or removed here only
		return set(c.Facts, r, local)
	case l != base:
		c.Log.Warn("a user or token was changed on two nodes: that of the cluster counts", "kind", kind, "name",
			key)
	}
	return set(store.SharedOf(c.State), l, cluster)
}

// note writes down what is the same here and in the cluster now.
func (c *ClusterUsers) note(synced, note, was, kind, key string) error {
	here := store.SharedOf(c.State)
	all, err := here.All(kind)
	if err != nil {
		return err
	}
	now := digestOfFact(all[key])
	if now == was {
		return nil
	}
	there, err := c.Facts.All(kind)
	if err != nil || digestOfFact(there[key]) != now {
		return err // the next time
	}
	return here.Change(synced, note, func([]byte) ([]byte, error) {
		if now == "" {
			return nil, nil
		}
		return []byte(now), nil
	})
}
