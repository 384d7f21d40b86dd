// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"mirrord/cluster/lease"
)

// Node is what a member says of itself when it begins a session.
type Node struct {
	Session string    `json:"session"`
	Slots   int       `json:"slots"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Jobs    string    `json:"jobs,omitempty"` // digest of its job files
}

// taken is a host that another node has.
type taken struct {
	node string
	at   time.Duration // when that was seen
}

// peers is what nodes tell one another.
type peers struct {
	members map[string]Node
	drained map[string]bool
	homes   map[string]string
}

func newPeers() peers {
	return peers{map[string]Node{}, map[string]bool{}, map[string]string{}}
}

// me is what this node says of itself.
func (e *Engine) me(session string) Node {
	jobs, _, _ := e.t.told()
	return Node{
		Session: session,
		Slots:   e.Slots,
		Version: e.Version,
		Since:   time.Unix(e.began.Load(), 0).UTC(),
		Jobs:    jobs,
	}
}

// announce makes the node a member.
func (e *Engine) announce(ctx context.Context, me Node) {
	value, err := json.Marshal(me)
	if err == nil {
		_, err = e.kv.Put(ctx, keyNode+escape(e.Node), value)
	}
	if err != nil {
		e.Log.Warn("the cluster does not know this node yet", "err", err)
	}
}

// rewatch is how often the list of members is read again, regardless of the watch.
const rewatch = 2 * time.Minute

// keepPeers follows who is a member until ctx ends.
func (e *Engine) keepPeers(ctx context.Context) {
	for {
		if err := e.followPeers(ctx); ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
			e.Log.Warn("the members of the cluster cannot be read", "err", err)
		}
		if !pause(ctx, e.retryBeat()) {
			return
		}
	}
}

func (e *Engine) followPeers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rewatch)
	defer cancel()
	keys := []string{keyNode + ">", keyDrain + ">"}
	if e.Homes {
		keys = append(keys, keyHome+">")
	}
	first := newPeers()
	at := &first // until all that is there has come
	return entries(ctx, e.kv, keys, func(entry jetstream.KeyValueEntry) (more bool) {
		switch {
		case entry == nil:
			e.t.tell(func(p *peers) { *p = first })
			at = nil
		case at != nil:
			at.take(entry)
			return true
		default:
			e.t.tell(func(p *peers) { p.take(entry) })
		}
		e.stillMember(ctx)
		kick(e.wake)
		kick(e.changed)
		return true
	})
}

// stillMember announces a node that others took for dead, or whose job files have changed.
func (e *Engine) stillMember(ctx context.Context) {
	session, _, live := e.t.live()
	jobs, p, known := e.t.told()
	if n := p.members[e.Node]; live && known && (n.Session != session || n.Jobs != jobs) {
		e.announce(ctx, e.me(session))
	}
}

// comparison finds nodes whose job files differ from those of this one.
type comparison struct {
	seen lease.Sightings
	told string
}

// others returns them once when they have differed for a term, and again when all have agreed for a term in
// between: a node that seems dead and comes back is no news.
func (c *comparison) others(jobs string, members map[string]Node, now time.Duration) (names []string) {
	all := jobs
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if n := members[name]; n.Jobs != jobs && n.Jobs != "" && jobs != "" {
			names, all = append(names, name), all+"\n"+name+" "+n.Jobs
		}
	}
	if !c.seen.Silent("jobs", xxh3.HashString(all), now) || c.told == all {
		return nil
	}
	c.told = all
	return names
}

// compareJobs says which nodes have other job files than this one.
func (e *Engine) compareJobs(c *comparison) {
	jobs, p, _ := e.t.told()
	if names := c.others(jobs, p.members, e.Now()); names != nil {
		e.Log.Warn("nodes of the cluster have other job files: a job that not all have may run nowhere",
			"node", e.Node, "others", names)
	}
}

// take takes in one key.
func (p *peers) take(entry jetstream.KeyValueEntry) {
	kind, word, _ := strings.Cut(entry.Key(), ".")
	name, there := unescape(word), entry.Operation() == jetstream.KeyValuePut
	switch kind + "." {
	case keyNode:
		var n Node
		if there && json.Unmarshal(entry.Value(), &n) == nil {
			p.members[name] = n
		} else {
			delete(p.members, name)
		}
	case keyDrain:
		if there {
			p.drained[name] = true
		} else {
			delete(p.drained, name)
		}
	case keyHome:
		if there {
			p.homes[name] = string(entry.Value())
		} else {
			delete(p.homes, name)
		}
	}
}
