// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/app/daemon"
	"mirrord/app/replicas"
	"mirrord/app/shares"
	"mirrord/store"
)

// ClusterFound makes known to all nodes of a cluster what mirrord replicas last found on one of them: each
// has the newest in its replicas.json, where pages and searches look. One node makes the daily comparison.
type ClusterFound struct {
	Nodes Nodes
	State *store.State
	Facts shares.Facts
	Log   *slog.Logger

	seen os.FileInfo // replicas.json, as it was last read
	made time.Time   // what it has
}

// kindFound are the facts of it: foundHead -> foundFact, and foundTurn -> foundClaim. What was found lies at
// foundPath of the node that found it.
const (
	kindFound = "replicasfound"
	foundHead = "head"
	foundTurn = "turn"
	foundPath = "/replicasfound"
)

// foundFact says what was found last.
type foundFact struct {
	Made time.Time `json:"made"`
	Node string    `json:"node"`
}

// foundClaim is whose turn the daily comparison is.
type foundClaim struct {
	Node  string    `json:"node"`
	Until time.Time `json:"until"`
}

const (
	// the turn of a node that is gone ends after so long
	foundTurnFor = 2 * time.Hour
	// how far the clocks of nodes may differ: a later time is of a wrong clock, and does not count
	clocksDiffer = time.Hour
)

// ShareFound makes a daemon take its turn in the daily comparison. It comes before IndexOf(d).Keep.
func ShareFound(d *daemon.Daemon, nodes Nodes, facts shares.Facts) *ClusterFound {
	c := &ClusterFound{
		Nodes: nodes,
		State: d.State,
		Facts: facts,
		Log:   d.Log,
	}
	d.Texts.Turn = c.turn
	return c
}

// turn reports whether this node makes the comparison that is due now.
func (c *ClusterFound) turn() (mine bool, err error) {
	now := c.State.Now().UTC()
	err = c.Facts.Change(kindFound, foundTurn, func(v []byte) ([]byte, error) {
		var was foundClaim
		if v != nil && json.Unmarshal(v, &was) == nil && was.Node != c.Nodes.Me() && now.Before(was.Until) &&
			was.Until.Before(now.Add(foundTurnFor+clocksDiffer)) {
			mine = false
			return v, nil
		}
		mine = true
		return json.Marshal(foundClaim{c.Nodes.Me(), now.Add(foundTurnFor)})
	})
	return mine && err == nil, err
}

// Follow exchanges findings until ctx ends.
func (c *ClusterFound) Follow(ctx context.Context) {
	follow(ctx, c.Facts, kindFound, c.Log, func(changed bool) error { return c.settle(ctx, changed) })
}

// counts reports whether what was found at a time is not from a wrong clock.
func (c *ClusterFound) counts(made time.Time) bool {
	return made.Before(c.State.Now().Add(clocksDiffer))
}

// settle exchanges once: the newest counts. changed: another node may have found something.
func (c *ClusterFound) settle(ctx context.Context, changed bool) (err error) {
	file := filepath.Join(c.State.Dir, replicas.ReplicasName)
	fi, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		fi, c.seen, c.made, err = nil, nil, time.Time{}, nil
	}
	if err != nil {
		return err
	}
	fresh := fi != nil && (c.seen == nil || !os.SameFile(fi, c.seen) || !fi.ModTime().Equal(c.seen.ModTime()))
	if !fresh && !changed {
		return nil
	}
	var here *replicas.KnownReplicas
	if fresh {
		if here, err = replicas.LoadReplicas(c.State.Dir); err != nil {
			return err
		}
		c.seen, c.made = fi, here.Made
		defer func() {
			if err != nil {
				c.seen = nil // the next time the local findings are read again
			}
		}()
	}
	if !c.counts(c.made) {
		here, c.made = nil, time.Time{}
	}
	v, err := c.Facts.Get(ctx, kindFound, foundHead)
	if err != nil {
		return err
	}
	var there foundFact
	if v != nil && (json.Unmarshal(v, &there) != nil || !c.counts(there.Made)) {
		there = foundFact{} // it is replaced
	}
	switch {
	case here != nil && here.Made.After(there.Made) && here.Node == "" && len(here.Elsewhere) > 0:
		return c.give(here.Made)
	case there.Made.After(c.made):
		return c.take(ctx, file, &there)
	}
	return nil
}

// give makes known when the local findings were made.
func (c *ClusterFound) give(made time.Time) error {
	return c.Facts.Change(kindFound, foundHead, func(v []byte) ([]byte, error) {
		var was foundFact
		if v != nil && json.Unmarshal(v, &was) == nil && c.counts(was.Made) && !made.After(was.Made) {
			return v, nil // another node was faster
		}
		return json.Marshal(foundFact{made, c.Nodes.Me()})
	})
}

// take writes what another node found, which that one has, and each that took it before.
func (c *ClusterFound) take(ctx context.Context, file string, head *foundFact) error {
	ctx, cancel := context.WithTimeout(ctx, listsWithin)
	defer cancel()
	var k *replicas.KnownReplicas
	var err error
	for _, node := range append([]string{head.Node}, without(c.Nodes.Members(), c.Nodes.Me())...) {
		k = new(replicas.KnownReplicas)
		if err = askNode(ctx, c.Nodes, node, foundPath, k); err == nil && k.Made.Equal(head.Made) {
			break
		}
		err = cmp.Or(err, errors.New("no other node has it"))
	}
	if err != nil {
		return fmt.Errorf("what node %s found: %w", head.Node, err)
	}
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if now, err := os.Stat(file); err == nil && (c.seen == nil || !os.SameFile(now, c.seen)) {
		return nil // it was found again here meanwhile: the next look tells which is newer
	}
	if err := renameio.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	c.made = head.Made
	c.seen, err = os.Stat(file)
	return err
}

// sayFound answers other nodes.
func sayFound(st *store.State, me string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		k, err := replicas.LoadReplicas(st.Dir)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		k.Node = cmp.Or(k.Node, me)
		say(w, k)
	}
}
