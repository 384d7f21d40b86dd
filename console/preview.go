// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/job"
)

// preview estimates a mirror that an operator is about to make.
type preview struct {
	Look    *runs.Preview // nil while it is being made, and with a problem
	Problem string
	url     string
	stop    context.CancelFunc
}

// Busy reports whether the site is being looked at.
func (p preview) Busy() bool { return p.Look == nil && p.Problem == "" }

// Takes is how long a first run takes at least.
func (p preview) Takes() time.Duration { return time.Duration(p.Look.Seconds * float64(time.Second)) }

// previews has the last preview of each operator. A new one ends the one before. It is safe for concurrent
// use.
type previews struct {
	mu   sync.Mutex
	of   map[string]*preview // by user
	work sync.WaitGroup
}

// begin looks at the site of a job for a user.
func (p *previews) begin(ctx context.Context, a *env.App, user string, j *job.Job) {
	ctx, stop := context.WithCancel(ctx)
	made := &preview{url: j.Seeds()[0].String(), stop: stop}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.of[user]; before != nil {
		before.stop()
	}
	if p.of == nil {
		p.of = map[string]*preview{}
	}
	p.of[user] = made
	p.work.Go(func() {
		defer stop()
		found, err := runs.PreviewRun(ctx, a, j)
		p.mu.Lock()
		defer p.mu.Unlock()
		if made.Look = found; err != nil {
			made.Problem = env.Remedied(err)
		}
	})
}

// at returns the preview of an address for a user; nil without one.
func (p *previews) at(user, url string) *preview {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.of[user]
	if found == nil || found.url != url {
		return nil
	}
	now := *found
	return &now
}
