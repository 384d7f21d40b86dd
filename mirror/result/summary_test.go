// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSummaryText(t *testing.T) {
	start := time.Date(2026, 11, 20, 3, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		s    Summary
		want string
	}{
		{"published", Summary{
			Job:        "docs",
			Verdict:    Complete,
			Published:  true,
			Version:    3,
			Started:    start,
			Ended:      start.Add(83 * time.Second),
			Requests:   120,
			Fetched:    7,
			Unchanged:  110,
			Redirected: 2,
			Gone:       1,
			Wire:       12_345_678,
			Files:      118,
			Size:       999_950_000,
			Added:      2,
			Changed:    4,
			Removed:    1,
		}, `docs: complete, version 3 published (1m23s)
  requested 120: 7 fetched, 110 unchanged, 2 redirected, 1 gone; 12.3 MB received
  mirror: 118 files, 1.0 GB; 2 added, 4 changed, 1 removed
`},
		{"sparing", Summary{
			Job:       "docs",
			Version:   3,
			Started:   start,
			Ended:     start.Add(1234 * time.Millisecond),
			Asked:     59,
			Known:     557,
			Requests:  60,
			Unchanged: 557,
			Spared:    map[string]int64{"sitemap": 498},
			Files:     118,
			Size:      999,
		}, `docs: no change found; 59 of 557 requested (1.23s)
  listings, sitemaps, lifetimes or lists of changes show the other 498 as before; mirrord run-now docs --full requests all
  requested 60: 0 fetched, 557 unchanged, 0 redirected, 0 gone; 0 B received
  skipped 498 requests: 498 by sitemaps
  mirror: 118 files, 999 B
`},
		{"all from a replica", Summary{
			Job:        "docs",
			Version:    3,
			Started:    start,
			Ended:      start.Add(1234 * time.Millisecond),
			Known:      42,
			Requests:   88,
			Unchanged:  42,
			Alternates: map[string]int64{"http://replica.example/": 42},
			Files:      41,
			Size:       999,
		}, `docs: no change found; 0 of 42 requested (1.23s)
  requested 88: 0 fetched, 42 unchanged, 0 redirected, 0 gone; 0 B received
  42 answers are of http://replica.example/, because the origin gave none
  mirror: 41 files, 999 B
`},
		{"skipping", Summary{
			Job:        "docs",
			Version:    3,
			Policy:     "adaptive",
			Started:    start,
			Ended:      start.Add(1234 * time.Millisecond),
			Asked:      59,
			Known:      557,
			Requests:   60,
			Unchanged:  59,
			Skipped:    498,
			Spared:     map[string]int64{"price": 498},
			OldestLook: start.Add(-3 * time.Minute),
			LatestLook: start.Add(-3 * time.Minute),
			Files:      118,
			Size:       999,
		}, `docs: no change found; 59 of 557 requested (1.23s)
  the other 498 were last checked 3 min ago (policy adaptive); mirrord run-now docs --full requests all
  requested 60: 0 fetched, 59 unchanged, 0 redirected, 0 gone; 0 B received
  skipped 498 by policy adaptive: 498 unlikely to have changed
  mirror: 118 files, 999 B
`},
		{"sparing, with changes", Summary{
			Job:       "docs",
			Version:   4,
			Published: true,
			Started:   start,
			Ended:     start.Add(1234 * time.Millisecond),
			Asked:     59,
			Known:     557,
			Requests:  60,
			Fetched:   1,
			Unchanged: 556,
			Spared:    map[string]int64{"listing": 498},
			Files:     118,
			Size:      999,
			Changed:   1,
		}, `docs: complete, version 4 published (1.23s)
  listings, sitemaps, lifetimes or lists of changes show the other 498 as before; mirrord run-now docs --full requests all
  requested 60: 1 fetched, 556 unchanged, 0 redirected, 0 gone; 0 B received
  59 of 557 known URLs were requested
  skipped 498 requests: 498 by directory listings
  mirror: 118 files, 999 B; 0 added, 1 changed, 0 removed
`},
		{"nothing changed", Summary{
			Job:       "docs",
			Version:   3,
			Started:   start,
			Ended:     start.Add(1234 * time.Millisecond),
			Requests:  5,
			Unchanged: 5,
			Files:     118,
			Size:      999,

			VersionTime: start.Add(-50 * time.Hour),
		}, `docs: complete, nothing changed since version 3 (1.23s)
  requested 5: 0 fetched, 5 unchanged, 0 redirected, 0 gone; 0 B received
  mirror: 118 files, 999 B; last changed 2 days ago (` +
			start.Add(-50*time.Hour).UTC().Format("2006-01-02 15:04 MST") + `)
`},
		{"partial", Summary{
			Job:        "docs",
			Verdict:    Partial,
			Reasons:    []string{"interrupted; run again to continue"},
			Started:    start,
			Ended:      start,
			Requests:   9,
			Fetched:    3,
			Failed:     5,
			Refused:    1,
			Wire:       1000,
			Disallowed: 4,
			Left:       70,
			Failures:   failures(7),
			Notes: []Note{
				{What: "limits.max_files = 10 is reached", Count: 1},
				{
					What:     "URLs that look like traps were not requested",
					Count:    12,
					Examples: []string{"http://h/x: too deep"},
				},
			},
		}, `docs: partial, nothing published yet (0s)
  why: interrupted; run again to continue
  requested 9: 3 fetched, 0 unchanged, 0 redirected, 0 gone, 5 failed, 1 refused; 1.0 kB received
  not requested: 4 disallowed by robots rules, 70 left for the next run
  note: limits.max_files = 10 is reached
  note: URLs that look like traps were not requested (12, such as http://h/x: too deep)
  failed: http://h/0: status 500
  failed: http://h/1: status 500
  failed: http://h/2: status 500
  failed: http://h/3: status 500
  failed: http://h/4: status 500
  … and 2 more
`},
		{"suspicious", Summary{
			Job:     "docs",
			Verdict: Suspicious,
			Version: 3,
			Reasons: []string{"a", "b"},
			Started: start,
			Ended:   start,
			Left:    1,
			Files:   1,
			Size:    1,
		}, `docs: held for review, version 3 stays published (0s)
  why: a
  why: b
  requested 0: 0 fetched, 0 unchanged, 0 redirected, 0 gone; 0 B received
  not requested: 1 left for the next run
  mirror: 1 file, 1 B
`},
	} {
		var b strings.Builder
		if err := c.s.WriteTextFor(&b, "mirrord run-now docs --full"); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, b.String(), c.want)
		}
		var j bytes.Buffer
		if err := c.s.WriteJSON(&j); err != nil {
			t.Fatal(err)
		}
		var back Summary
		if err := json.Unmarshal(j.Bytes(), &back); err != nil || fmt.Sprint(back) != fmt.Sprint(c.s) {
			t.Errorf("%s: %v, %+v from\n%s", c.name, err, back, j.String())
		}
	}
}

func failures(n int) (out []FailedURL) {
	for i := range n {
		out = append(out, FailedURL{URL: fmt.Sprintf("http://h/%d", i), Reason: "status 500"})
	}
	return out
}

func TestVerdictText(t *testing.T) {
	for _, v := range []Verdict{Complete, Partial, Suspicious} {
		b, err := v.MarshalText()
		var back Verdict
		if err != nil || back.UnmarshalText(b) != nil || back != v {
			t.Errorf("%v: %s, %v, %v", v, b, err, back)
		}
	}
	var v Verdict
	if err := v.UnmarshalText([]byte("fine")); err == nil {
		t.Error("a bad verdict was read")
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0 B",
		999:           "999 B",
		1000:          "1.0 kB",
		1049:          "1.0 kB",
		1050:          "1.1 kB",
		999_949:       "999.9 kB",
		999_950:       "1.0 MB",
		1_500_000_000: "1.5 GB",
		1 << 62:       "4.6 EB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
