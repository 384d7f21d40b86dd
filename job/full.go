// SPDX-License-Identifier: Apache-2.0

package job

import "mirrord/policy"

// AskAll makes a run of the job ask for everything that it knows: no policy, evidence or limit on requests
// spares any of it.
func (j *Job) AskAll() {
	j.Policy, j.Limits.MaxRequests = policy.Full, 0
	j.Evidence.Listings, j.Evidence.Sitemaps, j.Evidence.Expiry = false, false, false
}
