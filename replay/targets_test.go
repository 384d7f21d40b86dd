// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"testing"
)

// TestAdaptiveTargets holds the default policy to what it has to be worth, as the mean over recorded sites.
// REPLAY_ALL=1 takes all sites, and the bounds that are meant for them; the quick ones are small sites, of
// which a larger share has to be requested.
func TestAdaptiveTargets(t *testing.T) {
	type bound struct {
		o                     Options
		req, cr, micro, stale float64
	}
	bounds := []bound{{Options{}, 0.52, 0.94, 0.93, 0.002}}
	sites := sharedSites()[:6]
	if os.Getenv("REPLAY_ALL") != "" {
		sites = sharedSites()
		bounds = []bound{
			{Options{}, 0.31, 0.955, 0.977, 0.0009},
			{Options{Train: 3}, 0.32, 0.95, 0.97, 0.0015},
			{Options{Price: 0.0001}, 0.55, 0.95, 0.95, 0.003},
			{Options{Price: 0.003}, 0.30, 0.86, 0.86, 0.01},
		}
	}
	var hs []*History
	for _, site := range sites {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		hs = append(hs, h)
	}
	for _, b := range bounds {
		var rs []*Result
		for _, h := range hs {
			r, err := Run(h, b.o)
			if err != nil {
				t.Fatal(err)
			}
			rs = append(rs, r)
		}
		m := Mean(rs)
		t.Logf("price %v, training %d: requests %.4f, CR %.4f, pooled %.4f, stale %.5f", b.o.Price, rs[0].Train,
			m.Req, *m.CR, *m.CRMicro, m.Stale)
		if m.Req > b.req || *m.CR < b.cr || *m.CRMicro < b.micro || m.Stale > b.stale {
			t.Errorf(
				"price %v, training %d: requests %.4f, CR %.4f, pooled %.4f, stale %.5f; want at most %v, at least %v "+
					"and %v, at most %v",
				b.o.Price, rs[0].Train, m.Req, *m.CR, *m.CRMicro, m.Stale, b.req, b.cr, b.micro, b.stale)
		}
	}
}
