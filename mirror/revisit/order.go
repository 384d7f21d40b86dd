// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"

	"mirrord/evolution/policy"
)

// inOrder passes outcomes to a plan in the order in which the plan handed out their URLs, a batch at a time:
// whenever the plan hands out a batch it knows the outcomes of all batches before but the last one. Each
// outcome decides which URLs are worth a request after it, so that without this order the requests of a run
// would depend on how its answers happen to overlap. At most two batches are open at a time.
type inOrder struct {
	by      func(u, v policy.ID) int   // orders those aside
	batches [][]uint32                 // handed out, oldest first, and not passed yet
	came    map[uint32]*policy.Outcome // of those in batches; nil while it is missing
	aside   []policy.Outcome           // of what was not handed out: evidence, audits, entry points
}

// push notes a batch that was handed out. An empty one counts: the batch before it is passed next.
func (q *inOrder) push(ids []uint32) {
	if q.came == nil {
		q.came = map[uint32]*policy.Outcome{}
	}
	for _, id := range ids {
		if _, waits := q.came[id]; !waits {
			q.came[id] = nil
		}
	}
	q.batches = append(q.batches, ids)
}

// add takes an outcome.
func (q *inOrder) add(o policy.Outcome) {
	id := uint32(o.Unit)
	if have, waits := q.came[id]; waits && have == nil {
		q.came[id] = &o
		return
	}
	q.aside = append(q.aside, o)
}

// missing returns the oldest URL whose outcome the next batch needs.
func (q *inOrder) missing() (id uint32, some bool) {
	for i := range len(q.batches) - 1 {
		for _, id := range q.batches[i] {
			if o, waits := q.came[id]; waits && o == nil {
				return id, true
			}
		}
	}
	return 0, false
}

// pass returns the outcomes that the plan receives before it hands out the next batch. Nothing may be
// missing.
func (q *inOrder) pass() (out []policy.Outcome) {
	slices.SortStableFunc(q.aside, func(a, b policy.Outcome) int { return q.by(a.Unit, b.Unit) })
	out, q.aside = q.aside, nil
	for len(q.batches) > 1 || (len(q.batches) == 1 && len(q.batches[0]) == 0) {
		for _, id := range q.batches[0] {
			if o := q.came[id]; o != nil {
				out = append(out, *o)
			}
			delete(q.came, id)
		}
		q.batches = q.batches[1:]
	}
	return out
}

// rest returns all outcomes that were not passed yet.
func (q *inOrder) rest() []policy.Outcome {
	q.push(nil)
	return q.pass()
}

// isEmpty reports whether no outcome is awaited or to be passed.
func (q *inOrder) isEmpty() bool { return len(q.came) == 0 && len(q.aside) == 0 }

// giveUp does not await the outcomes any longer that the next batch needs: they are passed when they come.
func (q *inOrder) giveUp() {
	for i := range len(q.batches) - 1 {
		for _, id := range q.batches[i] {
			if o, waits := q.came[id]; waits && o == nil {
				delete(q.came, id)
			}
		}
	}
}
