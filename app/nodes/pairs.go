// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/app/shares"
	"mirrord/internal/timed"
	"mirrord/store"
	"mirrord/store/shared"
)

// ClusterPairs makes known to all nodes of a cluster what tests of replicas came to on one of them: each has
// all tests in its own mirror.db, where runs and the registry look. The last test of a pair counts.
type ClusterPairs struct {
	State *store.State
	Facts shares.Facts
	Log   *slog.Logger
}

// kindPairs are the facts of tested pairs: digest of the two URLs -> shared.PairRecord.
const kindPairs = "replicas"

// How often the node checks for tests that not all nodes know, and how often they are compared also without
// a message.
const (
	pairsEvery = time.Minute
	pairsAgain = time.Hour
)

// Follow exchanges them until ctx ends.
func (c *ClusterPairs) Follow(ctx context.Context) {
	var last, at time.Time
	follow(ctx, c.Facts, kindPairs, c.Log, func(changed bool) error {
		newest, err := c.newest()
		if err != nil || !(changed || newest.After(last) || time.Since(at) > pairsAgain) {
			return err
		}
		if err = c.settle(); err == nil {
			last, at = newest, time.Now() // what was tested here meanwhile is compared once more
		}
		return err
	})
}

// follow calls a function again and again until ctx ends. changed says that facts of the kind may be others
// than when it last ended without an error.
func follow(
	ctx context.Context, facts shares.Facts, kind string, log *slog.Logger, settle func(changed bool) error,
) {
	var changed atomic.Bool
	changed.Store(true)
	var watch sync.WaitGroup
	watch.Go(func() { facts.Watch(ctx, func() { changed.Store(true) }, kind) })
	defer watch.Wait()
	for {
		if err := settle(changed.Swap(false)); err != nil && ctx.Err() == nil {
			changed.Store(true)
			log.Warn("facts about replicas are not exchanged with the cluster; tried again", "kind", kind, "err", err)
		}
		if timed.Wait(ctx, pairsEvery) != nil {
			return
		}
	}
}

// newest is when the last test was made that is known here.
func (c *ClusterPairs) newest() (at time.Time, err error) {
	pairs, err := c.State.Shared.Pairs()
	for i := range pairs {
		if pairs[i].Tested.After(at) {
			at = pairs[i].Tested
		}
	}
	return at, err
}

func keyOfPair(p *shared.PairRecord) string {
	sum := sha256.Sum256([]byte(p.Base1 + "\x00" + p.Base2))
	return hex.EncodeToString(sum[:16])
}

// settle exchanges once: of each pair the last test.
func (c *ClusterPairs) settle() error {
	pairs, err := c.State.Shared.Pairs()
	if err != nil {
		return err
	}
	there, err := c.Facts.All(kindPairs)
	if err != nil {
		return err
	}
	late := c.State.Now().Add(clocksDiffer) // tests of that time are of a wrong clock, and do not count
	here := make(map[string]time.Time, len(pairs))
	for i := range pairs {
		p := &pairs[i]
		if p.Tested.After(late) {
			continue
		}
		key := keyOfPair(p)
		here[key] = p.Tested
		if was, ok := testedIn(there[key], late); ok && !p.Tested.After(was) {
			continue
		}
		err := c.Facts.Change(kindPairs, key, func(v []byte) ([]byte, error) {
			if was, ok := testedIn(v, late); ok && !p.Tested.After(was) {
				return v, nil
			}
			return json.Marshal(p)
		})
		if err != nil {
			return fmt.Errorf("%s and %s: %w", p.Base1, p.Base2, err)
		}
	}
	var errs []error
	for key, v := range there {
		if tested, ok := testedIn(v, late); ok && tested.After(here[key]) {
			var p shared.PairRecord
			if json.Unmarshal(v, &p) == nil && keyOfPair(&p) == key {
				errs = append(errs, c.State.Shared.SavePair(p))
			}
		}
	}
	return errors.Join(errs...)
}

// testedIn is when the test was made that a fact is of; ok is false for none, for what cannot be read, and
// for one that was made late.
func testedIn(v []byte, late time.Time) (at time.Time, ok bool) {
	var p struct {
		Tested time.Time `json:"tested"`
	}
	if v == nil || json.Unmarshal(v, &p) != nil {
		return at, false
	}
	return p.Tested, !p.Tested.After(late)
}
