// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"mirrord/scheduler/status"
)

// An older version is shown in a frame of another origin, with its date, its neighbours and its raw address;
// a page is shown side by side, as text and as source; versions are searched and stepped through.
func TestTimeline(t *testing.T) {
	a := mirrored(t)
	const mirrors = "https://mirrors.example"
	b := newBrowser(t, func(o *Options) { o.App, o.Mirrors = a, mirrors+"/" })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2}}
	b.login(Read)
	const at = "/jobs/site"
	w := b.do(at+"/view?version=1&path=docs/1.html", nil)
	doc := parse(t, w.Body.String())
	frame := doc.Find("iframe[sandbox]")
	src, _ := frame.Attr("src")
	memento := regexp.MustCompile(`^` + mirrors +
		`/site/\.well-known/mirrord/memento/\d{14}/(http://127[^ ]*/)docs/1.html$`)
	if flags, _ := frame.Attr("sandbox"); w.Code != http.StatusOK || flags != "" || !memento.MatchString(src) {
		t.Errorf("%d, the frame has %q, sandbox %q", w.Code, src, flags)
	}
	if got := w.Header().Get("Content-Security-Policy"); got != contentPolicy+"; frame-src "+mirrors {
		t.Errorf("policy: %s", got)
	}
	if raw, _ := doc.Find("dl.facts a[rel=noreferrer]").Attr("href"); raw != src {
		t.Errorf("the raw address is %q", raw)
	}
	if got := doc.Find("dl.facts").Text(); !strings.Contains(got, "version 1, version 2") {
		t.Errorf("it changed in: %s", got)
	}
	next, _ := doc.Find("a[rel=next]").Attr("href")
	b.want(http.StatusSeeOther, "/view?path=docs%2F1.html&version=2", next, nil)
	page := b.want(http.StatusOK, "the one that readers see", at+"/view?path=docs/1.html&version=2", nil)
	before := parse(t, page).Find("a[rel=prev]").AttrOr("href", "")
	b.want(http.StatusSeeOther, "/view?path=docs%2F1.html&version=1", before, nil)
	entry := url.QueryEscape(memento.FindStringSubmatch(src)[1])
	b.want(http.StatusOK, "all of the mirror", at+"/view?version=1&path="+entry, nil)
	page = b.want(http.StatusOK, "", at+"/view?version=1&path="+entry+"docs/7.html%3Fof=(a)", nil)
	if n := strings.Count(page, `docs/7.html?of=(a)" `); n != 2 {
		t.Errorf("%d addresses are as they stand, want that of the frame and the raw one:\n%s", n, page)
	}
	b.want(http.StatusOK, "does not have nosuch", at+"/view?path=nosuch", nil)
	b.want(http.StatusOK, "Version 1 of 2", at+"/view?date=2000-01-01", nil)
	b.want(http.StatusBadRequest, "is not a date", at+"/view?date=x", nil)
	b.want(http.StatusNotFound, "no version 9", at+"/view?version=9", nil)

	// The slider steps, with and without scripts.
	step := sentForm(doc.Find("form[action$=step]"))
	step.Set("n", "1")
	b.want(http.StatusSeeOther, "version=2", at+"/step?"+step.Encode(), nil)
	b.change = func(r *http.Request) { r.Header.Set("HX-Request", "true") }
	to := b.do(at+"/step?"+step.Encode(), nil).Header().Get("HX-Redirect")
	if !strings.Contains(to, "version=2") {
		t.Errorf("htmx is redirected to %q", to)
	}
	b.want(http.StatusSeeOther, "/diff?from=1&path=docs&to=2", at+"/step?page=diff&n=1&path=docs", nil)
	b.want(http.StatusSeeOther, "/beside?from=1&path=a&to=2", at+"/step?page=beside&n=1&path=a", nil)
	for _, n := range []string{"", "-1", "2", "x"} {
		b.want(http.StatusBadRequest, "this version no longer exists", at+"/step?n="+n, nil)
	}

	doc = parse(t, b.want(http.StatusOK, "Line by line", at+"/beside?from=1&to=2&path=docs/1.html", nil))
	if n := doc.Find("iframe[sandbox='allow-scripts']").Length(); n != 2 {
		t.Errorf("%d frames", n)
	}
	doc = parse(t, b.want(http.StatusOK, "Side by side", at+"/diff?from=1&to=2&path=docs/1.html&as=words", nil))
	if got := doc.Find("table.diff").Text(); strings.Contains(got, "<p>") || !strings.Contains(got, "state") {
		t.Errorf("as text: %s", got)
	}

	hits := parse(t, b.want(http.StatusOK, "version 1", at+"/search?version=1&q=ONE", nil)).Find("main li")
	if hits.Length() != 1 || !strings.Contains(hits.Text(), "docs/1.html") {
		t.Errorf("found by title: %s", hits.Text())
	}
	if n := parse(t, b.want(http.StatusOK, "", at+"/search?q=docs+html", nil)).Find("main li").Length(); n != 8 {
		t.Errorf("%d found by path", n)
	}
	b.want(http.StatusOK, "has these words", at+"/search?q="+url.QueryEscape(hostile), nil)
	b.want(http.StatusBadRequest, "at most", at+"/search?q="+strings.Repeat("a", 10_000), nil)

	// Never an origin that mirrored pages share.
	b = newBrowser(t, func(o *Options) { o.App, o.Mirrors = a, "http://"+testHost })
	b.login(Read)
	w = b.do(at+"/view?version=1", nil)
	shown := strings.Contains(w.Body.String(), "<iframe")
	if shown || strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-src") {
		t.Errorf("a mirrored page is framed from the console's own origin")
	}
}
