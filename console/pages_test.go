// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"mirrord/app/access"
	"mirrord/app/daemon"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

func testJobs(n int) []status.Job {
	out := make([]status.Job, n)
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range out {
		out[i] = status.Job{
			Name:      fmt.Sprintf("job%04d", i),
			Health:    status.OK,
			Activity:  status.Idle,
			Version:   3,
			Published: &at,
		}
	}
	return out
}

func parse(t *testing.T, page string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// wantSSE is the digest of htmx.org 4.0.1, dist/ext/hx-sse.min.js.
const wantSSE = "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103"

// The vendored script is the released one: htmx.org 4.0.1, dist/htmx.min.js.
func TestVendored(t *testing.T) {
	body, err := files.ReadFile("static/htmx.min.js")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	const want = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("htmx.min.js has digest %s", got)
	}
	if body, err = files.ReadFile("static/hx-sse.min.js"); err != nil {
		t.Fatal(err)
	}
	sum = sha256.Sum256(body)
	if got := hex.EncodeToString(sum[:]); got != wantSSE {
		t.Errorf("hx-sse.min.js has digest %s", got)
	}
	entries, err := files.ReadDir("static")
	if err != nil || len(entries) != 7 {
		t.Errorf("%v, %v: htmx, its extension, and sheets and scripts of pages, times and frames are all",
			entries, err)
	}
}

// A thousand mirrors come in pages of a hundred, those with problems first for operators.
func TestList(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.Mirrors = "https://mirrors.example/" })
	b.login(Operate)
	b.want(http.StatusOK, "New mirror", "/", nil)
	b.daemon.jobs = testJobs(1000)
	b.daemon.jobs[700].Health, b.daemon.jobs[300].Health = status.Damaged, status.Gaps
	b.daemon.titles = map[string]daemon.MirrorTitle{"job0700": {Title: "The Seventh", Entry: "a b/index.html"}}
	doc := parse(t, b.want(http.StatusOK, "Damaged <span>1</span>", "/", nil))
	rows := doc.Find("tbody tr")
	if first := rows.Eq(0).Find("a").First().Text(); rows.Length() != perPage || first != "The Seventh" {
		t.Errorf("%d rows; the first is %q", rows.Length(), first)
	}
	if got := rows.Eq(1).Find("a").First().Text(); got != "job0300" {
		t.Errorf("the second is %s", got)
	}
	to, _ := rows.Eq(0).Find("a").Eq(1).Attr("href")
	if to != "https://mirrors.example/job0700/a%20b/index.html" {
		t.Errorf("the mirror is at %s", to)
	}
	b.want(http.StatusOK, "page 10 of 10", "/?page=99&by=name", nil)
	b.want(http.StatusOK, "page 1 of 10", "/?page=-4", nil)
	if n := parse(t, b.want(http.StatusOK, "", "/?q=seventh", nil)).Find("tbody tr").Length(); n != 1 {
		t.Errorf("%d are named so", n)
	}
	b.want(http.StatusOK, "No mirror is found by that", "/?q=%3Cscript%3E", nil)
	b.login(Read)
	first := parse(t, b.want(http.StatusOK, "", "/", nil)).Find("tbody a").First().Text()
	if first != "job0000" {
		t.Errorf("readers see %s first", first)
	}
	if n := len(b.do("/", nil).Body.String()); n > 90_000 {
		t.Errorf("a page of the list has %d bytes", n)
	}
}

// What a list of a thousand mirrors costs: one look at the daemon, the titles of those shown, once for each
// version, and a page that is small when it is packed.
func TestListCosts(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.Keep, o.Mirrors = time.Hour, "https://mirrors.example/" })
	b.daemon.jobs, b.daemon.titles = testJobs(1000), map[string]daemon.MirrorTitle{}
	for i := range b.daemon.jobs {
		j := &b.daemon.jobs[i]
		sum := sha256.Sum256([]byte(j.Name)) // texts that differ, as those of sites do
		j.Health, j.Fix = status.Gaps, "mirrord accept "+j.Name
		j.Reasons = []string{fmt.Sprintf("%x pages got no answer", sum[:8])}
		title := fmt.Sprintf("A site of %x and more", sum)
		b.daemon.titles[j.Name] = daemon.MirrorTitle{Title: title, Entry: "index.html"}
	}
	b.login(Operate)
	wire := func(path string) *httptest.ResponseRecorder {
		t.Helper()
		b.change = func(r *http.Request) { r.Header.Set("Accept-Encoding", "br;q=1, gzip") }
		w := b.do(path, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %d, %v", path, w.Code, w.Header())
		}
		return w
	}
	for range 3 {
		if w := wire("/?by=state"); w.Body.Len() > 60_000 {
			t.Errorf("a page of the list has %d bytes, compressed", w.Body.Len())
		}
	}
	if b.daemon.looks != 1 || b.daemon.asked != perPage {
		t.Errorf("%d looks at the daemon, %d titles were read", b.daemon.looks, b.daemon.asked)
	}
	for range 3 {
		wire("/?q=and+more")
	}
	if b.daemon.looks != 1 || b.daemon.asked != 1000 {
		t.Errorf("%d looks at the daemon, %d titles were read for a search", b.daemon.looks, b.daemon.asked)
	}
	b.change = func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip;q=0") }
	if w := b.do("/", nil); w.Header().Get("Content-Encoding") != "" {
		t.Error("packed for a client that does not take it")
	}
	b.daemon.jobs[0].Version++
	b.srv.fresh.drop()
	wire("/?q=and+more")
	if b.daemon.asked <= 1000 {
		t.Error("the title of a new version was not read")
	}
}

// Many who look at the list ask the daemon once, until the next change.
func TestListIsKept(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.Keep = time.Hour })
	b.daemon.jobs = testJobs(3)
	b.login(Operate)
	for range 20 {
		b.want(http.StatusOK, "job0002", "/?by=state", nil)
		b.want(http.StatusOK, "job0002", "/feed.atom", nil)
	}
	looks := b.daemon.looks
	b.daemon.jobs[1].Health = status.Failed
	b.do("/jobs/job0001/pause", url.Values{})
	b.want(http.StatusOK, "Failing <span>1</span>", "/", nil)
	if looks != 1 || b.daemon.looks != 2 {
		t.Errorf("%d and %d looks", looks, b.daemon.looks)
	}
}

// What operators do reaches the daemon, redirects to a page, and is in the audit log.
func TestActs(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(2)
	b.daemon.jobs[1].Activity = status.Running
	b.login(Operate)
	const at = "/jobs/job0000"
	none := url.Values{}
	b.want(http.StatusSeeOther, at+"?said=run", at+"/run", url.Values{"full": {"1"}, "now": {"1"}})
	b.want(http.StatusSeeOther, "?said=going", "/jobs/job0001/run", none)
	b.want(http.StatusSeeOther, at+"?said=cancel", at+"/cancel", none)
	b.want(http.StatusSeeOther, at+"?said=pause", at+"/pause", none)
	b.want(http.StatusSeeOther, at+"?said=resume", at+"/resume", none)
	b.want(http.StatusNotFound, "no job", "/jobs/nosuch/run", none)
	b.want(http.StatusNotFound, "no such page", "/jobs/a%2f..%2fb/run", none)
	b.want(http.StatusMethodNotAllowed, "takes POST", at+"/run", nil)
	want := "run job0000 accept=false full=true now=true; run job0001 accept=false full=false now=false; " +
		"cancel job0000; pause job0000; resume job0000"
	if got := strings.Join(b.daemon.did, "; "); got != want {
		t.Errorf("done: %s", got)
	}
	b.want(http.StatusOK, "Paused: no run", at+"?said=pause", nil)
	if page := b.want(http.StatusOK, "", at+"?said=%3Cb%3Ehello", nil); strings.Contains(page, "hello") {
		t.Error("a text of the address is shown")
	}
	log := parse(t, b.want(http.StatusOK, "refused: no job", "/audit", nil)).Find("tbody tr")
	if log.Length() != 7 || !strings.Contains(log.Eq(5).Text(), "full, ignoring the time window") {
		t.Errorf("%d entries, %s", log.Length(), log.Text())
	}
}

// Accepted is what the page showed, and not what came after it.
func TestAccept(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	ended := time.Date(2026, 11, 20, 1, 2, 3, 4, time.UTC)
	j := &b.daemon.jobs[0]
	j.Health = status.Suspicious
	j.Last = &status.Run{
		Ended:   ended,
		Verdict: status.VerdictSuspicious,
		Waiting: []string{"900 removed", "docs/<b>"},
	}
	b.login(Operate)
	doc := parse(t, b.want(http.StatusOK, "Held for review", "/jobs/job0000", nil))
	id, _ := doc.Find("form[action$=accept] input[name=run]").Attr("value")
	if !strings.Contains(doc.Find("pre").Text(), "docs/<b>") || id == "" {
		t.Errorf("run %q, %s", id, doc.Find("pre").Text())
	}
	j.Last.Ended = ended.Add(time.Hour)
	b.want(http.StatusConflict, "look at it again", "/jobs/job0000/accept", url.Values{"run": {id}})
	b.want(http.StatusConflict, "look at it again", "/jobs/job0000/accept", url.Values{})
	j.Last.Ended = ended
	b.want(http.StatusSeeOther, "?said=accept", "/jobs/job0000/accept", url.Values{"run": {id}})
	b.want(http.StatusSeeOther, "?said=accept", "/jobs/job0000/accept", url.Values{"run": {id}, "keep": {"1"}})
	const done = "run job0000 accept=true full=false now=false"
	if got := strings.Join(b.daemon.did, ";"); got != done+";"+done+" keep" {
		t.Errorf("done: %s", got)
	}
	b.login(Read)
	page := parse(t, b.want(http.StatusOK, "Only an operator", "/jobs/job0000", nil))
	if page.Find("main form").Length() > 0 {
		t.Error("a reader has a form")
	}
	j.Last.Waiting, j.Last.Verdict, j.Last.Gaps = nil, status.VerdictGaps, 2
	b.login(Operate)
	b.want(http.StatusOK, "Ignore these missing resources", "/jobs/job0000", nil)
	j.Last.Verdict, j.Last.KnownGaps, j.Last.Kept = status.VerdictComplete, 2, 1200
	b.want(http.StatusOK, "Remove them here too", "/jobs/job0000", nil)
}

// A run under way is shown, and the part that changes renews itself until the run has ended.
func TestLive(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(1)
	j := &b.daemon.jobs[0]
	j.Activity, j.Started = status.Running, &b.now
	j.Progress = &status.Progress{
		Phase:    status.Retrieving,
		Elapsed:  10 * time.Second,
		Bytes:    20_000_000,
		Requests: 12,
		Down:     []string{"a.example"},
		Hosts:    12,
		Busy: []status.BusyHost{
			{
				Host:     "docs.example",
				Queued:   40,
				InFlight: 1,
				Gap:      1500 * time.Millisecond,
				Wait:     time.Second,
			},
			{Host: "www.example", Queued: 3},
		},
		WaitWhy:  status.ForSlow,
		WaitHost: "slow.example",
		Recent:   []status.AnsweredURL{{URL: "https://docs.example/a", Outcome: "gone"}},
	}
	b.daemon.runs = []status.Run{
		{Verdict: "complete", Spared: map[string]int64{"rule": 3, "listing": 40, "price": 0}},
		{Verdict: "partial"},
	}
	b.login(Read)
	doc := parse(t, b.want(http.StatusOK, "2.0 MB/s", "/jobs/job0000", nil))
	if to, _ := doc.Find("#stream").Attr("hx-sse:connect"); to != "/jobs/job0000/live" {
		t.Errorf("renewed from %q", to)
	}
	facts := doc.Find("#stream dl.facts").Text()
	for _, want := range []string{
		"docs.example: 1 in flight, 40 waiting, 1.5 s between requests, the next in 1 s",
		"www.example: 0 in flight, 3 waiting, 0 s between requests",
		"12, of which", "waiting for answers of slow.example", "gone: https://docs.example/a", "a.example",
	} {
		if !strings.Contains(facts, want) {
			t.Errorf("the run shows no %q, but\n%s", want, facts)
		}
	}
	if got := doc.Find("svg.chart g title").First().Text(); !strings.HasSuffix(got, "0 requests, 0 skipped") {
		t.Errorf("the oldest run has %q", got)
	}
	if got := doc.Find("#runs ~ .list .s").Eq(1).Text(); got != "Incomplete" {
		t.Errorf("the oldest run ended %q", got)
	}
	if !strings.Contains(doc.Find("#runs ~ .list").Text(), "40 by listing, 3 by rule") {
		t.Error(doc.Find("#runs ~ .list").Text())
	}
	j.Activity, j.Progress = status.Idle, nil
	if got := b.do("/jobs/job0000/live", nil).Body.String(); got != "event: over\ndata:\n\n" {
		t.Errorf("after the run: %q", got)
	}
	if w := b.do("/jobs/job0000/over", nil); w.Header().Get("HX-Refresh") != "true" {
		t.Errorf("after the run: %v", w.Header())
	}
}

// A program that reads feeds logs in with a token, which opens nothing but feeds.
func TestFeedReader(t *testing.T) {
	b, users, _ := newLocal(t, nil)
	b.daemon.jobs = testJobs(2)
	secret, fact := access.NewToken(access.Operate, b.now, time.Time{})
	users.tokens = map[string]shared.TokenFact{"reader": fact}
	as := func(name, secret string) func(*http.Request) {
		return func(r *http.Request) { r.SetBasicAuth(name, secret) }
	}
	w := b.do("/feed.atom", nil)
	if ask := w.Header().Get("WWW-Authenticate"); w.Code != http.StatusUnauthorized ||
		!strings.HasPrefix(ask, "Basic ") {
		t.Errorf("without a token: %d, %s", w.Code, ask)
	}
	b.change = as("anybody", secret)
	b.want(http.StatusOK, "<entry>", "/feed.atom", nil)
	b.change = func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret) }
	b.want(http.StatusOK, "<entry>", "/feed.atom", nil)
	b.change = as("ann", annsPassword)
	b.want(http.StatusUnauthorized, "", "/feed.atom", nil)
	for _, path := range []string{"/", "/jobs/job0000", "/audit", "/nosuch/feed.atom/x"} {
		b.change = as("anybody", secret)
		w := b.do(path, nil)
		if w.Code != http.StatusUnauthorized && w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	b.change = as("anybody", secret)
	b.want(http.StatusUnauthorized, "", "/jobs/job0000/run", url.Values{})
	users.tokens = nil
	b.now = b.now.Add(2 * time.Second)
	b.change = as("anybody", secret)
	b.want(http.StatusUnauthorized, "", "/feed.atom", nil)
	if len(b.daemon.did) > 0 {
		t.Errorf("done: %v", b.daemon.did)
	}
}

// The feed is XML with any titles, and names what was published last first.
func TestFeed(t *testing.T) {
	b := newBrowser(t, nil)
	b.daemon.jobs = testJobs(60)
	at := b.now
	b.daemon.jobs[7].Published = &at
	b.daemon.titles = map[string]daemon.MirrorTitle{"job0007": {Title: "]]><script>&\x01"}}
	b.login(Read)
	var feed struct {
		Entries []struct {
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal([]byte(b.want(http.StatusOK, "<feed", "/feed.atom", nil)), &feed); err != nil {
		t.Fatal(err)
	}
	if len(feed.Entries) != feedLength || !strings.HasPrefix(feed.Entries[0].Title, "]]><script>&") {
		t.Errorf("%d entries, %+v", len(feed.Entries), feed.Entries[0])
	}
}
