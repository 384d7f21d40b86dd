// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A value that is removed leaves a mark, by which those who follow learn it. Marks would become more for
// ever, as sessions of users and orders end. After a day they are of no use: who was away for longer sees
// that the value is missing.
const (
	markedFor  = 24 * time.Hour
	sweepFirst = time.Hour // after the start
	sweepEvery = 24 * time.Hour
	sweepAway  = 10 * time.Minute // how long one sweep may take
)

// SweepFacts removes marks of values that were removed from the facts of a cluster, until ctx ends. One of
// its nodes does it.
func SweepFacts(ctx context.Context, e *Engine, f *Facts) {
	for wait := sweepFirst; pause(ctx, wait); wait = sweepEvery {
		members := e.Members()
		if len(members) == 0 || slices.Min(members) != e.Node {
			continue
		}
		short, cancel := context.WithTimeout(ctx, sweepAway)
		n, err := f.sweep(short, markedFor)
		cancel()
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("marks of what was removed stay with the keepers; tried again tomorrow", "err", err)
		}
		e.Log.Debug("marks of what was removed are gone from the keepers", "marks", n)
	}
}

// sweep removes marks that are older than a time, and returns how many.
func (f *Facts) sweep(ctx context.Context, older time.Duration) (n int, err error) {
	type mark struct {
		key      string
		revision uint64
	}
	var marks []mark
	err = entries(ctx, f.kv, []string{">"}, func(e jetstream.KeyValueEntry) (more bool) {
		if e != nil && e.Operation() != jetstream.KeyValuePut && time.Since(e.Created()) > older {
			marks = append(marks, mark{e.Key(), e.Revision()})
		}
		return e != nil
	}, jetstream.MetaOnly())
	if err != nil {
		return 0, err
	}
	stream, err := f.js.Stream(ctx, "KV_"+factsBucket)
	if err != nil {
		return 0, err
	}
	for _, m := range marks { // a value that was written since stays
		err := stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+factsBucket+"."+m.key),
			jetstream.WithPurgeSequence(m.revision+1))
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
