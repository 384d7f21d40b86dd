// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"os"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/replay"
)

// Each idea that is left out makes a difference on some recorded site, and the row without any that is left
// out is the policy as it is.
func TestAblation(t *testing.T) {
	var hs []*replay.History
	sites, train := []string{"dplyr"}, 70
	if os.Getenv("REPLAY_ALL") != "" { // some ideas matter on a larger site only
		sites, train = []string{"dplyr", "rust-blog"}, 50
	}
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		hs = append(hs, h)
	}
	rows, err := Ablation(hs, replay.Options{Train: train}, func(policy.Idea) error { return nil })
	if err != nil || len(rows) != len(policy.Ideas())+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	all := rows[0].Total
	for _, r := range rows {
		x := r.Total
		t.Logf("without %-9q %6d requests, CR %.3f, pooled %.3f, stale %.4f", r.Without, x.Requests, *x.CR,
			*x.CRMicro, x.Stale)
		matters := len(sites) > 1 || r.Without == policy.Evidence
		same := x.Requests == all.Requests && x.Found == all.Found
		if (same && r.Without != "" && matters) || (!same && r.Without == "") {
			t.Errorf("without %q: %d requests, %d found; with all %d and %d", r.Without, x.Requests, x.Found,
				all.Requests, all.Found)
		}
	}
	if _, err := replay.Run(hs[0], replay.Options{Without: "wings"}); err == nil {
		t.Error("an unknown idea is left out")
	}
}
