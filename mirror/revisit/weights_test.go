// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"net/http"
	"slices"
	"testing"

	"mirrord/evolution/policy"
	"mirrord/store/record"
)

// sent is a resource that was sent with an ETag, after looks of which recent says what they found.
func sent(recent uint16) record.Resource {
	return record.Resource{
		Status:   http.StatusOK,
		ETag:     `"1"`,
		Observed: 1,
		Recent:   recent,
	}
}

func TestWhatAnswersTransfer(t *testing.T) {
	var w weights
	for i, c := range []struct {
		name          string
		rec           record.Resource
		same, changed float64
	}{
		{"answered 304", record.Resource{Status: http.StatusNotModified, ETag: `"1"`}, 400, 5400},
		{"a first answer with a date", record.Resource{Status: 200, LastModified: "yesterday"}, 400, 5400},
		{"changed when it was last looked at", sent(1), 400, 5400},
		{"the same body once more", sent(2), 5400, 5400},
		{"no validators", record.Resource{Status: 200}, 5400, 5400},
		{"validators that are not sent", record.Resource{Status: 200, ETag: `"1"`, NoETag: true}, 5400, 5400},
	} {
		c.rec.ID, c.rec.Size = uint32(3*i), 5000
		w.load(&c.rec)
		if same, changed := w.Bytes(policy.ID(3 * i)); same != c.same || changed != c.changed {
			t.Errorf("%s: %v and %v bytes, want %v and %v", c.name, same, changed, c.same, c.changed)
		}
	}
	if same, changed := w.Bytes(99); same != 400 || changed != 400 {
		t.Errorf("of an unknown URL: %v and %v bytes", same, changed)
	}
}

// With a price of bytes pages that come whole though nothing changed are left out, and those of which the
// server says so in few bytes are not.
func TestBytesHaveAPrice(t *testing.T) {
	plan := func(priceMB float64) []uint32 {
		p := planned(t, 20, func(o *PlanOptions) {
			o.Job.Adaptive.Price, o.Job.Adaptive.PriceMB = 0.0001, priceMB
			w := make(weights, 100)
			for id := range w {
				if w[id] = 1e6; id%2 == 1 {
					w[id] = -1e6
				}
			}
			o.Weights = w
		})
		p.Enter(PlanOpen)
		return drain(p, asBefore)
	}
	odd := func(ids []uint32) (n int) {
		for _, id := range ids {
			if id >= 10 && id%2 == 1 {
				n++
			}
		}
		return n
	}
	free, priced := plan(0), plan(0.05)
	if odd(free) == 0 || odd(priced) >= odd(free) || len(priced) == 0 {
		t.Errorf("without a price of bytes %d heavy pages, with one %d", odd(free), odd(priced))
	}
	if !slices.Contains(priced, 0) {
		t.Error("a page that changes in each run was left out")
	}
}
