// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"context"
	"slices"

	"mirrord/internal/parts"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// ways is the registry of notifiers: each exported method is one, in a file of its own together with what it
// needs. So a notifier is added by a file here and its keys in job/notify.go; everything else asks this
// registry.
type ways struct{}

// way is one way to reach people.
type way struct {
	key   string // of the job file: the notify.* key that names the receivers
	place int    // where it stands among the ways: receivers get a message, and are listed, in this order

	// receivers returns whom a job names; none when the key is not set. It does no input or output: send does.
	// Safe for concurrent use.
	receivers func(n *Notifier, j *job.Job) []receiver
}

// receiver is one destination of messages.
type receiver struct {
	name  string // for people; no secrets
	key   string // of the quota
	again bool   // worth a second attempt

	// send delivers one message. It ends soon after ctx does, and its error shows no secret.
	send func(ctx context.Context, m status.Message) error
}

func allWays() []way {
	all := parts.Of[way](ways{})
	slices.SortStableFunc(all, func(a, b way) int { return cmp.Compare(a.place, b.place) })
	return all
}

// Keys returns the keys of a job file that name receivers, in the order in which they get a message.
func Keys() []string {
	var keys []string
	for _, w := range allWays() {
		keys = append(keys, w.key)
	}
	return keys
}

// HasReceiver reports whether a job names anybody to tell.
func (n *Notifier) HasReceiver(j *job.Job) bool { return len(n.receivers(j)) > 0 }

func (n *Notifier) receivers(j *job.Job) []receiver {
	var out []receiver
	for _, w := range n.ways {
		out = append(out, w.receivers(n, j)...)
	}
	return out
}
