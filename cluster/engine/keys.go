// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Kinds of values in the bucket: the first word of a key.
const (
	bucket = "mirrord"

	keyCluster = "cluster" // see Identify

	keyMode  = "mode"   // Options.Mode of all nodes
	keyBeat  = "beat."  // NODE: lease.Beat
	keyNode  = "node."  // NODE: Node, while it is a member
	keyDrain = "drain." // NODE: it takes no sites
	keyHost  = "host."  // HOST: lease.Entry
	keyHome  = "home."  // HOST: the node whose disk has its sites
)

// plain are the bytes of a word that stand for themselves.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// escape makes one word of a key out of any text.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02x", c)
		}
	}
	return b.String()
}

// unescape is the text that escape made a word of; words of others are taken as they are.
func unescape(word string) string {
	text, err := url.PathUnescape(strings.ReplaceAll(word, "=", "%"))
	if err != nil {
		return word
	}
	return text
}

// get reads a key. Without one the revision is 0. What it says may be older than the last write: writes are
// refused then.
func get[T any](ctx context.Context, kv jetstream.KeyValue, key string) (v T, revision uint64, err error) {
	e, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return v, 0, nil
	}
	if err != nil {
		return v, 0, fmt.Errorf("read %s: %w", key, err)
	}
	if err := json.Unmarshal(e.Value(), &v); err != nil {
		return v, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return v, e.Revision(), nil
}

// errOther says that a key has another revision than the one that was to be replaced.
var errOther = errors.New("another node wrote it")

// put writes a key that must have a revision; 0: that must not be there.
func put(ctx context.Context, kv jetstream.KeyValue, key string, v any, revision uint64) (uint64, error) {
	value, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		revision, err = kv.Create(ctx, key, value)
	} else {
		revision, err = kv.Update(ctx, key, value, revision)
	}
	if errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		err = errOther
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	return revision, nil
}
