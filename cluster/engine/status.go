// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mirrord/cluster/lease"
)

// Status is how a cluster stands.
type Status struct {
	Keepers []KeeperStatus `json:"keepers"`
	Nodes   []NodeStatus   `json:"nodes"`
}

// KeeperStatus is the status of one keeper.
type KeeperStatus struct {
	Name   string `json:"name"`
	Leader bool   `json:"leader,omitempty"` // it orders the writes
	Away   bool   `json:"away,omitempty"`   // it does not follow the leader
}

// NodeStatus is the status of one node.
type NodeStatus struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Slots   int       `json:"slots,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Hosts   int       `json:"hosts"`           // that it has
	Homes   int       `json:"homes,omitempty"` // hosts whose sites lie on its disk
	Drained bool      `json:"drained,omitempty"`
	Differs bool      `json:"differs,omitempty"` // its job files are not those of most nodes
	Away    bool      `json:"away,omitempty"`    // it is no member now
}

// Look reads how the cluster of an open engine stands.
func (e *Engine) Look(ctx context.Context) (*Status, error) {
	s := &Status{Keepers: []KeeperStatus{}, Nodes: []NodeStatus{}}
	if err := e.lookAtKeepers(ctx, s); err != nil {
		return nil, err
	}
	p := newPeers()
	hosts, homes := map[string]int{}, map[string]int{}
	err := list(ctx, e.kv, func(entry jetstream.KeyValueEntry) {
		p.take(entry)
		var has lease.Entry
		switch kind, _, _ := strings.Cut(entry.Key(), "."); kind + "." {
		case keyHost:
			if json.Unmarshal(entry.Value(), &has) == nil && !has.Free {
				hosts[has.Session]++
			}
		case keyHome:
			homes[string(entry.Value())]++
		}
	}, keyNode+">", keyDrain+">", keyHost+">", keyHome+">")
	if err != nil {
		return nil, err
	}
	for name := range homes {
		if _, ok := p.members[name]; !ok {
			s.Nodes = append(s.Nodes, NodeStatus{
				Name:    name,
				Homes:   homes[name],
				Drained: p.drained[name],
				Away:    true,
			})
		}
	}
	usual := usualJobs(p.members)
	for name, n := range p.members {
		s.Nodes = append(s.Nodes, NodeStatus{
			Name:    name,
			Version: n.Version,
			Slots:   n.Slots,
			Since:   n.Since,
			Hosts:   hosts[n.Session],
			Homes:   homes[name],
			Drained: p.drained[name],
			Differs: n.Jobs != usual,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// usualJobs is the digest of job files that most members have; of several the least.
func usualJobs(members map[string]Node) (usual string) {
	count := map[string]int{}
	for _, n := range members {
		count[n.Jobs]++
	}
	for jobs, n := range count {
		if n > count[usual] || (n == count[usual] && jobs < usual) {
			usual = jobs
		}
	}
	return usual
}

// list calls f for all keys of some kinds.
func list(
	ctx context.Context, kv jetstream.KeyValue, f func(jetstream.KeyValueEntry), kinds ...string,
) error {
	return entries(ctx, kv, kinds, func(e jetstream.KeyValueEntry) (more bool) {
		if e != nil {
			f(e)
		}
		return e != nil
	}, jetstream.IgnoreDeletes())
}

// entries calls on with all entries of some keys, then with nil, then with each that changes, as long as it
// wants more. Keepers that are silent at the start, as a watch may find them that begins while one stops, are
// an error.
func entries(
	ctx context.Context, kv jetstream.KeyValue, keys []string, on func(jetstream.KeyValueEntry) (more bool),
	o ...jetstream.WatchOpt,
) error {
	w, err := kv.WatchFiltered(ctx, keys, o...)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	defer w.Stop()
	late := time.NewTimer(firstWithin)
	defer late.Stop()
	for first := true; ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("read the cluster: %w", ctx.Err())
		case <-late.C:
			return errors.New("read the cluster: the keepers do not answer")
		case e, ok := <-w.Updates():
			switch {
			case !ok:
				return errors.New("read the cluster: the connection ended")
			case e == nil: // that was all
				late.Stop()
				first = false
			case first:
				late.Reset(firstWithin)
			}
			if !on(e) {
				return nil
			}
		}
	}
}

// firstWithin is how long keepers may take to send the next entry at the start of a watch.
const firstWithin = 5 * time.Second

func (e *Engine) lookAtKeepers(ctx context.Context, s *Status) error {
	b, err := e.kv.Status(ctx)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	bs, ok := b.(*jetstream.KeyValueBucketStatus)
	if !ok || bs.StreamInfo().Cluster == nil || bs.StreamInfo().Cluster.Leader == "" {
		name := e.nc.ConnectedServerName()
		s.Keepers = append(s.Keepers, KeeperStatus{Name: name, Leader: true})
		return nil
	}
	c := bs.StreamInfo().Cluster
	s.Keepers = append(s.Keepers, KeeperStatus{Name: c.Leader, Leader: true})
	for _, r := range c.Replicas {
		s.Keepers = append(s.Keepers, KeeperStatus{Name: r.Name, Away: r.Offline || !r.Current})
	}
	slices.SortFunc(s.Keepers, func(a, b KeeperStatus) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// Drain lets a node take no further sites, or takes that back.
func (e *Engine) Drain(ctx context.Context, node string, off bool) (err error) {
	if off {
		err = e.kv.Delete(ctx, keyDrain+escape(node))
	} else {
		_, err = e.kv.Put(ctx, keyDrain+escape(node), []byte("true"))
	}
	return err
}

// ErrMember says that a node is part of the cluster.
var ErrMember = errors.New("the node is part of the cluster; stop its daemon first")

// ErrNoMember says that a cluster never had a node.
var ErrNoMember = errors.New("the cluster never had a node of that name")

// Remove forgets a node that is gone for good, and returns how many hosts lose their home: others mirror
// them again.
func (e *Engine) Remove(ctx context.Context, node string) (homes int, err error) {
	_, member, err := get[Node](ctx, e.kv, keyNode+escape(node))
	if err != nil {
		return 0, err
	}
	_, ever, err := get[lease.Beat](ctx, e.kv, keyBeat+escape(node))
	switch {
	case err != nil:
		return 0, err
	case member > 0:
		return 0, fmt.Errorf("remove %s: %w", node, ErrMember)
	case ever == 0:
		return 0, fmt.Errorf("remove %s: %w", node, ErrNoMember)
	}
	var keys []string
	err = list(ctx, e.kv, func(entry jetstream.KeyValueEntry) {
		if string(entry.Value()) == node {
			keys = append(keys, entry.Key())
		}
	}, keyHome+">")
	for _, key := range keys {
		err = errors.Join(err, e.kv.Delete(ctx, key))
	}
	return len(keys), errors.Join(err, e.kv.Delete(ctx, keyDrain+escape(node)))
}

// notAvailable is the code of the answer of a keeper that hears of no leader.
const notAvailable = 10008

// NoMajority reports whether an error says that a keeper answered, and that most are away or choose a leader.
func NoMajority(err error) bool {
	if errors.Is(err, nats.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrNoStreamResponse) {
		return true
	}
	if e, ok := errors.AsType[*nats.APIError](err); ok { // of a watch
		return e.ErrorCode == notAvailable
	}
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && e.ErrorCode == notAvailable
}
