// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/site"
	"mirrord/store/record"
)

// failed makes a page one that failed in run 7 for the n-th time.
func failed(rec record.Resource, n int) record.Resource {
	rec.Outcome, rec.Status, rec.Reason, rec.Failures = site.Failed, 500, "status 500", n
	return rec
}

// lackingSite is a case of n pages of http://h, of which the last ones failed for the first time, and as many
// images of a content network as given, none of which could be had.
func lackingSite(t *testing.T, n, fail, images int) *Case {
	var records []record.Resource
	for i := range n {
		rec := page(t, fmt.Sprintf("http://h/%d", i))
		if i >= n-fail {
			rec = failed(rec, 1)
		}
		records = append(records, rec)
	}
	for i := range images {
		rec := failed(page(t, fmt.Sprintf("http://cdn/%d.png", i)), 1)
		rec.InSet, rec.Path, rec.Status, rec.Reason = false, "", 0, "connection refused"
		records = append(records, rec)
	}
	c := known(t, records...)
	c.Parts.Before = &Missing{Run: 6}
	link(c, 0, uint32(n), uint32(n+images))
	answered(c)
	return c
}

// answered says of what failed that this process asked it: a table that was loaded requests it again.
func answered(c *Case) {
	m := c.Records.(*memory)
	for i := range m.records {
		if rec := &m.records[i]; (rec.Outcome == site.Failed) && (rec.Run == c.Run.Number) {
			m.table.Record(rec, c.Run)
		}
	}
}

// conclude returns what the rule says.
func conclude(t *testing.T, c *Case) Ruling {
	t.Helper()
	r, err := gaps(c)
	if (err != nil) || (r.Gaps == nil) {
		t.Fatal(r, err)
	}
	return r
}

func TestGapsTolerated(t *testing.T) {
	for _, tc := range []struct {
		pages, fail, images int
		limit               float64
		verdict             result.Verdict
		count, known        int
	}{
		{10, 0, 0, 0.01, result.Complete, 0, 0},
		{10, 3, 0, 0.01, result.Complete, 3, 3}, // a few, on a site of any size
		{10, 4, 0, 0.01, result.Gaps, 4, 0},
		{400, 4, 0, 0.01, result.Complete, 4, 4}, // 1 %
		{400, 5, 0, 0.01, result.Gaps, 5, 0},
		{400, 20, 0, 0.01, result.Gaps, 1, 0}, // many that fail in one way are one part
		{400, 1, 0, 0, result.Gaps, 1, 0},     // none is tolerated
		{400, 0, 3, 0.01, result.Complete, 1, 1},
		{400, 0, 30, 0.01, result.Gaps, 1, 0},
		{400, 2, 30, 0.01, result.Gaps, 3, 0},
	} {
		c := lackingSite(t, tc.pages, tc.fail, tc.images)
		c.Limits.MaxFailures = job.Share(tc.limit)
		r := conclude(t, c)
		if (r.Verdict != tc.verdict) || (r.Gaps.Count != tc.count) || (r.Gaps.Known != tc.known) {
			t.Errorf("%+v: %v, %+v", tc, r.Verdict, r.Gaps)
		}
		if r.Gaps.Grew != (tc.verdict == result.Gaps) || (r.Gaps.URLs != tc.fail+tc.images) {
			t.Errorf("%+v: %+v", tc, r.Gaps)
		}
	}
}

// What was missing before is written off in the third run, keeps its date, and is no news in between.
func TestGapsOverRuns(t *testing.T) {
	c := lackingSite(t, 50, 0, 10)
	first := conclude(t, c)
	if !first.Missing.Open || (len(first.Missing.URLs) != 10) {
		t.Fatalf("%+v", first.Missing)
	}
	since := *first.Gaps.Since
	before := first.Missing
	before.Untold = false // its message says so
	for n, want := range []result.Verdict{result.Gaps, result.Complete, result.Complete} {
		c = lackingSite(t, 50, 0, 10)
		c.Run.Number = 8 + n
		c.Parts.Before, c.Parts.Now = before, c.Parts.Now.AddDate(0, 0, n+1)
		c.Parts.Began = c.Parts.Now
		link(c, 0, 50, 60)
		reask(c)
		r := conclude(t, c)
		if (r.Verdict != want) || r.Gaps.Grew || !r.Gaps.Since.Equal(since) || (r.Gaps.List[0].Runs != n+2) {
			t.Errorf("run %d: %v, %+v", n+2, r.Verdict, r.Gaps)
		}
		before = r.Missing
		again := conclude(t, c) // the same run, resumed, is not counted twice
		c.Parts.Before = before
		if again = conclude(t, c); again.Gaps.List[0].Runs != n+2 {
			t.Errorf("run %d: counted twice: %+v", n+2, again.Gaps)
		}
	}
	c.Run.Number++ // nothing links to it now
	c.Parts.Before = before
	link(c, 0)
	if r := conclude(t, c); r.Gaps.Count != 0 {
		t.Errorf("%+v", r.Gaps)
	}
}

// Gaps that no message has reported, because the runs were suspicious, are not written off until one has.
func TestGapsUntoldAreNotWrittenOff(t *testing.T) {
	c := lackingSite(t, 50, 0, 10)
	before := conclude(t, c).Missing
	for n, told := range []bool{false, false, false, true, true} {
		c = lackingSite(t, 50, 0, 10)
		c.Run.Number = 8 + n
		c.Parts.Before, c.Parts.Now = before, c.Parts.Now.AddDate(0, 0, n+1)
		c.Parts.Began = c.Parts.Now
		link(c, 0, 50, 60)
		reask(c)
		r := conclude(t, c)
		if want := n < 4; (r.Gaps.Grew != want) || ((r.Verdict == result.Gaps) != want) {
			t.Errorf("run %d: %v, %+v", n+2, r.Verdict, r.Gaps)
		}
		before = r.Missing
		before.Untold = !told && before.Untold
	}
}

// link makes a page link to the numbers from one to before the other.
func link(c *Case, from uint32, ends ...uint32) {
	m := c.Records.(*memory)
	m.links[from] = nil
	if len(ends) == 2 {
		for id := ends[0]; id < ends[1]; id++ {
			m.links[from] = append(m.links[from], id)
		}
	}
}

// reask makes all records those of the case's run.
func reask(c *Case) {
	m := c.Records.(*memory)
	for i := range m.records {
		m.records[i].Run = c.Run.Number
	}
	answered(c)
}

func TestGapsThatAreNone(t *testing.T) {
	for name, change := range map[string]func(rec *record.Resource){
		"forbidden":       func(rec *record.Resource) { rec.Status = 403 },
		"dead link":       func(rec *record.Resource) { rec.Outcome, rec.Status = site.Gone, 404 },
		"broken redirect": func(rec *record.Resource) { rec.Status = 302 },
		"private address": func(rec *record.Resource) {
			rec.Status, rec.Reason = 0, "fetch x: address not allowed: y"
		},
		"disallowed":   func(rec *record.Resource) { rec.Outcome = site.Disallowed },
		"out of scope": func(rec *record.Resource) { rec.Outcome = site.OutOfScope },
		"refused":      func(rec *record.Resource) { rec.Status, rec.ID = 0, 1 },
	} {
		rec := failed(page(t, "http://h/x"), 1)
		rec.InSet, rec.Path = false, ""
		change(&rec)
		c := known(t, page(t, "http://h/"), rec)
		c.Parts.Before = &Missing{Run: 6}
		c.Parts.Refused = func(uint32) bool { return name == "refused" }
		answered(c)
		if r := conclude(t, c); (r.Gaps.Count != 0) || (r.Verdict != result.Complete) {
			t.Errorf("%s: %+v", name, r.Gaps)
		}
		rec.InSet, rec.Outcome = true, site.Failed // what the mirror has is missing, for any reason
		c = known(t, page(t, "http://h/"), rec)
		c.Parts.Before = &Missing{Run: 6}
		if r := conclude(t, c); r.Gaps.Count != 1 {
			t.Errorf("%s, in the mirror: %+v", name, r.Gaps)
		}
	}
}

// A mirror that an older version made has counted failures: what it took for broken is known at once.
func TestGapsOfOlderVersion(t *testing.T) {
	records := pages(t, "http://h/")
	for i := range 40 {
		records = append(records, failed(page(t, fmt.Sprintf("http://h/%d", i)), 3))
	}
	c := known(t, records...)
	if r := conclude(t, c); (r.Verdict != result.Complete) || (r.Gaps.Known != 1) || (r.Gaps.URLs != 40) {
		t.Errorf("%v, %+v", r.Verdict, r.Gaps)
	}
}

func TestGapsOfFirstVersion(t *testing.T) {
	for _, tc := range []struct {
		pages, fail, images int
		verdict             result.Verdict
	}{
		{10, 4, 0, result.Gaps},
		{10, 5, 0, result.Gaps},
		{10, 6, 0, result.Partial},
		{4, 3, 0, result.Complete}, // a few
		{10, 0, 50, result.Gaps},   // another origin may never have been there
		{10, 6, 50, result.Partial},
	} {
		c := lackingSite(t, tc.pages, tc.fail, tc.images)
		c.Live, c.Run.Version = nil, 1
		r := conclude(t, c)
		if (r.Verdict != tc.verdict) || (r.Gaps.Hold != (tc.verdict == result.Partial)) {
			t.Errorf("%+v: %v, %q, %+v", tc, r.Verdict, r.Reasons, r.Gaps)
		}
		c.Accept = true
		if r = conclude(t, c); (r.Verdict != result.Complete) || r.Gaps.Hold {
			t.Errorf("%+v, accepted: %v, %q", tc, r.Verdict, r.Reasons)
		}
	}
}

// An interrupted run has no new gaps, and forgets none.
func TestGapsOfInterruptedRun(t *testing.T) {
	c := lackingSite(t, 10, 6, 0)
	c.Ended = result.ErrInterrupted
	c.Parts.Before.URLs = map[uint32]Absence{2: {Since: 5, Runs: 2}}
	r := conclude(t, c)
	if (r.Verdict != result.Complete) || r.Missing.Open || r.Gaps.Grew {
		t.Errorf("%v, %+v", r.Verdict, r.Gaps)
	}
}

func TestMissingIsStored(t *testing.T) {
	m := &Missing{Run: 9, Open: true, URLs: map[uint32]Absence{
		1: {Since: 5, Runs: 1},
		2: {Since: 5, Runs: 1},
		3: {Since: 5, Runs: 2},
		7: {Since: 5, Runs: 1},
		8: {Since: 6, Runs: 4, Accepted: true},
	}}
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeMissing(data, 100)
	if (err != nil) || (got.Run != 9) || !got.Open || !maps.Equal(got.URLs, m.URLs) {
		t.Errorf("%s: %+v, %v", data, got, err)
	}
	if got, err = DecodeMissing(data, 8); (err != nil) || (len(got.URLs) != 4) {
		t.Errorf("numbers that are not known: %+v, %v", got, err)
	}
	if got, err = DecodeMissing(nil, 8); (got != nil) || (err != nil) {
		t.Error(got, err)
	}
	if _, err = DecodeMissing([]byte("x"), 8); err == nil {
		t.Error("no error")
	}
}

func TestPostponedEntries(t *testing.T) {
	for _, tc := range []struct {
		hosts []string
		want  result.Verdict
	}{
		{[]string{"http://h", "http://other"}, result.Partial},
		{[]string{"h", "other"}, result.Partial},
		{[]string{"http://other"}, result.Complete}, // a gap
		{[]string{"http://h"}, result.Complete},
	} {
		c := known(t, pages(t, "http://h/", "http://other/")...)
		c.Seeds = append(c.Seeds, parse(t, "http://other/"))
		c.Left = 5
		for _, h := range tc.hosts {
			c.Postponed = append(c.Postponed, PostponedHost{Host: h, Reason: "it is slow"})
		}
		if r, err := postponed(c); (err != nil) || (r.Verdict != tc.want) {
			t.Errorf("%q: %v, %v", tc.hosts, r.Verdict, err)
		}
		c.Parts.Closed = true
		if r, err := postponed(c); (err != nil) || (r.Verdict != result.Complete) {
			t.Errorf("%q, closed: %v, %v", tc.hosts, r.Verdict, err)
		}
	}
}

// Reasons of a run are in the order of the rules.
func TestGapReasons(t *testing.T) {
	c := lackingSite(t, 10, 6, 0)
	c.Live, c.Run.Version = nil, 1
	want := []string{
		"6 URLs could not be had, more than limits.max_failures = 1%",
		"only 4 of 10 known URLs could be had: less than half is no first version",
	}
	if r := conclude(t, c); !slices.Equal(r.Reasons, want) {
		t.Errorf("%q", r.Reasons)
	}
}

// An entry point that dies is reported also while something else is missing.
func TestGapOfSecondEntryPoint(t *testing.T) {
	gone := page(t, "http://other/")
	gone.Outcome, gone.Status, gone.InSet, gone.Path = site.Gone, 404, false, ""
	for _, first := range []bool{true, false} {
		c := known(t, page(t, "http://h/"), gone)
		c.Seeds = append(c.Seeds, gone.URL)
		c.Parts.Before = &Missing{Run: 6, Open: true}
		if !first {
			c.Parts.Before.URLs = map[uint32]Absence{1: {Since: 5, Runs: 1}}
		}
		r := conclude(t, c)
		if (r.Verdict != result.Gaps) || (r.Gaps.Grew != first) {
			t.Errorf("first %v: %v, %+v", first, r.Verdict, r.Gaps)
		}
	}
}

// What nothing links to now is no new gap, when an earlier run knew it.
func TestGapsUnlinked(t *testing.T) {
	c := lackingSite(t, 50, 0, 10)
	link(c, 0)
	if r := conclude(t, c); r.Gaps.Count != 0 {
		t.Errorf("%+v", r.Gaps)
	}
}

// An origin of which nothing comes is one trouble, whichever of its URLs the site links to in a run; when
// there are many more of them, it has grown.
func TestGapsOfAnOriginInherit(t *testing.T) {
	for _, tc := range []struct {
		before, images int
		runs           int
		verdict        result.Verdict
	}{
		{6, 6, 4, result.Complete},
		{6, 9, 4, result.Complete},
		{6, 10, 1, result.Gaps},
		{1, 2, 4, result.Complete},
	} {
		c := lackingSite(t, 50, 0, tc.before+tc.images)
		link(c, 0, uint32(50+tc.before), uint32(50+tc.before+tc.images))
		c.Parts.Before.URLs = map[uint32]Absence{}
		for i := range tc.before {
			c.Parts.Before.URLs[uint32(50+i)] = Absence{Since: 77, Runs: 3}
		}
		r := conclude(t, c)
		if (r.Verdict != tc.verdict) || (r.Gaps.List[0].Runs != tc.runs) || (r.Gaps.List[0].URLs != tc.images) {
			t.Errorf("%+v: %v %+v", tc, r.Verdict, r.Gaps.List)
		}
		if inherits := r.Gaps.List[0].Since.Unix() == 77; inherits != (tc.verdict == result.Complete) {
			t.Errorf("%+v: since %v", tc, r.Gaps.List[0].Since)
		}
	}
}

// New gaps are reported by the first run that ends with the verdict gaps, not lost in one that ends
// otherwise.
func TestGapsUntold(t *testing.T) {
	c := lackingSite(t, 50, 6, 0)
	first := conclude(t, c)
	if !first.Gaps.Grew || !first.Missing.Untold {
		t.Fatalf("%+v", first.Gaps)
	}
	c.Run.Number++
	reask(c)
	for _, told := range []bool{false, true} {
		before := *first.Missing
		before.Untold = !told
		v, err := before.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if c.Parts.Before, err = DecodeMissing(v, c.Table.Len()); err != nil {
			t.Fatal(err)
		}
		if r := conclude(t, c); r.Gaps.Grew == told {
			t.Errorf("told %v: %+v", told, r.Gaps)
		}
	}
}
