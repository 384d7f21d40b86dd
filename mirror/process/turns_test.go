// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/process"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

// page is the URL of which the rows below tell.
const page = processtest.Home + "/page.html"

// row is one turn of page: the stored record, the answer, and the result.
type row struct {
	name   string
	keys   string                 // of the job
	known  func(*record.Resource) // changes the record of an earlier run; nil: page is new
	before func(*processtest.Bench)
	answer processtest.SiteReply

	outcome site.Outcome // Pending: none
	reason  string       // a part of it
	turn    urls.Again   // the other turn that follows in this run
	after   time.Duration
	tally   urls.Tally
	left    bool // it is not in the mirror afterwards
	check   func(*testing.T, *processtest.Bench, process.Found)
}

func (r *row) run(t *testing.T) {
	t.Helper()
	var known []record.Resource
	if r.known != nil {
		rec := processtest.Page(page)
		r.known(&rec)
		known = append(known, rec)
	}
	b := processtest.New(t, r.keys, known...)
	b.Answers[page] = r.answer
	if r.before != nil {
		r.before(b)
	}
	f := b.Turn(page)
	if f.Turn.Why != r.turn {
		t.Errorf("another turn for %b, want %b", f.Turn.Why, r.turn)
	}
	if r.after > 0 && !f.Turn.At.Equal(b.Time.Add(r.after)) {
		t.Errorf("another turn at %v, want it %v after %v", f.Turn.At, r.after, b.Time)
	}
	switch {
	case (f.Finding == nil) != (r.outcome == site.Pending):
		t.Fatalf("finding %+v, want %v", f.Finding, r.outcome)
	case f.Finding != nil:
		r.wantFinding(t, f.Finding)
	}
	if r.check != nil {
		r.check(t, b, f)
	}
}

func (r *row) wantFinding(t *testing.T, f *urls.Finding) {
	t.Helper()
	if f.Outcome != r.outcome || !strings.Contains(f.Reason, r.reason) {
		t.Errorf("%v: %q, want %v: %q", f.Outcome, f.Reason, r.outcome, r.reason)
	}
	if f.As.Tally&r.tally != r.tally {
		t.Errorf("it counts as %b, want %b", f.As.Tally, r.tally)
	}
	if r.known != nil && f.InSet == r.left {
		t.Errorf("in the mirror: %t", f.InSet)
	}
}

func runRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, r.run)
	}
}

func stored(*record.Resource) {}

// A page of the mirror that answers 404 is gone at the second look.
func TestGone(t *testing.T) {
	gone := processtest.SiteReply{Status: 404}
	looked := func(run int, before time.Duration) func(*record.Resource) {
		return func(r *record.Resource) {
			r.Outcome, r.Gone, r.Run = site.Failed, 1, run
			r.Checked = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-before).Unix()
		}
	}
	first := func(r row) row {
		r.answer, r.outcome, r.reason = gone, site.Failed, "to be confirmed by a second look"
		r.turn, r.after, r.tally = urls.AfterGone, 5*time.Minute, urls.AsFirstGone
		return r
	}
	second := func(r row) row {
		r.answer, r.outcome, r.tally, r.left = gone, site.Gone, urls.AsGone, true
		return r
	}
	rows := []row{
		second(row{name: "new"}),
		first(row{name: "first look", known: stored}),
		first(row{name: "a minute later", known: looked(processtest.Run, time.Minute)}),
		second(row{name: "six minutes later", known: looked(processtest.Run, 6*time.Minute)}),
		second(row{name: "next run", known: looked(processtest.Run-1, time.Second)}),
		second(row{
			name:   "second turn",
			known:  stored,
			before: func(b *processtest.Bench) { b.Traits.Spend(1, urls.AfterGone) },
		}),
		{
			name:   "confirmed at the end of the run",
			known:  stored,
			before: func(b *processtest.Bench) { b.Confirm = -1 },
			answer: processtest.SiteReply{Status: 410},
			turn:   urls.AfterGone,
		},
		{
			name:    "failure after the first look",
			known:   looked(processtest.Run-1, time.Hour),
			before:  func(b *processtest.Bench) { b.Traits.Spend(1, urls.AfterFailure) },
			answer:  processtest.SiteReply{Status: 500},
			outcome: site.Failed,
			reason:  "status 500",
		},
		{
			name:    "entry point of several",
			keys:    "url = [\"" + processtest.Home + "/\", \"" + page + "\"]",
			known:   looked(processtest.Run-1, time.Hour),
			answer:  gone,
			outcome: site.Failed,
			reason:  "status 404",
		},
	}
	runRows(t, rows)
}

// A redirect is a URL of its own; one without a usable target is a failure, and the copy stays.
func TestRedirects(t *testing.T) {
	to := func(location string) processtest.SiteReply {
		return processtest.SiteReply{Status: 302, To: location}
	}
	wall := processtest.SiteReply{Status: 302, To: "page.html", Cookie: true}
	cookie := func(b *processtest.Bench) { b.Traits.Spend(1, urls.WithCookie) }
	lead := func(want bool, fragment string) func(*testing.T, *processtest.Bench, process.Found) {
		return func(t *testing.T, b *processtest.Bench, f process.Found) {
			if r := &f.Finding.Resource; (r.Target != 0) != want || r.Fragment != fragment {
				t.Errorf("target %d, fragment %q", r.Target, r.Fragment)
			}
		}
	}
	runRows(t, []row{
		{
			name:    "to another page",
			known:   stored,
			answer:  to("/other.html"),
			outcome: site.Redirected,
			reason:  "to " + processtest.Home + "/other.html",
			tally:   urls.AsRedirected,
			left:    true,
			check:   lead(true, ""),
		},
		{
			name:    "to a part of another page",
			answer:  to("/other.html#part"),
			outcome: site.Redirected,
			check:   lead(true, "part"),
		},
		{
			name:    "out of scope",
			answer:  to("http://other.example.net/"),
			outcome: site.Redirected,
			reason:  "which is not mirrored",
			check:   lead(false, ""),
		},
		{
			name:    "to another scheme",
			answer:  to("mailto:someone@example.org"),
			outcome: site.Redirected,
			reason:  "status 302",
			check:   lead(false, ""),
		},
		{
			name:    "to itself",
			known:   stored,
			answer:  to("page.html#top"),
			outcome: site.Failed,
			reason:  "status 302 to itself",
			tally:   urls.AsFailed,
		},
		{
			name:   "cookie wall",
			known:  stored,
			answer: wall,
			turn:   urls.WithCookie,
		},
		{
			name:    "cookie wall, second turn",
			known:   stored,
			before:  cookie,
			answer:  wall,
			outcome: site.Failed,
			reason:  "status 302 to itself",
		},
		{
			name:    "without a Location",
			known:   stored,
			answer:  processtest.SiteReply{Status: 301},
			outcome: site.Failed,
			reason:  "status 301 without a Location",
		},
		{
			name:  "too many",
			keys:  "limits.max_redirects = 1",
			known: stored,
			before: func(b *processtest.Bench) {
				b.Traits.Redirect(0, 1, 1, false)
			},
			answer:  to("/other.html"),
			outcome: site.Failed,
			reason:  "more than 1 redirects in a row",
		},
	})
}

// Pages that redirect in a circle are as they were before the run, and failures.
func TestUnredirect(t *testing.T) {
	for _, cookie := range []bool{false, true} {
		b := processtest.New(t, "", processtest.Page(page))
		b.Answers[page] = processtest.SiteReply{Status: 302, To: "/other.html", Cookie: cookie}
		b.Turn(page)
		f, again, err := b.Unredirect(b.ID(page), "redirects in a circle", cookie)
		if err != nil {
			t.Fatal(err)
		}
		d := &f.Finding.Done
		if again != cookie || (f.Turn.Why == urls.WithCookie) != cookie {
			t.Errorf("cookie %t: again %t, turn for %b", cookie, again, f.Turn.Why)
		}
		if !d.InSet || d.Outcome != site.Failed || d.Reason != "redirects in a circle" || d.Target != 0 {
			t.Errorf("cookie %t: %+v", cookie, d.Resource)
		}
	}
}

// An answer that asks to wait is requested again after that time, in this run or in the next one.
func TestRetryAfter(t *testing.T) {
	busy := func(status int, wait time.Duration) processtest.SiteReply {
		return processtest.SiteReply{Status: status, Wait: wait}
	}
	const keys = "polite.max_wait = \"10m\""
	spent := func(b *processtest.Bench) { b.Traits.Spend(1, urls.AfterFailure) }
	asked := func(n int) func(*testing.T, *processtest.Bench, process.Found) {
		return func(t *testing.T, b *processtest.Bench, _ process.Found) {
			if got := b.Requests(); len(got) != n {
				t.Errorf("requests %q", got)
			}
		}
	}
	runRows(t, []row{
		{
			name:   "short",
			keys:   keys,
			known:  stored,
			answer: busy(503, time.Minute),
			turn:   urls.AfterFailure,
			after:  time.Minute,
		},
		{
			name:    "short, second turn",
			keys:    keys,
			known:   stored,
			before:  spent,
			answer:  busy(503, time.Minute),
			outcome: site.Failed,
			reason:  "status 503",
			tally:   urls.AsFailed,
		},
		{
			name:    "long",
			keys:    keys,
			known:   stored,
			answer:  busy(429, time.Hour),
			outcome: site.Failed,
			reason:  "with a Retry-After of 1h, longer than polite.max_wait",
			check: func(t *testing.T, b *processtest.Bench, _ process.Found) {
				if until, waits := b.Waits.Until(1, b.Time); !waits || !until.Equal(b.Time.Add(time.Hour)) {
					t.Errorf("it waits until %v: %t", until, waits)
				}
				if b.HostErrors.IsDown(site.Canonical(page)) {
					t.Error("one URL that waits is not its host")
				}
			},
		},
		{
			name:    "an earlier run was asked to wait",
			known:   stored,
			before:  func(b *processtest.Bench) { b.Waits.Set(1, b.Time.Add(time.Minute)) },
			outcome: site.Failed,
			reason:  "it asked to wait until 2026-03-01 12:01:00 UTC",
			tally:   urls.AsRefused,
			check:   asked(0),
		},
		{
			name:    "the time is over",
			known:   stored,
			before:  func(b *processtest.Bench) { b.Waits.Set(1, b.Time.Add(-time.Minute)) },
			answer:  processtest.SiteReply{MIME: "text/html", Body: "<p>new"},
			outcome: site.Fetched,
			check:   asked(1),
		},
		{
			name:   "no time is named",
			known:  stored,
			answer: busy(429, 0),
			turn:   urls.AfterFailure,
		},
	})
}

// Which failures are worth another turn, and which count against the run.
func TestFailures(t *testing.T) {
	class := func(err error) processtest.SiteReply { return processtest.SiteReply{Err: err} }
	spent := func(b *processtest.Bench) { b.Traits.Spend(1, urls.AfterFailure) }
	lasting := func(r *record.Resource) { r.Failures = urls.LastingFailures }
	isRefused := func(want bool) func(*testing.T, *processtest.Bench, process.Found) {
		return func(t *testing.T, _ *processtest.Bench, f process.Found) {
			if f.Finding.As.Refused != want {
				t.Errorf("the URL is refused: %t", f.Finding.As.Refused)
			}
		}
	}
	failed := func(r row) row {
		r.outcome = site.Failed
		return r
	}
	runRows(t, []row{
		{
			name:   "refused connection",
			known:  stored,
			answer: class(fetch.ErrRefused),
			turn:   urls.AfterFailure,
		},
		failed(row{
			name:   "no connection in time",
			known:  stored,
			answer: class(fetch.ErrTimeout),
			check: func(t *testing.T, b *processtest.Bench, _ process.Found) {
				if !b.HostErrors.IsDown(site.Canonical(page)) {
					t.Error("its host is not left")
				}
			},
		}),
		{
			name:   "broken",
			known:  stored,
			answer: class(fetch.ErrReset),
			turn:   urls.AfterFailure,
		},
		{
			name:   "status 500",
			known:  stored,
			answer: processtest.SiteReply{Status: 500},
			turn:   urls.AfterFailure,
		},
		failed(row{
			name:   "second turn",
			known:  stored,
			before: spent,
			answer: class(fetch.ErrRefused),
			tally:  urls.AsFailed,
			check:  isRefused(false),
		}),
		failed(row{
			name:   "broken, second turn",
			known:  stored,
			before: spent,
			answer: class(fetch.ErrReset),
			tally:  urls.AsFailed,
		}),
		failed(row{
			name:   "too large",
			known:  stored,
			answer: class(fetch.ErrTooLarge),
			tally:  urls.AsFailed,
			check:  isRefused(true),
		}),
		failed(row{
			name:   "too large and new",
			answer: class(fetch.ErrTooLarge),
			tally:  urls.AsRefused,
			check:  isRefused(true),
		}),
		failed(row{
			name:   "status 403 and new",
			answer: processtest.SiteReply{Status: 403},
			reason: "status 403",
			tally:  urls.AsRefused,
		}),
		failed(row{
			name:   "status 403",
			known:  stored,
			answer: processtest.SiteReply{Status: 403},
			reason: "status 403",
			tally:  urls.AsFailed,
		}),
		failed(row{
			name:   "failed in many runs",
			known:  lasting,
			answer: processtest.SiteReply{Status: 500},
			before: func(b *processtest.Bench) { b.Traits.Note(1, urls.IsBroken) },
			tally:  urls.AsRefused,
		}),
		failed(row{
			name:   "empty in place of a page",
			known:  stored,
			before: spent,
			answer: processtest.SiteReply{MIME: "text/html"},
			reason: "an empty page with status 200",
		}),
	})
}

// What the job's rule about types leaves out does not become part of the mirror, and guesses of scripts that
// are answered with something else are gone.
func TestTypesAndGuesses(t *testing.T) {
	const keys = "scope = { kind = \"host\", not_types = [\"gz\"] }"
	gzip := processtest.SiteReply{MIME: "application/gzip", Body: "x"}
	guess := func(b *processtest.Bench) { urls.Enter(b.Table, []byte(page), urls.Guess) }
	runRows(t, []row{
		{
			name:    "wanted",
			keys:    keys,
			answer:  processtest.SiteReply{MIME: "text/html", Body: "<p>x"},
			outcome: site.Fetched,
			tally:   urls.AsFetched,
		},
		{
			name:    "unwanted",
			keys:    keys,
			answer:  gzip,
			outcome: site.OutOfScope,
			reason:  "the file is application/gzip",
		},
		{
			name:    "unwanted from now on",
			keys:    keys,
			known:   stored,
			answer:  gzip,
			outcome: site.OutOfScope,
			left:    true,
		},
		{
			name:    "entry point",
			answer:  gzip,
			outcome: site.Fetched,
			keys:    "url = \"" + page + "\"\n" + keys,
		},
		{
			name:    "guess",
			before:  guess,
			answer:  processtest.SiteReply{Status: 500},
			outcome: site.Gone,
		},
		{
			name:    "guess that is found",
			before:  guess,
			outcome: site.Fetched,
			answer:  processtest.SiteReply{MIME: "text/html", Body: "<p>x"},
		},
	})
}
