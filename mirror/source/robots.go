// SPDX-License-Identifier: Apache-2.0

package source

import (
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/store/shared"
)

// freshRobots is how old a copy of a robots.txt may be in a run that requests everything, in all cases.
const freshRobots = time.Minute

// NewRobots makes the robots cache of a job.
func NewRobots(j *job.Job, c *fetch.Client, s fetch.RobotsStore) *fetch.RobotsCache {
	life := time.Duration(0) // the longest
	if j.All {
		life = freshRobots
	}
	return fetch.NewRobotsCache(c, fetch.RobotsOptions{
		Agent: job.ProductToken(j.Polite.UserAgent),
		TTL:   life,
		Store: s,
		Delay: j.Polite.Delay,
	})
}

var (
	_ Robots            = (*fetch.RobotsCache)(nil)
	_ fetch.RobotsStore = (*shared.Database)(nil)
)
