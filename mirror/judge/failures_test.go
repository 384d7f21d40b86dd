// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"testing"

	"mirrord/mirror/result"
)

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		failed, requests int64
		silent           map[string]int64
		partial          bool
	}{
		{0, 0, nil, false},
		{3, 10, nil, false}, // a few, on a site of any size
		{4, 10, nil, true},
		{4, 400, nil, false}, // 1 %
		{5, 400, nil, true},
		{5, 400, map[string]int64{"http://gone.example": 1}, false},
		{50, 400, map[string]int64{"http://gone.example": 20, "http://lost.example": 5}, true},
	} {
		c := known(t, page(t, "http://h/"))
		c.Failed, c.Requests, c.Silent = tc.failed, tc.requests, tc.silent
		got, err := failures(c)
		is := got.Verdict == result.Partial
		if (err != nil) || (is != tc.partial) || (len(got.Reasons) != int(got.Verdict)) {
			t.Errorf("%+v: got %+v, %v", tc, got, err)
		}
		if len(got.Notes) != len(tc.silent) {
			t.Errorf("%+v: notes %v", tc, got.Notes)
		}
	}
}

// A run that goes on with an earlier one requests what failed, and not the rest: the share is one of the
// whole run.
func TestFailuresOfResumedRun(t *testing.T) {
	records := append([]string{"http://h/"}, make([]string, 600)...)
	for i := range records[1:] {
		records[i+1] = fmt.Sprintf("http://h/%d", i)
	}
	c := known(t, pages(t, records...)...)
	c.Failed, c.Requests = 5, 5
	if got, err := failures(c); err != nil || got.Verdict != result.Partial {
		t.Errorf("not resumed: got %+v, %v", got, err)
	}
	c.Resumed = true
	if got, err := failures(c); err != nil || got.Verdict != result.Complete {
		t.Errorf("resumed: got %+v, %v", got, err)
	}
}
