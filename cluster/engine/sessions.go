// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"mirrord/cluster/lease"
)

// Sessions tells which nodes of a cluster work: for claims that are kept elsewhere than in the bucket, and
// count as long as the session of a node. Safe for concurrent use.
type Sessions struct{ e *Engine }

// SessionsOf returns what a node knows of them.
func SessionsOf(e *Engine) Sessions { return Sessions{e} }

// Me is the name of this node.
func (s Sessions) Me() string { return s.e.Me() }

// Members returns the names of the nodes that are part of the cluster now.
func (s Sessions) Members() []string { return s.e.Members() }

// Session is the name of the node's session; "": it has none now, and may not act.
func (s Sessions) Session() string {
	session, _, live := s.e.t.live()
	if !live {
		return ""
	}
	return session
}

// Drained reports whether this node is to take nothing.
func (s Sessions) Drained() bool {
	_, p, _ := s.e.t.told()
	return p.drained[s.e.Node]
}

// Over reports whether a session of a node is over. What a keeper says may be older than the session: ask
// twice.
func (s Sessions) Over(ctx context.Context, node, session string) (bool, error) {
	_, p, _ := s.e.t.told()
	if p.members[node].Session == session {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	b, _, err := get[lease.Beat](ctx, s.e.kv, keyBeat+escape(node))
	return b.Ended || b.Session != session, err
}
