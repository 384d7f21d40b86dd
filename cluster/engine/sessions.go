// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"mirrord/cluster/lease"
)

// Sessions tells which nodes of a cluster work: for claims that are kept elsewhere than in the bucket, and
// count as long as the session of a node. Safe for concurrent use.
type Sessions struct{ *Engine }

// Session is the name of the node's session; "": it has none now, and may not act.
func (s Sessions) Session() string {
	session, _, live := s.t.live()
	if !live {
		return ""
	}
	return session
}

// Drained reports whether this node is to take nothing.
func (s Sessions) Drained() bool {
	_, p, _ := s.t.told()
	return p.drained[s.Node]
}

// Over reports whether a session of a node is over. What a keeper says may be older than the session: ask
// twice.
func (s Sessions) Over(ctx context.Context, node, session string) (bool, error) {
	_, p, _ := s.t.told()
	if p.members[node].Session == session {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	b, _, err := get[lease.Beat](ctx, s.kv, keyBeat+escape(node))
	return b.Ended || b.Session != session, err
}
