// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/scheduler/status"
)

// hostile is on a page of the site, and must be text in the console.
const hostile = `<script>alert(1)</script>`

// testSite is a small site in three states: two versions, and one in which its entry page links to nothing.
func testSite(state *atomic.Int32) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := state.Load()
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/":
			io.WriteString(w, `<title>Site</title><p>welcome</p>`)
			for i := range 8 * int(min(1, 3-n)) {
				query := ""
				if i == 7 {
					query = "?of=(a)"
				}
				fmt.Fprintf(w, `<a href="/docs/%d.html%s">%d</a>`, i, query, i)
			}
		case !strings.HasPrefix(r.URL.Path, "/docs/"):
			http.NotFound(w, r)
		case r.URL.Path == "/docs/1.html":
			fmt.Fprintf(w, "<title>one</title><p>state %d</p>%s", n, hostile)
		default:
			fmt.Fprintf(w, "<title>page</title><p>%s says a thing of its own, %[1]s%[1]s</p>", r.URL.Path)
		}
	})
}

// mirrored makes a mirror of a small site: two versions, and a run that is held back.
func mirrored(t testing.TB) *env.App {
	t.Helper()
	return mirroredBy(t, status.VerdictComplete, status.VerdictComplete, status.VerdictSuspicious)
}

// mirroredBy makes a mirror by runs that end with these verdicts.
func mirroredBy(t testing.TB, verdicts ...string) *env.App {
	t.Helper()
	return mirrorOf(t, testSite, verdicts...)
}

// mirrorOf makes a mirror of a site that knows in which state it is, the number of the run.
func mirrorOf(t testing.TB, of func(*atomic.Int32) http.Handler, verdicts ...string) *env.App {
	t.Helper()
	var state atomic.Int32
	srv := httptest.NewServer(of(&state))
	t.Cleanup(srv.Close)
	jobs, dir := t.TempDir(), t.TempDir()
	text := fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\nfactor = 0.0\n", srv.URL+"/")
	if err := os.WriteFile(filepath.Join(jobs, "site.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a := &env.App{
		State:     func() (string, error) { return dir, nil },
		Jobs:      jobs,
		Log:       slog.New(slog.DiscardHandler),
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	j, err := a.FindJob("site")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range verdicts {
		state.Add(1)
		sum, err := runs.Run(t.Context(), a, j, runs.RunOptions{})
		if sum == nil || sum.Verdict.String() != want {
			t.Fatalf("run: %v, %+v, want %s", err, sum, want)
		}
	}
	return a
}

// Of one version nothing can have changed: the page does not ask since when.
func TestOneVersion(t *testing.T) {
	a := mirroredBy(t, status.VerdictComplete)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 1}}
	b.login(Read)
	doc := parse(t, b.want(http.StatusOK, "1 version is kept", "/jobs/site/versions", nil))
	if n := doc.Find("form[action$=diff]").Length(); n != 0 {
		t.Errorf("%d forms for what changed", n)
	}
}

// Versions, what differs between them, a run held for review, why a URL is there, and the plan: as the
// commands say it.
func TestVersionPages(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2}}
	b.login(Read)
	const at = "/jobs/site"
	rows := parse(t, b.want(http.StatusOK, "2 versions are kept", at+"/versions", nil)).Find("tbody tr")
	if rows.Length() != 2 || !strings.Contains(rows.Eq(0).Text(), "current") {
		t.Errorf("%d versions: %s", rows.Length(), rows.Text())
	}
	to, _ := rows.Eq(0).Find("a[href*=diff]").First().Attr("href")
	doc := parse(t, b.want(http.StatusOK, "0 added, 1 changed, 0 removed", to, nil))
	to, _ = doc.Find("table a").First().Attr("href")
	doc = parse(t, b.want(http.StatusOK, "in <strong>docs</strong>", to, nil))
	to, _ = doc.Find("table a").First().Attr("href")
	page := b.want(http.StatusOK, "The page was changed", to, nil)
	doc = parse(t, page)
	if got := doc.Find("ins").Text(); got != "2" {
		t.Errorf("changed within the line: %q", got)
	}
	if !strings.Contains(doc.Find("table.diff").Text(), hostile) || doc.Find("main script").Length() > 0 {
		t.Errorf("the page is not shown as text:\n%s", page)
	}
	b.want(http.StatusOK, "8 removed", at+"/diff?held=1", nil)
	b.want(http.StatusOK, "0 added, 1 changed", at+"/diff?from=1&to=2&path=docs", nil)
	b.want(http.StatusOK, "From version 1 to 2", at+"/diff?since=2000-01-01", nil)
	doc = parse(t, b.want(http.StatusOK, "in <strong>docs</strong>", at+"/diff?since=2000-01-01&path=docs", nil))
	if got := doc.Find("#files + .wide tbody tr").Text(); !strings.HasPrefix(got, "1.htmlchanged") {
		t.Errorf("what changed in a directory since a day: %q", got)
	}
	b.want(http.StatusNotFound, "no version 9", at+"/diff?from=9&to=2", nil)
	b.want(http.StatusNotFound, "neither version has nosuch", at+"/diff?from=1&to=2&path=nosuch", nil)
	b.want(http.StatusBadRequest, "is no number", at+"/diff?from=x", nil)
	b.want(http.StatusBadRequest, "is not a date", at+"/diff?since=x", nil)
	b.want(http.StatusOK, "Nothing differs", at+"/diff?from=2&to=2", nil)

	doc = parse(t, b.want(http.StatusOK, "docs/", at+"/changes", nil))
	row := doc.Find("#table + div tbody tr").Eq(1).Text()
	cells := doc.Find("table.heat tbody tr").Eq(1).Find("path")
	if !strings.Contains(row, "1 / 1") || cells.Length() == 0 {
		t.Errorf("the row of docs: %s; %d paths", row, cells.Length())
	}
	b.want(http.StatusOK, "Up</a>", at+"/changes?path=docs&all=1", nil)
	b.want(http.StatusBadRequest, "never such a directory", at+"/changes?path=nosuch", nil)
	b.want(http.StatusOK, "URL, or path in the mirror", at+"/explain", nil)
	b.want(http.StatusOK, "what changed last", at+"/explain?url=docs/1.html", nil)
	b.want(http.StatusBadRequest, "nothing in the mirror", at+"/explain?url=%3Cb%3E", nil)
	b.want(http.StatusBadRequest, `role="alert"`, at+"/explain?url=http://", nil)
	b.want(http.StatusOK, "Plan of the next run", at+"/plan", nil)
	if got := b.do(at+"/plan?short=1", nil).Body.String(); !strings.Contains(got, "of 9 URLs") ||
		strings.Contains(got, "<html") {
		t.Errorf("the plan in short: %s", got)
	}
	b.want(http.StatusNotFound, "", "/jobs/nosuch/versions", nil)
	feed := parse(t, b.want(http.StatusOK, "<feed", at+"/feed.atom", nil)).Find("entry")
	if got := feed.Eq(0).Text(); feed.Length() != 2 || !strings.Contains(got, "version 2") ||
		!strings.Contains(got, "0 files added, 1 changed, 0 removed") {
		t.Errorf("%d entries, the first is %s", feed.Length(), got)
	}

	b.login(Operate)
	b.want(http.StatusOK, "Restore version 1", at+"/diff?from=2&to=1", nil)
	b.want(http.StatusConflict, "look at it again", at+"/rollback", url.Values{"current": {"1"}, "to": {"1"}})
	b.want(http.StatusNotFound, "no version 7", at+"/rollback", url.Values{"current": {"2"}, "to": {"7"}})
	st, err := a.MustWriteState() // as a run does
	if err != nil {
		t.Fatal(err)
	}
	busy, err := st.OpenSite("site")
	if err != nil {
		t.Fatal(err)
	}
	for page, form := range map[string]url.Values{"/rollback": {"current": {"2"}, "to": {"1"}}, "/gc": {}} {
		b.want(http.StatusConflict, "Try again when that has ended", at+page, form)
	}
	if err := errors.Join(busy.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	b.want(http.StatusSeeOther, "?said=rollback", at+"/rollback", url.Values{"current": {"2"}, "to": {"1"}})
	b.want(http.StatusOK, "rolled back to 1", at+"/versions", nil)
}
