// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"errors"
	"testing"

	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store/record"
)

func TestEntryPoints(t *testing.T) {
	gone := func(rec *record.Resource) {
		rec.Outcome, rec.Status, rec.InSet, rec.Path = site.Gone, 404, false, ""
	}
	two := func(c *Case) { c.Seeds = append(c.Seeds, parse(t, "http://h/b")) }
	firstRun := func(c *Case) { c.Live = nil }
	const isGone = "the entry point http://h/: gone (status 404)"
	for _, tc := range []struct {
		name    string
		became  func(*record.Resource)
		with    func(*Case)
		verdict result.Verdict
		reasons []string
		notes   int
	}{
		{"there", nil, nil, result.Complete, nil, 0},
		{"gone", gone, nil, result.Suspicious, []string{isGone, noEntry}, 0},
		{"gone, accepted", gone, func(c *Case) { c.Accept = true }, result.Complete, nil, 1},
		{"gone, another one is there", gone, two, result.Gaps, []string{isGone}, 0},
		{"never there", gone, firstRun, result.Partial, []string{isGone}, 0},
		{"not looked at", func(rec *record.Resource) { gone(rec); rec.Run = 6 }, nil, result.Complete, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			records := pages(t, "http://h/", "http://h/b")
			if tc.became != nil {
				tc.became(&records[0])
			}
			c := known(t, records...)
			c.Why = func(site.URL) string { return "status 404" }
			if tc.with != nil {
				tc.with(c)
			}
			notes := 0
			for _, r := range wantReasons(t, Folded, c, tc.verdict, tc.reasons...) {
				notes += len(r.Notes)
				if r.Restart != (c.Live == nil && len(r.Reasons) > 0) {
					t.Errorf("restart: %v", r.Restart)
				}
			}
			if notes != tc.notes {
				t.Errorf("%d notes", notes)
			}
		})
	}
}

func TestEndedEarly(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{result.LimitError{What: "limits.max_time = 1s is over"}, "limits.max_time = 1s is over"},
		{result.ErrInterrupted, "interrupted; run again to continue"},
		{errors.New("other"), "other"},
	} {
		c := known(t, page(t, "http://h/"))
		c.Ended, c.Left = tc.err, 3
		c.Postponed = []PostponedHost{{Host: "h", Reason: "it is slow"}} // not the reason
		wantReasons(t, Retrieved, c, result.Partial, tc.want)
	}
	c := known(t, page(t, "http://h/"))
	c.Postponed = []PostponedHost{{Host: "h", Reason: "it is slow"}}
	wantReasons(t, Retrieved, c, result.Complete)
	c.Left = 1
	wantReasons(t, Retrieved, c, result.Partial, "h was left for the next run: it is slow")
}
