// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mirrord/store/shared"
)

// factsBucket holds what nodes share besides sites: KIND.KEY -> value.
const factsBucket = "mirrord-facts"

// Facts are values that the nodes of a cluster share. What a Facts wrote it reads at once; others read it a
// moment later. Safe for concurrent use.
type Facts struct {
	js  jetstream.JetStream
	kv  jetstream.KeyValue
	own ownWrites
}

var _ shared.KeyValues = (*Facts)(nil)

// ErrNoFacts says that no node of a version that shares facts has ever been part of the cluster.
var ErrNoFacts = errors.New("the cluster has no shared facts: its nodes are of an older version")

// Facts opens what the nodes share besides sites. It waits for the keepers until ctx ends.
func (e *Engine) Facts(ctx context.Context) (*Facts, error) {
	js, err := jetstream.New(e.nc)
	if err != nil {
		return nil, err
	}
	for {
		kv, err := openBucket(ctx, e.nc, jetstream.KeyValueConfig{
			Bucket:      factsBucket,
			Description: "mirrord: what nodes share besides sites",
			Replicas:    e.Replicas,
		})
		if err == nil {
			return &Facts{js: js, kv: kv}, nil
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

// Change implements shared.KeyValues. What a keeper that died was asked is never answered: it is asked again
// after firstAnswer, then after twice the time.
func (f *Facts) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	ctx, cancel := context.WithTimeout(context.Background(), factWithin)
	defer cancel()
	c := changing{name: escape(kind) + "." + escape(key), change: change}
	within := firstAnswer
	for range changesMost {
		short, stop := context.WithTimeout(ctx, within)
		done, err := c.try(short, f)
		stop()
		again := retryOpen
		switch {
		case done:
			return err
		case errors.Is(err, errOther):
			again = 5 * time.Millisecond // the keeper that was read may not have it yet
		default:
			within *= 2
		}
		if hopeless(err) || !pause(ctx, again) {
			return fmt.Errorf("write %s %s: %w", kind, key, err)
		}
	}
	return fmt.Errorf("write %s %s: too many write it at the same time", kind, key)
}

// hopeless reports whether keepers that answer would say the same.
func hopeless(err error) bool {
	return errors.Is(err, nats.ErrMaxPayload) || errors.Is(err, nats.ErrConnectionClosed) ||
		errors.Is(err, jetstream.ErrInvalidKey)
}

// changing is a change of a value, which may take several attempts.
type changing struct {
	name   string
	change func([]byte) ([]byte, error)

	revision uint64 // that now replaces
	now      []byte
	silent   bool // now was written without an answer: it may count
}

// try tries once. It is done when the value is changed, or is not to be, or change fails.
func (c *changing) try(ctx context.Context, f *Facts) (done bool, err error) {
	was, revision, err := f.get(ctx, c.name)
	switch {
	case err != nil:
		return false, err
	case c.silent && sameValue(was, c.now):
		f.own.note(c.name, revision, was == nil)
		return true, nil
	case !c.silent || revision != c.revision:
		now, err := c.change(was)
		if err != nil || sameValue(was, now) {
			return true, err
		}
		c.now, c.revision, c.silent = now, revision, false
	}
	written := revision
	switch {
	case c.now == nil:
		err = f.kv.Delete(ctx, c.name, jetstream.LastRevision(revision))
	case was == nil:
		written, err = f.kv.Create(ctx, c.name, c.now)
	default:
		written, err = f.kv.Update(ctx, c.name, c.now, revision)
	}
	switch {
	case err == nil:
		f.own.note(c.name, written, c.now == nil)
		return true, nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return false, fmt.Errorf("%w: %w", errOther, err)
	}
	c.silent = true
	return false, err
}

// sameValue compares values; nil stands for no value.
func sameValue(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// get reads a value; nil when it is missing.
func (f *Facts) get(ctx context.Context, name string) (value []byte, revision uint64, err error) {
	err = fresh(ctx, func() (older bool, err error) {
		value, revision, err = f.getOnce(ctx, name)
		return f.own.older(name, revision), err
	})
	return value, revision, err
}

func (f *Facts) getOnce(ctx context.Context, name string) (value []byte, revision uint64, err error) {
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

// Get returns one value; nil when it is missing.
func (f *Facts) Get(ctx context.Context, kind, key string) ([]byte, error) {
	v, _, err := f.get(ctx, escape(kind)+"."+escape(key))
	return v, err
}

// All implements shared.KeyValues.
func (f *Facts) All(kind string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), factWithin)
	defer cancel()
	var out map[string][]byte
	prefix := escape(kind) + "."
	err := fresh(ctx, func() (older bool, err error) {
		out = map[string][]byte{}
		read := map[string]uint64{}
		err = list(ctx, f.kv, func(e jetstream.KeyValueEntry) {
			word := strings.TrimPrefix(e.Key(), prefix)
			out[unescape(word)], read[e.Key()] = e.Value(), e.Revision()
		}, prefix+">")
		return f.own.olderIn(prefix, read), err
	})
	return out, err
}

// refollow is how often all values that are followed are read again, regardless of the changes received.
const refollow = time.Hour

// Follow calls changed with each value of a kind, and with each that changes, until ctx ends; nil: it was
// removed. Values that are known come again now and then.
func (f *Facts) Follow(ctx context.Context, kind string, changed func(key string, value []byte)) {
	known := map[string]bool{}
	for ctx.Err() == nil {
		f.follow(ctx, kind, known, changed)
		pause(ctx, time.Second)
	}
}

// follow follows for a time. known are the keys of the values that changed was called with: those that are
// missing were removed before it began.
func (f *Facts) follow(
	ctx context.Context, kind string, known map[string]bool, changed func(string, []byte),
) {
	ctx, cancel := context.WithTimeout(ctx, refollow)
	defer cancel()
	removed := maps.Clone(known)
	_ = entries(ctx, f.kv, []string{escape(kind) + ".>"}, func(e jetstream.KeyValueEntry) (more bool) {
		if e == nil {
			for key := range removed {
				delete(known, key)
				changed(key, nil)
			}
			return true
		}
		_, word, _ := strings.Cut(e.Key(), ".")
		key, value := unescape(word), e.Value()
		if e.Operation() != jetstream.KeyValuePut {
			value = nil
		}
		if known[key] = true; value == nil {
			delete(known, key)
		}
		delete(removed, key)
		changed(key, value)
		return true
	}) // an error: it is followed again
}

// Watch calls changed once all values of some kinds that are there have come, and after each change, until
// ctx ends. changed must not wait.
func (f *Facts) Watch(ctx context.Context, changed func(), kinds ...string) {
	keys := make([]string, len(kinds))
	for i, kind := range kinds {
		keys[i] = escape(kind) + ".>"
	}
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, rewatch)
		all := false
		_ = entries(within, f.kv, keys, func(e jetstream.KeyValueEntry) (more bool) {
			if all = all || e == nil; all {
				changed()
			}
			return true
		}, jetstream.MetaOnly()) // an error: it is watched again
		cancel()
		pause(ctx, time.Second)
	}
}
