// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"mirrord/fetch/robots"
)

// robotsBucket has robots.txt by origin, each for as long as it may be used.
const (
	robotsBucket = "mirrord-robots"
	robotsKept   = 24 * time.Hour
	robotsWithin = 3 * time.Second // then a node does without the others
)

// Robots keeps robots.txt of hosts for all nodes, with their times. Safe for concurrent use.
type Robots struct{ kv jetstream.KeyValue }

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
			return &Robots{kv}, nil
		}
		if !pause(ctx, retryOpen) {
			return nil, fmt.Errorf("open what the nodes know of robots.txt: %w", err)
		}
	}
}

// LoadHost returns the record of an origin; ok is false without one.
func (r *Robots) LoadHost(origin string) (f robots.FileCopy, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), robotsWithin)
	defer cancel()
	f, _, err = get[robots.FileCopy](ctx, r.kv, escape(origin))
	return f, !f.Fetched.IsZero(), err
}

// SaveHost replaces the record of an origin.
func (r *Robots) SaveHost(origin string, f robots.FileCopy) error {
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
