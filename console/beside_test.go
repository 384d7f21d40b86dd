// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"strings"
	"testing"

	"mirrord/app/daemon"
	"mirrord/scheduler/status"
)

// Both versions of a page have the words marked that differ. What comes of the mirror runs nothing, and is no
// page of the console.
func TestSides(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App, o.Mirrors = a, "https://mirrors.example" })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2}}
	b.daemon.titles = map[string]daemon.MirrorTitle{"site": {Primary: "http://site.example"}}
	b.login(Read)
	const at = "/jobs/site"
	page := b.want(http.StatusOK, "1 word removed, 1 word added", at+"/beside?from=1&to=2&path=docs/1.html", nil)
	doc := parse(t, page)
	for i, want := range []string{"state <del>1</del>", "state <ins>2</ins>"} {
		to, _ := doc.Find("iframe").Eq(i).Attr("src")
		w := b.do(to, nil)
		body, h := w.Body.String(), w.Header()
		if w.Code != http.StatusOK || !strings.Contains(body, want) || strings.Contains(body, "alert(1)") ||
			!strings.Contains(body, `<base href="https://mirrors.example/site/.well-known/mirrord/memento/`) {
			t.Errorf("%s: %d\n%s", to, w.Code, body)
		}
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'sha256-", "frame-ancestors 'self'", "; sandbox allow-scripts",
			"img-src data: https://mirrors.example;", "form-action 'none'",
		} {
			if !strings.Contains(csp, part) {
				t.Errorf("no %q in %s", part, csp)
			}
		}
		if strings.Contains(csp, "allow-same-origin") || strings.Contains(csp, "connect-src") {
			t.Errorf("policy of a frame: %s", csp)
		}
	}
	b.want(http.StatusOK, "No word differs", at+"/beside?from=1&to=2&path=docs/2.html", nil)
	b.want(http.StatusNotFound, "", at+"/side?from=1&to=2&path=nosuch", nil)
	b.want(http.StatusBadRequest, "is no number", at+"/side?from=x&to=2&path=docs/1.html", nil)
	b.want(http.StatusNotFound, "no version 9", at+"/side?from=1&to=9&path=docs/1.html", nil)
}

// Since when a page says something: the version, its comparison, or that it does not.
func TestSinceWhen(t *testing.T) {
	a := mirrored(t)
	b := newBrowser(t, func(o *Options) { o.App = a })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2}}
	b.login(Read)
	const at, pair = "/jobs/site/view?path=docs/1.html&version=", "from=1&path=docs%2F1.html&to=2"
	for _, tc := range []struct{ ask, want, compared string }{
		{"2&says=State++2", "“State 2”: since version 2, ", pair},
		{"2&says=state", "“state”: since version 1, ", ""},
		{"2&says=state", "or longer", ""},
		{"2&says=state+1", "not in version 2; the last that said so is version 1", pair},
		{"1&says=state+2", "not in version 1, nor in an older one", ""},
	} {
		doc := parse(t, b.want(http.StatusOK, "", at+tc.ask, nil))
		got := strings.Join(strings.Fields(doc.Find("p.said").Text()), " ")
		to, _ := doc.Find("p.said a[href*=beside]").Attr("href")
		_, query, _ := strings.Cut(to, "?")
		if !strings.Contains(got, tc.want) || query != tc.compared {
			t.Errorf("%s: %q, compared at %q, want %q, %q", tc.ask, got, to, tc.want, tc.compared)
		}
	}
	doc := parse(t, b.want(http.StatusOK, "", "/jobs/site/diff?from=1&to=2&path=docs/1.html", nil))
	got := sentForm(doc.Find("form[action$=view]"))
	if got.Get("version") != "2" || got.Get("path") != "docs/1.html" {
		t.Errorf("the form of a difference sends %v", got)
	}
}

// Where the console shows no mirrors, the page of a mirror says how it is read.
func TestMirrorThatIsNotShown(t *testing.T) {
	b := newBrowser(t, func(o *Options) { o.App = mirrored(t) })
	b.daemon.jobs = []status.Job{{Name: "site", Version: 2}}
	b.login(Read)
	b.want(http.StatusOK, "<code>mirrord open site</code>", "/jobs/site", nil)
}
