// SPDX-License-Identifier: Apache-2.0

// Package lease decides who of a cluster may request a host and write its sites: the rules only, without a
// network and without a clock. The engine and the simulation follow the same ones.
//
// A node says again and again that it is there: its beat, one key of the store. All its leases live as long
// as its session, so that a node with a thousand hosts costs no more messages than one with a single host. A
// host is taken by writing its entry at the revision that was read.
//
// No two machines compare clocks. Who holds counts from when it sent its last beat that arrived, and stops
// two thirds of a term later. Who waits counts from when it first saw the beat that it still sees, and takes
// over after a whole term. The first moment is before the second, so that the holder has stopped, as long as
// the clocks of two machines do not differ in speed by a third.
package lease

import "time"

// Term is how long messages of a cluster count.
type Term struct {
	TTL time.Duration // without a beat, until others take over
	Gap time.Duration // without a request to a host when another machine takes it over
}

// Renew is the time between two beats.
func (t Term) Renew() time.Duration { return t.TTL / 3 }

// End is how long after its last beat a node stops.
func (t Term) End() time.Duration { return t.TTL * 2 / 3 }

// Beat is what a node says of itself.
type Beat struct {
	Session string `json:"session"`         // of one life of the node's process
	Ended   bool   `json:"ended,omitempty"` // by itself, or by who saw it silent for a term
}

// Holder is the side of who has a session. Times are by a steady clock of its machine.
type Holder struct {
	Name string // "" for none
	Term Term
	sent time.Duration
}

// Renewed notes that a beat sent at a time has arrived.
func (s *Holder) Renewed(sent time.Duration) { s.sent = max(s.sent, sent) }

// Live reports whether the node may still act.
func (s *Holder) Live(now time.Duration) bool { return s.Name != "" && now < s.EndsAt() }

// EndsAt is when the node stops if no further beat arrives.
func (s *Holder) EndsAt() time.Duration { return s.sent + s.Term.End() }

// Sightings is the side of who waits: since when what stands under a key has been the same. The zero value
// but for Term has seen nothing.
type Sightings struct {
	Term Term
	seen map[string]sighting
}

type sighting struct {
	revision uint64
	since    time.Duration
}

// Silent notes what stands under a key now, and reports whether it has been that for a whole term.
func (s *Sightings) Silent(key string, revision uint64, now time.Duration) bool {
	at, ok := s.seen[key]
	if !ok || at.revision != revision {
		if s.seen == nil {
			s.seen = map[string]sighting{}
		}
		at = sighting{revision, now}
		s.seen[key] = at
	}
	return now-at.since >= s.Term.TTL
}

// Entry is the stored holder of a host.
type Entry struct {
	Node    string `json:"node,omitempty"`    // that has it, or had it last
	Session string `json:"session,omitempty"` // of that node
	Free    bool   `json:"free,omitempty"`    // it was given back
	Token   uint64 `json:"token"`             // grows with each lease: the largest that may be given out
}

// tokensAtOnce is how many tokens a session takes with a host.
const tokensAtOnce = 256

// Tokens are those that a session took with a host. It gives out the leases of the host's sites with them,
// one after the other, without a request: also while the keepers choose a leader. The zero value has none.
type Tokens struct{ next, last uint64 }

// Next returns the next token; ok is false when none above floor is left: the host has to be taken again.
func (t *Tokens) Next(floor uint64) (token uint64, ok bool) {
	if t.next <= floor || t.next > t.last {
		return 0, false
	}
	t.next++
	return t.next - 1, true
}

// Taken returns the entry with which a session takes the host, and whether it must keep the gap before its
// first request, because another one may have made one. ok is false when another session has the host.
// holder is the beat of the node in the entry; none without revision. floor is a token that those of the
// session must exceed.
func (e Entry) Taken(
	node, session string, holder Beat, revision, floor uint64,
) (next Entry, tokens Tokens, gap, ok bool) {
	last := max(e.Token, floor)
	tokens = Tokens{last + 1, last + tokensAtOnce}
	next = Entry{Node: node, Session: session, Token: tokens.last}
	switch {
	case e.Session == session:
		return next, tokens, false, true
	case e.Session == "":
		return next, tokens, false, true
	case e.Free, revision > 0 && (holder.Ended || holder.Session != e.Session):
		return next, tokens, true, true
	}
	return Entry{}, Tokens{}, false, false
}

// Given returns the entry with which its holder gives the host back.
func (e Entry) Given() Entry {
	e.Free = true
	return e
}

// Opens reports whether a node may begin a session: no other session lives under its name. before is the
// name of its own last session; silent is what Sightings says of the beat.
func Opens(b Beat, revision uint64, before string, silent bool) bool {
	return revision == 0 || b.Ended || b.Session == before || silent
}
