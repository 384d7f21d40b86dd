// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// changedSites has a page with three states in five versions, one of which lacks it.
func changedSites() fakeSites {
	sites := fakeSites{"one": {primary: "https://one.test"}}
	for i, body := range []string{"Open from <i>Thursday", "Open from <i>Thursday", "",
		"Open from <b>Friday &lt;b&gt;", "<p>Open from Sunday &lt;b&gt;"} {
		at := time.Date(2026, 3, i+1, 4, 0, 0, 0, time.UTC)
		v := &fakeVersion{Version: Version{i + 1, at}, site: sites["one"]}
		v.files = []fakeFile{{url: "https://one.test/", path: "index.html", mime: "text/html", body: "same"}}
		if body != "" {
			v.files = append(v.files, fakeFile{
				url:  "https://one.test/hours",
				path: "hours.html",
				mime: "text/html",
				body: "<title>Hours</title>" + body,
			})
		}
		sites["one"].versions = append(sites["one"].versions, v)
	}
	return sites
}

// The bar has a link to what changed where something did, and that page marks the words.
func TestChanged(t *testing.T) {
	const base = "http://mirrors.test/~one"
	link := func(day, path string) string {
		return base + changedPath + "202603" + day + "040000/https://one.test" + path
	}
	const past = base + mementos
	for _, forgets := range []bool{false, true} {
		sites := changedSites()
		sites["one"].forgets = forgets
		s := testServer(t, func(o *Options) { o.Sites = sites })
		for at, want := range map[string]string{
			"/hours": link("05", "/hours"),
			mementos + "20260304040000/https://one.test/hours": link("04", "/hours"),
		} {
			_, res := navigate(t, s, byHost+at)
			if !strings.Contains(bodyOf(t, res), `<a href="`+want+`">What changed</a>`) {
				t.Errorf("forgets %v, %s: the bar has no link to %s", forgets, at, want)
			}
		}
		for at, want := range map[string][]string{
			link("05", "/hours"): {`>Open from <del>Friday</del> &lt;b&gt;</p>`,
				`>Open from <ins>Sunday</ins> &lt;b&gt;</p>`,
				`<a href="` + past + `20260304040000/https://one.test/hours">Version 4: 4 Mar 2026</a>`,
				`rel="prev" href="` + link("04", "/hours") + `"`, `<a href="` + base + `/hours"><bdi>Hours</bdi>`},
			link("04", "/hours"): {`<del>Thursday</del>`, `rel="next" href="` + link("05", "/hours") + `"`,
				`>Version 1: 1 Mar 2026</a>`, `version <b>4</b> of <b>5</b>`},
			link("02", "/hours"): {`It has been the same since 1 Mar 2026`,
				`rel="next" href="` + link("04", "/hours") + `"`},
			link("05", "/"): {`It has been the same since 1 Mar 2026`},
		} {
			res := ask(t, s, "GET", at, "Sec-Fetch-Dest", "document")
			page := bodyOf(t, res)
			for _, w := range want {
				if !strings.Contains(page, w) {
					t.Errorf("forgets %v, %s: no %s:\n%s", forgets, at, w, page)
				}
			}
			h := res.Header
			if res.StatusCode != 200 || strings.Contains(page, "<script") ||
				h.Get("Content-Security-Policy") != pagePolicy || h.Get("X-Robots-Tag") != "noindex" ||
				h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v", at, res.StatusCode, h)
			}
		}
	}
}

// The page of a change is at the bars' origin alone, for navigations.
func TestChangedElsewhere(t *testing.T) {
	s := testServer(t, func(o *Options) { o.Sites = changedSites() })
	const rest = changedPath + "20260305040000/https://one.test/"
	for at, want := range map[string]int{
		byHost + rest + "hours":                                             404,
		byPath + rest + "hours":                                             404,
		"http://mirrors.test/~one" + rest + "nosuch":                        404,
		"http://mirrors.test/~one" + changedPath + "2026/https://one.test/": 400,
	} {
		if res := ask(t, s, "GET", at, "Sec-Fetch-Dest", "document"); res.StatusCode != want {
			t.Errorf("%s: %d", at, res.StatusCode)
		}
	}
	res := ask(t, s, "GET", "http://mirrors.test/~one"+rest+"hours")
	if got := res.Header.Get("Location"); res.StatusCode != http.StatusFound || got != byHost+rest+"hours" {
		t.Errorf("no navigation: %d to %s", res.StatusCode, got)
	}
	for _, at := range []string{"/", mementos + "20260301040000/https://one.test/hours"} {
		if _, res := navigate(t, s, byHost+at); strings.Contains(bodyOf(t, res), changedPath) {
			t.Errorf("%s: a link to no change", at)
		}
	}
	page := bodyOf(t, ask(t, s, "GET", "http://mirrors.test/~one"+rest+"hours", "Sec-Fetch-Dest", "document",
		"Accept-Language", "de"))
	if !strings.Contains(page, "<h1>Änderungen</h1>") {
		t.Errorf("in German:\n%s", page)
	}
}

// A page without words, or too little different to have others, says that no word differs.
func TestChangedWithoutWords(t *testing.T) {
	sites := changedSites()
	f := sites["one"].versions[4].files
	f[1].body = "<title>Hours</title><p class=new>Open from <b>Friday &lt;b&gt;"
	s := testServer(t, func(o *Options) { o.Sites = sites })
	at := "http://mirrors.test/~one" + changedPath + "20260305040000/https://one.test/hours"
	page := bodyOf(t, ask(t, s, "GET", at, "Sec-Fetch-Dest", "document"))
	if !strings.Contains(page, "No word of it differs.") {
		t.Errorf("%s", page)
	}
	f[1].mime, f[1].body = "image/png", "\x89PNG"
	page = bodyOf(t, ask(t, s, "GET", at, "Sec-Fetch-Dest", "document"))
	if !strings.Contains(page, "Open from Friday") {
		t.Errorf("a page that became a picture:\n%s", page)
	}
}
