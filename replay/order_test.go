// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"math"
	"os"
	"testing"
)

// Which of equal pages is requested first is drawn by a hash of their paths. Single edits are found by it or
// not, so single sites move; the mean over the sites does not, with any order.
func TestOrdersOfEquals(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it replays 13 sites four times: MIRRORD_LONG=1 runs it")
	}
	const orders = 4
	rs := [orders][]*Result{}
	for _, site := range sharedSites() {
		h := sharedHistory(t, site)
		if h == nil {
			return
		}
		req, cr, micro := "", "", ""
		for i := range rs {
			r, err := Run(h, Options{Order: uint32(i) * 0x9e3779b9})
			if err != nil {
				t.Fatal(err)
			}
			rs[i] = append(rs[i], r)
			req += fmt.Sprintf(" %.3f", r.Total.Req)
			cr += fmt.Sprintf(" %.3f", *r.Total.CR)
			micro += fmt.Sprintf(" %.3f", *r.Total.CRMicro)
		}
		t.Logf("%-11s requests%s, CR%s, pooled%s", site, req, cr, micro)
	}
	least, most := math.Inf(1), 0.0
	for i := range rs {
		m := Mean(rs[i])
		t.Logf("order %d: requests %.4f, CR %.4f, pooled %.4f, stale %.5f, quiet %.4f", i, m.Req, *m.CR, *m.CRMicro,
			m.Stale, *m.Quiet)
		if m.Req > 0.26 || *m.CR < 0.953 || *m.CRMicro < 0.985 || m.Stale > 0.0008 || *m.Quiet > 0.07 {
			t.Errorf("order %d: the default is worth less than in others", i)
		}
		least, most = min(least, *m.CR), max(most, *m.CR)
	}
	if most-least > 0.016 { // an only change of a week is .001 of the mean
		t.Errorf("CR of %.4f to %.4f by the order of equal pages", least, most)
	}
}
