// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"mirrord/cluster/lease"
	"mirrord/store"
)

// robotsBucket has robots.txt by origin, each for as long as it may be used.
const (
	robotsBucket = "mirrord-robots"
	robotsKept   = 24 * time.Hour
	robotsWithin = 3 * time.Second // then a node does without the others
)

// A node that is about to ask an origin claims it, by a write at the revision that it has read: one asks, and
// the others wait for what it got. A claim ends with that, with the session of its node, or when it has been
// waited for so long.
const claimMost = 20 * time.Second

// Pauses between two looks at another node's claim.
const (
	claimLook  = 50 * time.Millisecond
	claimLooks = 500 * time.Millisecond // most
)

// Robots keeps robots.txt of hosts for all nodes, with their times. Safe for concurrent use.
type Robots struct {
	kv     jetstream.KeyValue
	e      *Engine
	number atomic.Int64 // of the last claim
}

// robotsValue is a value in the bucket. Nodes of older versions see the fact alone.
type robotsValue struct {
	store.HostFact
	Claim robotsClaim `json:"claim,omitzero"`
}

// robotsClaim says who asks an origin.
type robotsClaim struct {
	Node    string `json:"node"`
	Session string `json:"session"`
	Number  int64  `json:"number"` // several jobs of a node may want to ask
}

// OpenRobots opens what the nodes know of robots.txt. It waits for the keepers until ctx ends.
func OpenRobots(ctx context.Context, e *Engine) (*Robots, error) {
	for {
		kv, err := openBucket(ctx, e.nc, jetstream.KeyValueConfig{
			Bucket:      robotsBucket,
			Description: "mirrord: robots.txt of hosts",
			TTL:         robotsKept,
			Replicas:    max(e.Replicas, 1),
			Compression: true,
		})
		if err == nil {
			return &Robots{kv: kv, e: e}, nil
		}
		if !pause(ctx, retryOpen) {
			return nil, fmt.Errorf("open what the nodes know of robots.txt: %w", err)
		}
	}
}

// LoadHost returns the record of an origin; ok is false without one.
func (r *Robots) LoadHost(origin string) (f store.HostFact, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), robotsWithin)
	defer cancel()
	v, _, err := get[robotsValue](ctx, r.kv, escape(origin))
	return v.HostFact, !v.Fetched.IsZero(), err
}

// SaveHost replaces the record of an origin, and a claim to it.
func (r *Robots) SaveHost(origin string, f store.HostFact) error {
	ctx, cancel := context.WithTimeout(context.Background(), robotsWithin)
	defer cancel()
	value, err := json.Marshal(f)
	if err == nil {
		_, err = r.kv.Put(ctx, escape(origin), value)
	}
	if err != nil {
		return fmt.Errorf("share robots.txt of %s: %w", origin, err)
	}
	return nil
}

// ClaimHost waits while another node, or another job of this one, asks an origin for its robots.txt. When the
// answer has come, or no node asks, or the other one does not end, it returns: the caller looks once
// more and may ask then. done says that it asks no more. Without keepers each asks for itself.
func (r *Robots) ClaimHost(ctx context.Context, origin string) (done func()) {
	ctx, cancel := context.WithTimeout(ctx, claimMost+robotsWithin)
	defer cancel()
	none := func() {}
	session, _, live := r.e.t.live()
	if !live {
		return none
	}
	key, wait := escape(origin), claimLook
	var first time.Time // what was known when the wait began
	var other robotsClaim
	var until time.Duration // by which the other one is to end
	for waited := false; ; waited = true {
		v, revision, err := get[robotsValue](ctx, r.kv, key)
		switch now := r.e.Now(); {
		case err != nil:
			return none
		case !waited:
			first = v.Fetched
		case v.Claim == robotsClaim{} && v.Fetched.After(first):
			return none // the answer
		case v.Claim != other:
			until = 0
		case now >= until:
			v.Claim = robotsClaim{}
		}
		if v.Claim != (robotsClaim{}) && r.asks(ctx, v.Claim) {
			if until == 0 {
				other, until = v.Claim, r.e.Now()+claimMost
			}
			if !pause(ctx, wait) {
				return none
			}
			wait = min(2*wait, claimLooks)
			continue
		}
		v.Claim = robotsClaim{Node: r.e.Node, Session: session, Number: r.number.Add(1)}
		if _, err = put(ctx, r.kv, key, v, revision); err == nil {
			return func() { r.disclaim(origin, v.Claim) }
		}
		if !errors.Is(err, errOther) || !pause(ctx, claimLook) {
			return none
		}
	}
}

// asks reports whether the holder of a claim may still be asking the origin.
func (r *Robots) asks(ctx context.Context, c robotsClaim) bool {
	if session, _, live := r.e.t.live(); c.Node == r.e.Node {
		return live && c.Session == session
	}
	b, _, err := get[lease.Beat](ctx, r.e.kv, keyBeat+escape(c.Node))
	return err != nil || (b.Session == c.Session && !b.Ended)
}

// disclaim takes a claim back that came to no answer. One that stays ends with the session, or after
// claimMost.
func (r *Robots) disclaim(origin string, c robotsClaim) {
	ctx, cancel := context.WithTimeout(context.Background(), robotsWithin)
	defer cancel()
	v, revision, err := get[robotsValue](ctx, r.kv, escape(origin))
	if err != nil || v.Claim != c {
		return
	}
	if v.Claim = (robotsClaim{}); v.Fetched.IsZero() {
		err = r.kv.Delete(ctx, escape(origin), jetstream.LastRevision(revision))
	} else {
		_, err = put(ctx, r.kv, escape(origin), v, revision)
	}
	if err != nil {
		r.e.Log.Debug("robots.txt stays claimed for a moment", "host", origin, "err", err)
	}
}
