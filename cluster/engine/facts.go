// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"mirrord/store"
)

// factsBucket holds what nodes share besides sites: KIND.KEY -> value.
const factsBucket = "mirrord-facts"

// Facts are values that the nodes of a cluster share. Safe for concurrent use.
type Facts struct {
	kv jetstream.KeyValue
}

var _ store.Shared = (*Facts)(nil)

// ErrNoFacts says that no node of a version that shares facts has ever been part of the cluster.
var ErrNoFacts = errors.New("the cluster has no shared facts: its nodes are of an older version")

// Facts opens what the nodes share besides sites. It waits for the keepers until ctx ends.
func (e *Engine) Facts(ctx context.Context) (*Facts, error) {
	for {
		kv, err := openBucket(ctx, e.nc, factsBucket, "mirrord: what nodes share besides sites", e.o.Replicas)
		if err == nil {
			return &Facts{kv}, nil
		}
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			return nil, ErrNoFacts
		}
		if !pause(ctx, retryOpen) {
			return nil, fmt.Errorf("read what the nodes of the cluster share: %w", err)
		}
	}
}

// factWithin is how long a fact may take to be read or written, when the keepers choose a new leader.
const factWithin = 15 * time.Second

// changesMost is how often a change is tried again when others write the same key.
const changesMost = 100

// Change implements store.Shared.
func (f *Facts) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), factWithin)
	defer cancel()
	name := escape(kind) + "." + escape(key)
	for range changesMost {
		was, revision, err := f.get(ctx, name)
		if err != nil {
			return err
		}
		now, err := change(was)
		if err != nil || (now == nil && was == nil) || (now != nil && was != nil && bytes.Equal(now, was)) {
			return err
		}
		switch {
		case now == nil:
			err = f.kv.Delete(ctx, name, jetstream.LastRevision(revision))
		case was == nil:
			_, err = f.kv.Create(ctx, name, now)
		default:
			_, err = f.kv.Update(ctx, name, now, revision)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
			if !pause(ctx, 5*time.Millisecond) { // the keeper that was read may not have it yet
				return ctx.Err()
			}
		default:
			return fmt.Errorf("write %s %s: %w", kind, key, err)
		}
	}
	return fmt.Errorf("write %s %s: too many write it at the same time", kind, key)
}

// get reads a value; nil: there is none.
func (f *Facts) get(ctx context.Context, name string) (value []byte, revision uint64, err error) {
	e, err := f.kv.Get(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	case e.Value() == nil:
		return []byte{}, e.Revision(), nil
	}
	return e.Value(), e.Revision(), nil
}

// Get returns one value; nil: there is none.
func (f *Facts) Get(ctx context.Context, kind, key string) ([]byte, error) {
	v, _, err := f.get(ctx, escape(kind)+"."+escape(key))
	return v, err
}

// All implements store.Shared.
func (f *Facts) All(kind string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), factWithin)
	defer cancel()
	out := map[string][]byte{}
	err := list(ctx, f.kv, func(e jetstream.KeyValueEntry) {
		_, word, _ := strings.Cut(e.Key(), ".")
		out[unescape(word)] = e.Value()
	}, escape(kind)+".>")
	return out, err
}

// refollow is how often all values that are followed are read again, whatever came of their changes.
const refollow = time.Hour

// Follow calls changed with each value of a kind, and with each that changes, until ctx ends; nil: it was
// removed. Values that are known come again now and then.
func (f *Facts) Follow(ctx context.Context, kind string, changed func(key string, value []byte)) {
	for ctx.Err() == nil {
		f.follow(ctx, kind, changed)
		pause(ctx, time.Second)
	}
}

func (f *Facts) follow(ctx context.Context, kind string, changed func(string, []byte)) {
	ctx, cancel := context.WithTimeout(ctx, refollow)
	defer cancel()
	w, err := f.kv.WatchFiltered(ctx, []string{escape(kind) + ".>"})
	if err != nil {
		return
	}
	defer w.Stop()
	late := time.NewTimer(firstWithin)
	defer late.Stop()
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return
			case e == nil: // that was all
				late.Stop()
				first = false
				continue
			case first:
				late.Reset(firstWithin)
			}
			_, word, _ := strings.Cut(e.Key(), ".")
			value := e.Value()
			if e.Operation() != jetstream.KeyValuePut {
				value = nil
			}
			changed(unescape(word), value)
		}
	}
}

// Watch calls changed once all values of some kinds that are there have come, and after each change, until
// ctx ends. A call may be for several changes.
func (f *Facts) Watch(ctx context.Context, changed func(), kinds ...string) {
	wake := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
				changed()
			}
		}
	})
	for ctx.Err() == nil {
		f.watch(ctx, wake, kinds)
		pause(ctx, time.Second)
	}
}

func (f *Facts) watch(ctx context.Context, wake chan struct{}, kinds []string) {
	ctx, cancel := context.WithTimeout(ctx, rewatch)
	defer cancel()
	keys := make([]string, len(kinds))
	for i, kind := range kinds {
		keys[i] = escape(kind) + ".>"
	}
	w, err := f.kv.WatchFiltered(ctx, keys, jetstream.MetaOnly())
	if err != nil {
		return
	}
	defer w.Stop()
	late := time.NewTimer(firstWithin)
	defer late.Stop()
	first := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-late.C:
			return
		case e, ok := <-w.Updates():
			if !ok {
				return
			}
			if e == nil {
				late.Stop()
				first = false
			}
			if !first {
				kick(wake)
			}
		}
	}
}
