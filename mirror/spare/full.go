// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"mirrord/job"
	"mirrord/policy"
)

// FullFact is where a site keeps that its next run requests everything, because its records are not what the history says.
const FullFact = "ask-all"

// AsksAll reports whether the policy of a job skips nothing, so that a run needs no plan. Of a policy that is not registered
// nothing is known; making a plan then fails.
func AsksAll(j *job.Job, policies policy.Registry) bool {
	p, _ := policies.Find(j.Policy)
	return p.Everything && (j.Limits.MaxRequests == 0)
}
