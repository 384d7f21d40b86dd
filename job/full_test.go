// SPDX-License-Identifier: Apache-2.0

package job

import (
	"testing"

	"mirrord/evolution/policy"
)

func TestAskAll(t *testing.T) {
	j := Default("https://www.example.org/")
	j.Limits.MaxRequests, j.Evidence.Expiry, j.Policy = 5, true, policy.Near
	j.AskAll()
	if j.Policy != policy.Full || j.Limits.MaxRequests != 0 || j.Evidence.Listings || j.Evidence.Sitemaps ||
		j.Evidence.Expiry {
		t.Errorf("%+v", j)
	}
}
