// SPDX-License-Identifier: Apache-2.0

package deadlinks

import (
	"encoding/json"

	"mirrord/store"
)

// report is what repair reads of the stored summary of a run.
type report struct {
	Run        int              `json:"run"`
	Closed     bool             `json:"closed"` // it made no request
	Down       []string         `json:"down"`   // hosts of entry points that did not answer
	Fetched    int64            `json:"fetched"`
	Unchanged  int64            `json:"unchanged"`
	Redirected int64            `json:"redirected"`
	Gone       int64            `json:"gone"`
	Reused     int64            `json:"reused"`     // without a request
	Spared     map[string]int64 `json:"spared"`     // not requested, by the reason
	Alternates map[string]int64 `json:"alternates"` // answered by replicas
}

// silentHosts returns the origins and hosts that failed in all of the last runs, newest first, at least
// silentRuns of them over silentFor, which had no answer of the site; n is how many runs in a row had none.
func silentHosts(runs []store.RunRecord) (out map[string]bool, n int) {
	for ; n < len(runs); n++ {
		var sum report
		err := json.Unmarshal(runs[n].Summary, &sum)
		if (err == nil) && sum.Closed {
			continue
		}
		if (err != nil) || (len(sum.Down) == 0) || (sum.answers() > 0) {
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
func (s *report) answers() int64 {
	n := s.Fetched + s.Unchanged + s.Redirected + s.Gone - s.Reused
	n -= s.Spared["listing"] + s.Spared["sitemap"] + s.Spared["expiry"] + s.Spared["space"]
	for _, by := range s.Alternates {
		n -= by
	}
	return n
}
