// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"cmp"
	"slices"
	"time"
)

// event is what happens at a time; of two at the same time the one that was added first.
type event struct {
	at   time.Duration
	seq  int
	node *simNode // nil: of the network
	life int      // of the node
	do   func()
}

func (e event) before(f event) bool {
	return e.at < f.at || (e.at == f.at && e.seq < f.seq)
}

// events are a queue: those of this second are a heap, those of each later one wait in no order.
type events struct {
	seq    int
	second int
	soon   []event
	later  [][]event
}

func (q *events) add(e event) {
	q.seq++
	e.seq = q.seq
	second := int(e.at / time.Second)
	if second > q.second {
		for len(q.later) <= second {
			q.later = append(q.later, nil)
		}
		q.later[second] = append(q.later[second], e)
		return
	}
	q.soon = append(q.soon, e)
	for i := len(q.soon) - 1; i > 0; {
		up := (i - 1) / 2
		if q.soon[up].before(q.soon[i]) {
			break
		}
		q.soon[up], q.soon[i] = q.soon[i], q.soon[up]
		i = up
	}
}

func (q *events) next() (e event, ok bool) {
	for len(q.soon) == 0 {
		if q.second++; q.second >= len(q.later) {
			return e, false
		}
		q.soon, q.later[q.second] = q.later[q.second], nil
		slices.SortFunc(q.soon, func(a, b event) int { // a heap too
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
		})
	}
	e = q.soon[0]
	end := len(q.soon) - 1
	q.soon[0], q.soon[end] = q.soon[end], event{}
	q.soon = q.soon[:end]
	for i := 0; ; {
		down := 2*i + 1
		if down >= end {
			return e, true
		}
		if down+1 < end && q.soon[down+1].before(q.soon[down]) {
			down++
		}
		if q.soon[i].before(q.soon[down]) {
			return e, true
		}
		q.soon[i], q.soon[down] = q.soon[down], q.soon[i]
		i = down
	}
}
