// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"

	"mirrord/app/daemon"
	"mirrord/app/replicas"
	"mirrord/app/shares"
	"mirrord/internal/timed"
	"mirrord/store"
)

// ClusterFound makes known to all nodes of a cluster what mirrord replicas last found on one of them: each
// has the newest in its replicas.json, where pages and searches look. One node makes the daily comparison.
type ClusterFound struct {
	Node  string
	State *store.State
	Facts shares.Facts
	Log   *slog.Logger

	seen os.FileInfo // replicas.json, as it was last read
	made time.Time   // what it has
}

// kindFound are the facts of it: foundHead -> foundFact, foundTurn -> foundClaim, and the pieces of what was
// found, JSON in zstd, each under ID.NUMBER.
const (
	kindFound = "replicasfound"
	foundHead = "head"
	foundTurn = "turn"
)

// foundFact says what was found last.
type foundFact struct {
	Made   time.Time    `json:"made"`
	Node   string       `json:"node"`
	ID     string       `json:"id"`     // of the pieces
	Pieces int          `json:"pieces"` // how many there are
	SHA256 store.SHA256 `json:"sha256"` // of all
}

// foundClaim is whose turn the daily comparison is.
type foundClaim struct {
	Node  string    `json:"node"`
	Until time.Time `json:"until"`
}

const (
	foundPiece = 256 << 10
	mostPacked = 8 << 20   // bytes, packed: larger findings stay on their node
	mostSpread = 256 << 20 // and unpacked
	// the turn of a node that is gone ends after so long
	foundTurnFor = 2 * time.Hour
	// pieces without a head are removed after so long
	foundLeft = 24 * time.Hour
	// how far the clocks of nodes may differ: a later time is of a wrong clock, and does not count
	clocksDiffer = time.Hour
)

// ShareFound makes a daemon take its turn in the daily comparison. It comes before IndexOf(d).Keep.
func ShareFound(d *daemon.Daemon, node string, facts shares.Facts) *ClusterFound {
	c := &ClusterFound{
		Node:  node,
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
		if v != nil && json.Unmarshal(v, &was) == nil && was.Node != c.Node && now.Before(was.Until) &&
			was.Until.Before(now.Add(foundTurnFor+clocksDiffer)) {
			mine = false
			return v, nil
		}
		mine = true
		return json.Marshal(foundClaim{c.Node, now.Add(foundTurnFor)})
	})
	return mine && err == nil, err
}

// Follow exchanges findings until ctx ends.
func (c *ClusterFound) Follow(ctx context.Context) {
	var changed atomic.Bool
	changed.Store(true)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.Facts.Watch(ctx, func() { changed.Store(true) }, kindFound)
	}()
	defer func() { <-watched }()
	for {
		if err := c.settle(ctx, changed.Swap(false)); err != nil {
			changed.Store(true)
			if ctx.Err() == nil {
				c.Log.Warn("what was found of replicas is not exchanged with the cluster; tried again", "err", err)
			}
		}
		if timed.Wait(ctx, pairsEvery) != nil {
			return
		}
	}
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
		return c.give(here)
	case there.Made.After(c.made):
		return c.take(ctx, file, &there)
	}
	return nil
}

// give publishes the local findings: pieces first, then the head that names them.
func (c *ClusterFound) give(k *replicas.KnownReplicas) error {
	k.Node = c.Node
	data, err := json.Marshal(k)
	if err != nil {
		return err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer enc.Close()
	packed := enc.EncodeAll(data, nil)
	if len(packed) > mostPacked {
		c.Log.Warn("what was found of replicas stays on this node: it is too large for the keepers", "bytes",
			len(packed))
		return nil
	}
	head := &foundFact{
		Made:   k.Made,
		Node:   c.Node,
		ID:     fmt.Sprintf("%d-%s", k.Made.UnixMilli(), c.Node),
		SHA256: sha256.Sum256(packed),
	}
	for at := 0; at < len(packed); at += foundPiece {
		piece := packed[at:min(at+foundPiece, len(packed))]
		err := c.Facts.Change(kindFound, head.piece(head.Pieces), func([]byte) ([]byte, error) {
			return piece, nil
		})
		if err != nil {
			return err
		}
		head.Pieces++
	}
	var was, now foundFact
	err = c.Facts.Change(kindFound, foundHead, func(v []byte) ([]byte, error) {
		was = foundFact{}
		if v != nil && json.Unmarshal(v, &was) == nil && c.counts(was.Made) && !head.Made.After(was.Made) {
			now = was // another node was faster
			return v, nil
		}
		now = *head
		return json.Marshal(head)
	})
	if err != nil {
		return err
	}
	return c.tidy(&was, &now)
}

// piece is the key of a piece.
func (f *foundFact) piece(n int) string { return f.ID + "." + strconv.Itoa(n) }

// tidy removes the pieces that the previous head named, and old ones that no head names: a process was
// killed between writing both.
func (c *ClusterFound) tidy(was, now *foundFact) error {
	all, err := c.Facts.All(kindFound)
	if err != nil {
		return err
	}
	for key := range all {
		end := strings.LastIndexByte(key, '.')
		if end < 0 || key[:end] == now.ID {
			continue
		}
		id := key[:end]
		ms, _, _ := strings.Cut(id, "-")
		at, err := strconv.ParseInt(ms, 10, 64)
		if id == was.ID || (err == nil && now.Made.Sub(time.UnixMilli(at)) > foundLeft) {
			err := c.Facts.Change(kindFound, key, func([]byte) ([]byte, error) { return nil, nil })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// take writes what another node found.
func (c *ClusterFound) take(ctx context.Context, file string, head *foundFact) error {
	var packed []byte
	for n := range head.Pieces {
		piece, err := c.Facts.Get(ctx, kindFound, head.piece(n))
		if err != nil {
			return err
		}
		if packed = append(packed, piece...); piece == nil || len(packed) > mostPacked {
			return fmt.Errorf("what node %s found: piece %d of %d is missing", head.Node, n, head.Pieces)
		}
	}
	if sha256.Sum256(packed) != head.SHA256 {
		return fmt.Errorf("what node %s found is damaged", head.Node)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostSpread))
	if err != nil {
		return err
	}
	defer dec.Close()
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("what node %s found: %w", head.Node, err)
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
