// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"testing"
)

// doubted plans the week after 20 in which each page changed in turn, and returns the plan.
func doubted(t *testing.T, units []ID, hidden float64) (*fake, Plan) {
	t.Helper()
	f := newFake(t, 40)
	for w := range 20 {
		f.full(ID(w%20), ID(20+w%20))
	}
	p, err := Standard().Plan(f.m, Options{Policy: Adaptive, Price: 0.01, Now: (f.week + 1) * weekSeconds})
	if err != nil {
		t.Fatal(err)
	}
	if units != nil {
		p.(Doubter).Doubt(units, hidden)
	}
	return f, p
}

// What a source shows nothing of is expected to have changed by Bayes' rule.
func TestSilenceIsEvidence(t *testing.T) {
	_, before := doubted(t, nil, 0)
	_, after := doubted(t, ids(10, 40), 0.4)
	for _, u := range []ID{10, 25, 39} {
		p, got := float64(before.Reason(u).Expected), float64(after.Reason(u).Expected)
		if want := p * 0.4 / (1 - p + p*0.4); math.Abs(got-want) > 1e-5 {
			t.Errorf("unit %d: %.5f changes expected, want %.5f of %.5f", u, got, want, p)
		}
	}
	if was, is := before.Reason(3).Expected, after.Reason(3).Expected; was != is {
		t.Errorf("of a unit that the source does not name %v are expected, %v before", is, was)
	}
}

// The others of a group are requested although what the source is silent about was not looked at for longer,
// and a source that hides nothing saves all requests for what it names.
func TestSilenceSavesRequests(t *testing.T) {
	for _, c := range []struct {
		hidden      float64
		least, most int
	}{{0, 0, 0}, {0.001, 0, 0}, {1, 20, 30}} {
		_, p := doubted(t, ids(10, 40), c.hidden)
		silent, others := 0, 0
		for b := p.Next(1); len(b) > 0; b = p.Next(1) {
			if b[0].Unit < 10 {
				others++
			} else if b[0].Why.Why != Hub {
				silent++
			}
			p.Tell(Outcome{Unit: b[0].Unit})
		}
		if silent < c.least || silent > c.most || others < 8 {
			t.Errorf("a source that hides %v of the changes: %d requests for what it names, %d of 10 others", c.hidden,
				silent, others)
		}
	}
}
