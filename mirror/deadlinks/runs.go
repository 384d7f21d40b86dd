// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"encoding/json"

	"mirrord/mirror/result"
	"mirrord/store/shared"
)

// silentHosts returns the origins and hosts that failed in all of the last runs, newest first, at least
// silentRuns of them over silentFor, which had no answer of the site; n is how many runs in a row had none.
func silentHosts(runs []shared.RunRecord) (out map[string]bool, n int) {
	for ; n < len(runs); n++ {
		var sum result.Summary
		err := json.Unmarshal(runs[n].Summary, &sum)
		if (err == nil) && sum.Closed {
			continue
		}
		if (err != nil) || (len(sum.Down) == 0) || (answers(&sum) > 0) {
			break
		}
		now := map[string]bool{}
		for _, host := range sum.Down {
			now[host] = (out == nil) || out[host]
		}
		out = now
	}
	if (n < silentRuns) || (runs[0].Started.Sub(runs[n-1].Started) < silentFor) {
		return nil, n
	}
	return out, n
}

// answers counts what the site itself answered in a run.
func answers(s *result.Summary) int64 {
	n := s.Fetched + s.Unchanged + s.Redirected + s.Gone - s.Reused
	n -= s.ByEvidence() + s.Spared["space"]
	for _, by := range s.Alternates {
		n -= by
	}
	return n
}
