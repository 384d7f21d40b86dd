// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"slices"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// receiver is one destination of messages.
type receiver struct {
	name  string // for people; no secrets
	key   string // of the quota
	again bool   // worth a second attempt

	// send delivers one message. It ends soon after ctx does, and its error shows no secret.
	send func(ctx context.Context, m status.Message) error
}

// Keys returns the keys of a job file that name receivers, in the order in which they get a message.
func Keys() []string { return []string{"notify.command", "notify.webhook", "notify.email"} }

// HasReceiver reports whether a job names anybody to tell.
func (n *Notifier) HasReceiver(j *job.Job) bool { return len(n.receivers(j)) > 0 }

// receivers returns whom a job names. It does no input or output: send does.
func (n *Notifier) receivers(j *job.Job) []receiver {
	return slices.Concat(n.byCommand(j), n.byWebhook(j), n.byMail(j))
}
