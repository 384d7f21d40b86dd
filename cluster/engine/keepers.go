// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// SetKeepers lets what the cluster keeps lie on a number of keepers, and waits until it does or ctx ends.
// They must be there: a keeper that starts with the addresses of the others joins them by itself, and keeps
// nothing before.
func SetKeepers(ctx context.Context, e *Engine, n int) error {
	js, err := jetstream.New(e.nc)
	if err != nil {
		return err
	}
	list := js.ListStreams(ctx)
	var names []string
	for info := range list.Info() {
		if !strings.HasPrefix(info.Config.Name, "KV_"+bucket) {
			continue
		}
		names = append(names, info.Config.Name)
		if info.Config.Replicas == n {
			continue
		}
		config := info.Config
		config.Replicas = n
		if _, err := js.UpdateStream(ctx, config); err != nil {
			return fmt.Errorf("keep %s on %d keepers, all of which must be there: %w", config.Name, n, err)
		}
	}
	if err := list.Err(); err != nil {
		return fmt.Errorf("read what the cluster keeps: %w", err)
	}
	for _, name := range names {
		for !onAll(ctx, js, name, n) {
			if !pause(ctx, retryOpen) {
				return fmt.Errorf("%s is not on %d keepers yet; it is being copied: %w", name, n, ctx.Err())
			}
		}
	}
	return nil
}

// SetMode changes what all nodes must agree on (Options.Mode).
func SetMode(ctx context.Context, e *Engine, mode string) error {
	_, revision, err := get[string](ctx, e.kv, keyMode)
	if err == nil {
		_, err = put(ctx, e.kv, keyMode, mode, revision)
	}
	return err
}

// onAll reports whether a stream is whole on a number of keepers.
func onAll(ctx context.Context, js jetstream.JetStream, name string, n int) bool {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := js.Stream(short, name)
	if err != nil {
		return false
	}
	info, err := s.Info(short)
	if err != nil {
		return false
	}
	if info.Cluster == nil {
		return n == 1
	}
	current := 0
	for _, r := range info.Cluster.Replicas {
		if r.Current && !r.Offline {
			current++
		}
	}
	return info.Cluster.Leader != "" && current == n-1 && len(info.Cluster.Replicas) == n-1
}
