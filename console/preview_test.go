// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/testing/mirrortest"
	"mirrord/testing/poll"
)

// previewSite serves a site to jobs of an editor's console, under any public name.
func previewSite(t testing.TB, o *Options, h http.Handler) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	o.App.Network = mirrortest.OneServer{At: srv.Listener.Addr().String()}
}

// A new mirror is estimated before it is saved, in a console without orders too. Nothing is written for it,
// and what may not be mirrored is not contacted.
func TestPreviewNewMirror(t *testing.T) {
	b, file := newEditor(t, "url = \"https://a.example/\"\n")
	asked := 0
	previewSite(t, &b.srv.Options, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/docs/":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(`<meta name="generator" content="MediaWiki 1.39"><a href="a.html">a</a>`))
		case "/docs/a.html":
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(`<div id="root"></div><script src="a.js"></script>`))
		case "/moved":
			http.Redirect(w, r, "http://other.example/", http.StatusMovedPermanently)
		default:
			http.NotFound(w, r)
		}
	}))
	form := url.Values{"url": {"http://b.example/docs/"}, "name": {"docs"}, "every": {""}, "do": {"preview"}}
	preview := func() string {
		t.Helper()
		w := b.do("/new", form)
		to, _, _ := strings.Cut(w.Header().Get("Location"), "#")
		if w.Code != http.StatusSeeOther {
			t.Fatalf("%d\n%s", w.Code, w.Body)
		}
		var doc string
		poll.Until(t, "the end of the preview", func() bool {
			doc = b.want(http.StatusOK, "", to, nil)
			return !strings.Contains(doc, `hx-trigger="every 2s"`)
		})
		return doc
	}
	page := preview()
	doc := parse(t, page)
	got := strings.Join(strings.Fields(doc.Find("#preview").Text()), " ")
	for _, want := range []string{"2 files", "2: these are all", "Programmediawiki", "Pages by script1 of 2",
		"Already hereno mirror of this host"} {
		if !strings.Contains(got, want) {
			t.Errorf("the preview says %s, without %q", got, want)
		}
	}
	if name := doc.Find("#name").AttrOr("value", ""); name != "docs" {
		t.Errorf("the name is %q", name)
	}
	if every := doc.Find("#every [selected]").AttrOr("value", "?"); every != "" {
		t.Errorf("it is updated %q", every)
	}
	form.Set("url", "http://b.example/moved")
	doc = parse(t, preview())
	if to := doc.Find("#preview .todo a").AttrOr("href", ""); to != "/new?url=http%3a%2f%2fother.example%2f" {
		t.Errorf("the redirect is offered as %q:\n%s", to, doc.Find("#preview").Text())
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: a preview wrote job files", left, err)
	}
	before := asked
	form.Set("url", "http://127.0.0.1/")
	const why = "url: a private address, which only users of the machine may mirror; make it on the machine"
	b.want(http.StatusUnprocessableEntity, why, "/new", form)
	b.login(Read)
	form.Set("url", "http://b.example/docs/")
	b.want(http.StatusForbidden, "", "/new", form)
	b.srv.Close() // waits for previews
	if asked != before {
		t.Errorf("%d requests of refused previews", asked-before)
	}
}
