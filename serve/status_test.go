// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/scheduler/status"
)

func TestStatusPage(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) *time.Time { v := now.Add(d); return &v }
	evil := status.Job{
		Name: "evil",
		Last: &status.Run{
			Verdict:  status.VerdictPartial,
			Requests: 5,
			Spared:   map[string]int64{"sitemap": 3},
			Waiting:  []string{"1 added", "<b>waits</b>"},
		},
		LastRun:  at(-time.Hour),
		Verdict:  "partial",
		Reasons:  []string{`<script>alert(1)</script>`},
		Problems: []string{`"><img src=x onerror=alert(1)>`},
		Schedule: "@daily",
		Failures: 2,
	}
	fine := status.Job{
		Name:     "fine",
		Last:     &status.Run{Verdict: status.VerdictComplete},
		Version:  3,
		Files:    10,
		Bytes:    2000,
		Verified: at(-3 * time.Hour),
		Next:     at(time.Hour),
		NextText: "2026-11-21 09:00 JST",
		Activity: status.Running,
		Progress: &status.Progress{Phase: status.Retrieving, Done: 7, Queued: 9},
	}
	evil.Judge(now)
	fine.Judge(now)
	all := status.All{Daemon: status.Daemon{
		MaxRuns:   4,
		Running:   2,
		Parked:    1,
		MaxParked: 16,
		Turns:     []status.TurnHeld{{Job: "fine", Since: now}},
		Hosts: []status.HostHeld{{
			Host:     "www.example",
			Jobs:     []string{"fine"},
			Waiting:  []string{"other"},
			Requests: 1,
		}},
		Version: "1.0",
		Started: now,
		Problem: "<b>gone</b>",
	}, Jobs: []status.Job{evil, fine}}
	h, err := NewStatus(func() status.All { return all })
	if err != nil {
		t.Fatal(err)
	}
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	w := get("GET", "/")
	doc, err := goquery.NewDocumentFromReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := doc.Find("script, img, b, form, a").Length(); n != 0 {
		t.Errorf("%d elements that should not be there", n)
	}
	if csp := w.Header().Get("Content-Security-Policy"); w.Code != 200 ||
		!strings.Contains(csp, "default-src 'none'") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	rows := doc.Find("tbody tr")
	if rows.Length() != 2 {
		t.Fatalf("%d rows", rows.Length())
	}
	bad, good := rows.Eq(0), rows.Eq(1)
	if s := bad.Find(".s"); !s.HasClass("partial") || s.Text() != "partial 2 times" {
		t.Errorf("%q", s.Text())
	}
	for _, want := range []string{
		"<script>alert(1)</script>", "Fix: mirrord run-now evil", "5 requests, 3 skipped",
		"1 added\n<b>waits</b>\n",
	} {
		if !strings.Contains(bad.Text(), want) {
			t.Errorf("no %q in %q", want, bad.Text())
		}
	}
	for _, want := range []string{
		"ok, running", "retrieving: 7 done, 9 queued", "3 h ago", "2.0 kB", "2026-11-21 09:00 JST",
	} {
		if !strings.Contains(good.Text(), want) {
			t.Errorf("no %q in %q", want, good.Text())
		}
	}
	for _, want := range []string{
		"Working: fine.", "Without a turn: 1 run, of 16.", "www.example: fine; other next",
	} {
		if top := doc.Find("p").Text(); !strings.Contains(top, want) {
			t.Errorf("no %q in %q", want, top)
		}
	}
	if top := doc.Find("p").Text(); !strings.Contains(top, "2 runs under way (1 of at most 4 work), 1 part") ||
		!strings.Contains(top, "cannot be read: <b>gone</b>") {
		t.Errorf("%q", top)
	}
	var back status.All
	if err := json.Unmarshal(get("GET", "/status.json").Body.Bytes(), &back); err != nil ||
		len(back.Jobs) != 2 || back.Jobs[0].Health != status.Partial {
		t.Errorf("%v, %+v", err, back)
	}
	for path, want := range map[string]int{"/nosuch": 404, "/v1/status": 404} {
		if w := get("GET", path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := get("POST", "/"); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
	all = status.All{}
	if w := get("GET", "/"); !strings.Contains(w.Body.String(), "There are no jobs yet") {
		t.Errorf("%s", w.Body)
	}
}
