// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"

	"mirrord/evolution/policy"
)

// AskAll makes a run of the job ask for everything that it knows: no policy, evidence or limit on requests
// spares any of it.
func (j *Job) AskAll() {
	j.All = true
	j.Policy, j.Limits.MaxRequests = policy.Full, 0
	j.Evidence.Listings, j.Evidence.Sitemaps, j.Evidence.Expiry = false, false, false
}

// UsualInterval is Usual of the job's schedule; 0 when that cannot be read.
func (j *Job) UsualInterval() time.Duration {
	s, err := ParseSchedule(j.Schedule)
	if err != nil {
		return 0
	}
	return s.Usual()
}

// The default of adaptive.learn_for: the longer of the two.
const (
	leastLearning  = 48 * time.Hour
	learnIntervals = 3 // of the schedule
)

// LearnFor returns how long the complete looks at the site must span before a policy that weighs requests
// skips anything: adaptive.learn_for, or its default.
func (j *Job) LearnFor() time.Duration {
	if d, err := ParseDuration(j.Adaptive.LearnFor); err == nil { // not ""
		return d
	}
	return max(learnIntervals*j.UsualInterval(), leastLearning)
}

// The default of limits.max_skip_time: so many intervals of the schedule, within these bounds.
const (
	skipIntervals               = 14 // as the default of limits.max_skip
	leastSkipTime, mostSkipTime = 30 * 24 * time.Hour, 180 * 24 * time.Hour
)

// MaxSkipTime returns for how long a resource may be skipped: limits.max_skip_time, or its default; 0 is no
// bound.
func (j *Job) MaxSkipTime() time.Duration {
	if d, err := ParseDuration(j.Limits.MaxSkipTime); err == nil { // not ""
		return d
	}
	return min(mostSkipTime, max(leastSkipTime, skipIntervals*j.UsualInterval()))
}
