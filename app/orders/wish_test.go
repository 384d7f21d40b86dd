// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/runs"
	"mirrord/job"
)

// All that a form asks for is in the job that makes the mirror, and what only keeps it fresh is not in the
// run of the order.
func TestWishIsObeyed(t *testing.T) {
	w := want("https://a.example/docs/")
	w.Scope, w.Depth, w.Files, w.Size = "host", 3, 70, 9e6
	w.Types, w.NotTypes = []string{"html"}, []string{"pdf"}
	w.First, w.Delay, w.Fresh, w.Window = job.OrderPath, 2*time.Second, "@weekly", "01:00-05:00"
	l := DefaultLimits()
	if err := w.check(&l, time.Time{}); err != nil {
		t.Fatal(err)
	}
	j, err := w.job()
	if err != nil {
		t.Fatal(err)
	}
	s := j.Scope
	if s.Kind != "host" || !slices.Equal(s.Types, w.Types) || !slices.Equal(s.NotTypes, w.NotTypes) {
		t.Errorf("scope: %+v", s)
	}
	if s := j.Limits; s.MaxDepth != 3 || s.MaxFiles != 70 || s.MaxSize != 9e6 {
		t.Errorf("limits: %+v", s)
	}
	if j.Order != job.OrderPath || j.Polite.Delay != 2*time.Second || !j.ObeyRobots {
		t.Errorf("order %s, gap %v, robots %v", j.Order, j.Polite.Delay, j.ObeyRobots)
	}
	if j.Schedule != "@weekly" || j.Window != "01:00-05:00" {
		t.Errorf("kept fresh %q within %q", j.Schedule, j.Window)
	}
	if j, err = w.runJob(); err != nil || j.Schedule != "" || j.Window != "" {
		t.Errorf("the run: %q within %q, %v", j.Schedule, j.Window, err)
	}
}

// The site gets the language that was ordered, in the preview and in the run, and none when none was.
func TestLanguageOfRequests(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	for i, language := range []string{"", "hu, de;q=0.5"} {
		w := quick("http://site.example/docs/")
		w.Language, w.Files = language, int64(50+i)
		s.asked()
		x := s.draft(ann, w)
		previewed := s.asked()
		s.placed(x, ann)
		s.until(x.OrderID, Done)
		for what, heads := range map[string][]http.Header{"preview": previewed, "run": s.asked()} {
			sent := func(h http.Header) bool { return h.Get("Accept-Language") == language }
			if n := len(heads); n < 7 || slices.IndexFunc(heads, func(h http.Header) bool { return !sent(h) }) >= 0 {
				t.Errorf("%q, %s: %d requests, %v", language, what, n, heads[0])
			}
		}
	}
}

// An order with a time begins then and not before, and its page says how long that is.
func TestPresetTime(t *testing.T) {
	s := newShop(t, nil)
	s.fast()
	w := quick("http://site.example/docs/")
	w.Start = s.o.Now().Add(3 * time.Hour)
	x := s.placed(s.draft(ann, w), ann)
	s.asked()
	w.Start, w.Files = time.Time{}, 50
	s.until(s.placed(s.draft(ann, w), ann).OrderID, Done) // one that came later, and has no time
	if x, _ = s.Get(x.OrderID); x.State != Waits {
		t.Fatalf("before its time it is %s", x.State)
	}
	if p := s.Place(x.OrderID); p.Wait < 2*time.Hour || p.Wait > 3*time.Hour {
		t.Errorf("it waits %v", p.Wait)
	}
	s.later(3*time.Hour + time.Minute)
	if x = s.until(x.OrderID, Done); x.Started.Before(x.Want.Start) {
		t.Errorf("it began at %v, ordered for %v", x.Started, x.Want.Start)
	}
}

// When each order is approved by an operator, one within its limits waits for that, and then runs.
func TestApproval(t *testing.T) {
	s := newShop(t, nil)
	l := s.Limits()
	l.Delay, l.Approve = 0, true
	if err := s.SetLimits(l); err != nil {
		t.Fatal(err)
	}
	w := quick("http://site.example/docs/")
	x := s.placed(s.draft(ann, w), ann)
	if x.State != Asks || !strings.Contains(x.Why, "approved by an operator") {
		t.Fatalf("%s: %s", x.State, x.Why)
	}
	if err := s.Judge(x.OrderID, "opal", true, ""); err != nil {
		t.Fatal(err)
	}
	if x = s.until(x.OrderID, Done); x.Judged != "opal" {
		t.Errorf("approved by %q", x.Judged)
	}
	w.Files = 50
	opal := User{Name: "opal", Operator: true}
	if x = s.placed(s.draft(opal, w), opal); x.State == Asks {
		t.Error("an operator's own order waits for an operator")
	}
}

// Each measure of the quota refuses by itself, with the reason; orders of others, of operators, of the day
// before and those that were never begun do not count.
func TestQuotaMeasures(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := DefaultLimits()
	had := func(change func(*Ordered)) queue {
		x := &Ordered{Want: Wish{Files: 100, Size: 1e6}}
		x.OrderID, x.By, x.State = OrderID{Number: 1}, "ann", Done
		x.At, x.Placed = now.Add(-time.Hour), now.Add(-time.Hour)
		change(x)
		return queue{x.OrderID: x}
	}
	next := &Ordered{Want: Wish{Files: 100, Size: 1e6}}
	next.OrderID, next.By = OrderID{Number: 2}, "ann"
	all := func(x *Ordered) {
		x.Result = Result{Files: 2000, Received: 500e6, Requests: 10_000}
		x.Result.Archives = []ArchiveFile{{Bytes: 2e9}}
	}
	for name, tc := range map[string]struct {
		had  func(*Ordered)
		want string
	}{
		"nothing":  {func(*Ordered) {}, ""},
		"pages":    {func(x *Ordered) { x.Result.Files = 1950 }, "you have 50 left of 2000 a day"},
		"bytes":    {func(x *Ordered) { x.Result.Received = 499_500_000 }, "left of 500"},
		"requests": {func(x *Ordered) { x.Result.Requests = 10_000 }, "made 10000 requests within a day"},
		"stored": {
			func(x *Ordered) { x.Result.Archives = []ArchiveFile{{Bytes: 1e9}, {Bytes: 1e9}} }, "your archives take",
		},
		"what waits counts as what it may have": {
			func(x *Ordered) { x.State, x.Want.Files = Waits, 1950 }, "you have 50 left of 2000 a day",
		},
		"of another user": {func(x *Ordered) { all(x); x.By = "bob" }, ""},
		"of an operator":  {func(x *Ordered) { all(x); x.Free, x.Result.Archives = true, nil }, ""},
		"of yesterday": {
			func(x *Ordered) { all(x); x.Placed, x.Result.Archives = now.AddDate(0, 0, -2), nil }, "",
		},
		"stored since yesterday": {
			func(x *Ordered) { all(x); x.Placed = now.AddDate(0, 0, -2) }, "your archives take",
		},
		"refused":   {func(x *Ordered) { x.State, x.Want.Files = Refused, 2000 }, ""},
		"cancelled": {func(x *Ordered) { x.State, x.Want.Files = Cancelled, 2000 }, ""},
		"expired":   {func(x *Ordered) { x.State, x.Placed = Expired, now.AddDate(0, 0, -8) }, ""},
	} {
		got := l.over(next, l.left("ann", had(tc.had), nil, now))
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// A stored order fits into a message of the keepers of a cluster, regardless of what a site sends.
func TestBounded(t *testing.T) {
	long := "http://site.example/" + strings.Repeat("x", 60<<10)
	p := &runs.Preview{
		URL:      long,
		Leads:    long,
		Problem:  long,
		Sitemaps: []string{long, long},
		Dirs:     []runs.PreviewDir{{Path: "site.example/", Example: long}},
		Least:    7,
	}
	for range 20 {
		p.Requests = append(p.Requests, runs.PreviewLook{URL: long, Status: 200})
	}
	got := bounded(p)
	text, err := json.Marshal(got)
	if err != nil || len(text) > mostLook || len(got.Requests) != 20 || got.Least != 7 {
		t.Errorf("%d bytes, %v: %.300s", len(text), err, text)
	}
	if p.Requests[0].URL != long {
		t.Error("the preview was changed")
	}
	if small := (&runs.Preview{URL: "http://site.example/", Sitemaps: []string{"x"}}); bounded(small) != small {
		t.Error("a short one was changed")
	}
	if bounded(nil) != nil {
		t.Error("none became one")
	}
	l := DefaultLimits()
	w := quick("http://site.example/")
	w.Types = []string{strings.Repeat("x", mostTypes+1)}
	if err := w.check(&l, time.Now()); err == nil || !strings.Contains(err.Error(), "types: at most") {
		t.Errorf("a long list of types: %v", err)
	}
}
