// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"fmt"
	"time"

	"mirrord/app/env"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/result"
)

// Limits are what each user with the role order may have. Operators set them, and are not bound by those of a
// day.
type Limits struct {
	Orders   int64      `json:"orders"`   // a day
	Looks    int64      `json:"looks"`    // previews a day
	Files    int64      `json:"files"`    // a day
	Size     job.Size   `json:"size"`     // a day, received
	Requests int64      `json:"requests"` // a day
	Stored   job.Size   `json:"stored"`   // archives at a time
	Days     int64      `json:"days"`     // that archives stay
	Delay    RequestGap `json:"delay"`    // least gap between two requests
	Approve  bool       `json:"approve"`  // each order waits for an operator
}

// RequestGap is a time between requests, in nanoseconds.
type RequestGap time.Duration

// Duration is the gap as such.
func (g RequestGap) Duration() time.Duration { return time.Duration(g) }

func (g RequestGap) String() string { return time.Duration(g).String() }

// DefaultLimits are in force until an operator sets others.
func DefaultLimits() Limits {
	return Limits{
		Orders:   3,
		Looks:    20,
		Files:    2000,
		Size:     500e6,
		Requests: 10_000,
		Stored:   2e9,
		Days:     7,
		Delay:    RequestGap(250 * time.Millisecond),
	}
}

// check finds fault with limits that an operator sets.
func (l *Limits) check() error {
	const most = 1 << 40
	for name, n := range map[string]int64{
		"orders":   l.Orders,
		"looks":    l.Looks,
		"files":    l.Files,
		"size":     int64(l.Size),
		"requests": l.Requests,
		"stored":   int64(l.Stored),
	} {
		if n < 0 || n > most {
			return env.Usagef("%s: want a number from 0 to %d", name, int64(most))
		}
	}
	if l.Days < 1 || l.Days > 365 {
		return env.Usagef("days: want a number from 1 to 365")
	}
	if l.Delay < 0 || l.Delay.Duration() > time.Minute {
		return env.Usagef("delay: want a time from 0s to 1m")
	}
	return nil
}

// left is what of the limits a user has not had since a day before now. being are orders that are being
// placed.
func (l Limits) left(user string, all queue, being []placement, now time.Time) Limits {
	out := l
	since := now.Add(-24 * time.Hour)
	for _, o := range all {
		if o.By != user {
			continue
		}
		out.Stored -= job.Size(o.Stored())
		if o.At.After(since) {
			out.Looks--
		}
		if o.counts(since) {
			files, bytes := o.used()
			out.Orders--
			out.Files -= files
			out.Size -= job.Size(bytes)
			out.Requests -= o.Result.Requests
		}
	}
	for _, p := range being {
		if p.By == user && !p.Free {
			out.Orders--
			out.Files -= p.Files
			out.Size -= p.Size
		}
	}
	return out
}

// over says why an order exceeds the remaining quota; "" when it does not.
func (l *Limits) over(o *Ordered, left Limits) string {
	switch {
	case left.Orders < 1:
		return fmt.Sprintf("you have placed %s within a day, which is as many as one may",
			count.Of(l.Orders, "order"))
	case left.Requests < 1:
		return fmt.Sprintf("your orders have made %s within a day, which is as many as they may",
			count.Of(l.Requests, "request"))
	case left.Stored < 1:
		return fmt.Sprintf("your archives take %s, which is as much as they may; the oldest expire first", l.Stored)
	case o.Want.Files > left.Files:
		return fmt.Sprintf("it may have up to %s, and you have %d left of %d a day", count.Of(o.Want.Files, "file"),
			max(0, left.Files), l.Files)
	case o.Want.Size > left.Size:
		return fmt.Sprintf("it may have up to %s, and you have %s left of %s a day", o.Want.Size,
			max(0, left.Size), l.Size)
	}
	return ""
}

// Takes is how long a run of all that the preview estimates takes at least.
func (o *Ordered) Takes() time.Duration {
	if o.Look == nil {
		return 0
	}
	gap := max(o.Want.Delay, o.Look.Gap())
	return time.Duration(min(float64(gap)*float64(o.Look.Least), float64(mostAge)))
}

// mostAge is as long as anybody wants to know.
const mostAge = 100 * 365 * 24 * time.Hour

// tooLarge says that the estimate of a preview exceeds the ordered limits; "" when it does not, or a part
// is enough.
func (o *Ordered) tooLarge() string {
	p := o.Look
	if p == nil || o.Want.Part {
		return ""
	}
	if p.Least > o.Want.Files {
		return fmt.Sprintf("it has about %s files, which are %s or more and take at least %s, and the order is "+
			"for at most %d: choose a smaller part of the site, or say that a part is enough", p.Range(),
			result.Bytes(p.Bytes), count.Ago(o.Takes()), o.Want.Files)
	}
	if p.Bytes > int64(o.Want.Size) && p.Bytes/4 > int64(o.Want.Size) {
		return fmt.Sprintf("it has about %s, and the order is for at most %s: choose a smaller part of the site, "+
			"or say that a part is enough", result.Bytes(p.Bytes), o.Want.Size)
	}
	return ""
}
