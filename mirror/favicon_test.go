// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// TestFaviconMissing: a missing icon is not reported, and it is requested in one of eight runs,
// also when pages change. It is never one of the known URLs, so that their count is the same in every run.
func TestFaviconMissing(t *testing.T) {
	t.Parallel()
	for name, icon := range map[string]mirrortest.Page{
		"404":                   {},
		"a page for every path": mirrortest.HTML("Home", "soft"),
		"forbidden":             {Status: http.StatusForbidden},
	} {
		w := mirrortest.Start(t)
		hub(w, 3)
		if name != "404" {
			w.Set(home+"/favicon.ico", icon)
		}
		var asked atomic.Int32
		w.Hook(func(r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/favicon.ico") {
				asked.Add(1)
			}
		})
		m := mirrortest.New(t, w, job())
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		if s.Gone+s.Failed+s.Refused != 0 || s.Asked != 4 || s.Known != 4 || asked.Load() != 1 {
			t.Errorf("%s: asked %d times: %s", name, asked.Load(), mirrortest.Text(s))
		}
		wantPaths(t, m, "index.html", "page00.html", "page01.html", "page02.html")
		for i := range 8 {
			w.Set(home+"/page00.html", mirrortest.HTML("Page 0", strings.Repeat("new text ", i+1)))
			if s := m.Run(); s.Gone+s.Failed+s.Refused != 0 || s.Known != 4 {
				t.Errorf("%s: %d known: %s", name, s.Known, mirrortest.Text(s))
			}
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%s: asked %d times in nine runs, want 2", name, n)
		}
	}
}

// TestFaviconThere: it is mirrored and kept, changes, and leaves like anything else; a page that names an
// icon does not ask for it.
func TestFaviconThere(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	icon := func(body string) mirrortest.Page {
		return mirrortest.Page{Header: map[string]string{"Content-Type": "image/x-icon"}, Body: body}
	}
	w.Set(home+"/docs/", mirrortest.HTML("Docs", "<a href=a.html>a</a>"))
	w.Set(home+"/docs/a.html", mirrortest.HTML("A", "a"))
	w.Set(home+"/favicon.ico", icon("\x00\x00\x01\x00one"))
	m := mirrortest.New(t, w, "url = \""+home+"/docs/\"\nlimits.max_delete = \"100%\"\n")
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "docs/a.html", "docs/index.html", "favicon.ico") // a requisite from outside of the scope
	w.Set(home+"/favicon.ico", icon("\x00\x00\x01\x00two"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if !strings.HasSuffix(m.Tree()["favicon.ico"], "two") {
		t.Error("a new icon is not found")
	}
	w.Remove(home + "/favicon.ico")
	if s := m.Run(); s.Asked != 3 || s.Known != 3 {
		t.Errorf("an icon that leaves the mirror is one of the known URLs: asked %d of %d, want 3 of 3",
			s.Asked, s.Known)
	}
	wantPaths(t, m, "docs/a.html", "docs/index.html")

	w = mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<link rel="shortcut ICON" href="data:,">`))
	w.Set(home+"/favicon.ico", icon("x"))
	m = mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if n := w.Asked()[home+"/favicon.ico"]; n != 0 {
		t.Errorf("asked %d times although the page names an icon", n)
	}
}
