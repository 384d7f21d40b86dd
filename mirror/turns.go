// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/mirror/source"
)

// hostTurns are the turns of hosts that requests take which are not in a frontier: by the politeness and in the window of a job.
type hostTurns struct {
	*crawl.Gate
	hosts Hosts
	p     fetch.Politeness
	now   func() time.Time
}

var _ source.Turns = (*hostTurns)(nil)

func newTurns(g *crawl.Gate, h Hosts, j *job.Job, now func() time.Time) *hostTurns {
	return &hostTurns{Gate: g, hosts: h, p: source.Politeness(j), now: now}
}

func (t *hostTurns) Release(host string, o fetch.Observation) { t.hosts.Release(host, t.p, t.now(), o) }

func (t *hostTurns) Gap(host string) time.Duration { return t.hosts.Gap(host, t.p) }

func (t *hostTurns) SetCrawlDelay(host string, d time.Duration) { t.hosts.SetCrawlDelay(host, d) }
