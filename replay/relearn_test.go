// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"testing"
	"time"

	"mirrord/evolution/policy"
)

// Rules that are mined again before each step begin to skip when enough was observed, and audits find the
// change of a skipped directory.
func TestRelearn(t *testing.T) {
	site := func(v int) map[string]string {
		m := map[string]string{"index.html": string(rune('a' + v)), "old/index.html": "1"}
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			m["old/"+name+".html"] = "1"
			if v >= 12 {
				m["old/"+name+".html"] = "2"
			}
		}
		return m
	}
	r, err := Run(made(t, 20, site), Options{Policy: policy.Near, Train: 1, Relearn: true})
	if err != nil {
		t.Fatal(err)
	}
	// A full sync has 8 pages and 2 listings.
	early, late := r.Steps[3], r.Steps[9]
	if early.Requests != early.Full || late.Requests != 2+jobAudits {
		t.Errorf("%d requests of %d before there are rules, %d after", early.Requests, early.Full, late.Requests)
	}
	if *r.Total.CR != 1 {
		t.Errorf("audits did not find the change of the directory: %+v", r.Steps[11])
	}
}

// A page that was not looked at for too long is requested.
func TestMaxAge(t *testing.T) {
	quiet := made(t, 30, func(int) map[string]string {
		return map[string]string{"a.html": "1", "b/c.html": "1"}
	})
	var requests [2]int
	for i, age := range []time.Duration{0, 35 * 24 * time.Hour} {
		r, err := Run(quiet, Options{Train: 10, MaxAge: age, Price: 1})
		if err != nil {
			t.Fatal(err)
		}
		requests[i] = r.Total.Requests
	}
	// Two pages, at most five weeks apart in 20, in addition to the requests of every step.
	if requests[1] < requests[0]+6 {
		t.Errorf("%d requests without a bound, %d with one", requests[0], requests[1])
	}
}
