// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// barAddresses are of all kinds.
var barAddresses = []string{
	"/", "/index.html", "/docs/", "/docs/index.html", "/docs/long.txt", "/find?q=1", "/a", "/a.html",
	"/a~0011223344.html", "/caf%C3%A9/x", "/odd//x.html", "/no-type", "/pic.png", "/@cdn.test/lib.css", "/old",
	"/to-a.html", "/away", "/nosuch", "/robots.txt", "/gone.html", "/frames.html", "/@@one/x.html",
	"/.well-known/mirrord/memento/20260601040000/https://one.test/docs/",
	"/.well-known/mirrord/memento/20260301040000/https://one.test/gone.html",
	"/.well-known/mirrord/memento/20260601040000/https://one.test/nosuch",
	"/.well-known/mirrord/memento/20260601040000/https://one.test/a.html",
	"/.well-known/mirrord/timegate/https://one.test/docs/",
	"/.well-known/mirrord/timemap/link/https://one.test/",
	"/.well-known/mirrord/nosuch",
}

func barSites() fakeSites {
	sites := testSites()
	last := sites["one"].versions[2]
	last.files = append(last.files, fakeFile{
		url:  "https://one.test/frames.html",
		path: "frames.html",
		mime: "text/html",
		body: "<title>frames</title><FRAMESET cols=50%,50%><frame src=a.html></FRAMESET>",
	})
	return sites
}

// All but navigations get the same bytes and fields as without a bar, save for Vary; a frame may be that of a
// bar.
func TestBarChangesNothingElse(t *testing.T) {
	with := testServer(t, func(o *Options) { o.Sites = barSites() })
	without := testServer(t, func(o *Options) { o.Sites, o.NoBar = barSites(), true })
	for _, at := range barAddresses {
		for _, dest := range []string{"", "empty", "image", "script", "style", "iframe", "frame", "object"} {
			for _, more := range [][]string{nil, {"Accept-Encoding", "gzip"}, {"Range", "bytes=2-5"}} {
				headers := append([]string{"Sec-Fetch-Dest", dest}, more...)
				if dest == "" {
					headers = more
				}
				a, b := ask(t, with, "GET", byHost+at, headers...), ask(t, without, "GET", byHost+at, headers...)
				if dest == "iframe" || dest == "frame" || dest == "object" {
					policy := a.Header.Get("Content-Security-Policy")
					a.Header.Set("Content-Security-Policy", strings.TrimSuffix(policy, " http://mirrors.test"))
				}
				a.Header.Del("Vary")
				b.Header.Del("Vary")
				if a.StatusCode != b.StatusCode || !maps.EqualFunc(a.Header, b.Header, slices.Equal) ||
					bodyOf(t, a) != bodyOf(t, b) {
					t.Errorf("%s %v: %d %v, without a bar %d %v", at, headers, a.StatusCode, a.Header, b.StatusCode,
						b.Header)
				}
			}
		}
	}
}

// navigate follows a browser's navigation to its end.
func navigate(t *testing.T, h http.Handler, at string) (end string, res *http.Response) {
	t.Helper()
	for range 6 {
		res = ask(t, h, "GET", at, "Sec-Fetch-Dest", "document")
		to := res.Header.Get("Location")
		if to == "" {
			return at, res
		}
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		v, err := u.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		if at = v.String(); v.Host == "one.test" || v.Host == "elsewhere.test" || v.Host == "" {
			return at, res
		}
	}
	t.Errorf("it does not end: %s", at)
	return at, res
}

func TestBarNavigation(t *testing.T) {
	alias := map[string]string{"docs.alias.test": "one"}
	s := testServer(t, func(o *Options) { o.Sites, o.Aliases = barSites(), alias })
	const bars = "http://mirrors.test/~one"
	past := "/.well-known/mirrord/memento/20260601040000/https://one.test"
	for at, want := range map[string]string{
		"/":                   bars + "/",
		"/docs/":              bars + "/docs/",
		"/docs/long.txt":      bars + "/docs/long.txt",
		"/find?q=1":           bars + "/find?q=1",
		"/a":                  bars + "/a",
		"/a.html":             bars + "/a~0011223344.html", // in doubt it is the URL
		"/old":                bars + "/docs/",
		"/pic.png":            byHost + "/pic.png",
		"/frames.html":        byHost + "/frames.html",
		"/@cdn.test/lib.css":  byHost + "/@cdn.test/lib.css",
		"/nosuch":             "https://one.test/nosuch",
		past + "/docs/":       bars + past + "/docs/",
		past + "/find?q=2":    bars + past + "/find?q=2",
		past + "/pic.png":     byHost + past + "/pic.png",
		"/docs/?mirrord-bar":  bars + "/docs/",
		"/robots.txt":         byHost + "/robots.txt",
		"/find?q=1&q=2&t=a b": "https://one.test/find?q=1&q=2&t=a%20b",
	} {
		if end, res := navigate(t, s, byHost+strings.ReplaceAll(at, " ", "%20")); end != want {
			t.Errorf("%s: ends at %s (%d), want %s", at, end, res.StatusCode, want)
		}
	}
	for _, at := range barAddresses {
		for _, base := range []string{byHost, bars, "http://docs.alias.test"} {
			navigate(t, s, base+at)
		}
	}
	if end, _ := navigate(t, s, "http://docs.alias.test/docs/"); end != bars+"/docs/" {
		t.Errorf("another name of the mirror: ends at %s", end)
	}
	for at, want := range map[string]string{
		"http://mirrors.test:81/~one/docs/?x":  "http://one.mirrors.test:81/docs/?x",
		"http://127.0.0.1:81/~one/docs/":       "/one/docs/",
		"http://mirrors.test/~one/robots.txt":  "http://one.mirrors.test/robots.txt",
		"http://mirrors.test/~one/@@two/x.png": "http://one.mirrors.test/@@two/x.png",
	} {
		if got := ask(t, s, "GET", at).Header.Get("Location"); got != want {
			t.Errorf("%s, no navigation: to %q, want %q", at, got, want)
		}
	}
	res := ask(t, s, "GET", "http://mirrors.test/~nosuch/", "Sec-Fetch-Dest", "document")
	if res.StatusCode != 404 {
		t.Errorf("no such mirror: %d", res.StatusCode)
	}
}

// One host name, or one that says nothing of the base host, has no bar; nor has a reader who has hidden it.
func TestBarNever(t *testing.T) {
	s := testServer(t, nil)
	local := testServer(t, func(o *Options) { o.Base, o.Aliases = "", map[string]string{"docs.test": "one"} })
	off := testServer(t, func(o *Options) { o.NoBar = true })
	for _, tc := range []struct {
		h       http.Handler
		at      string
		headers []string
	}{
		{s, "http://mirrors.test/one/docs/", nil},
		{s, "http://127.0.0.1:80/one/docs/", nil},
		{s, "http://[::1]:80/one/docs/", nil},
		{s.Site("one"), byHost + "/docs/", nil},
		{local, "http://docs.test/docs/", nil},
		{off, byHost + "/docs/", nil},
		{s, byHost + "/docs/", []string{"Referer", "http://mirrors.test/"}},
	} {
		res := ask(t, tc.h, "GET", tc.at, append(tc.headers, "Sec-Fetch-Dest", "document")...)
		if res.StatusCode != 200 || bodyOf(t, res) != "docs" {
			t.Errorf("%s: %d %v", tc.at, res.StatusCode, res.Header)
		}
	}
}

// A browser that opens the list at an address of this machine gets it at localhost, below which mirrors have
// names and bars; programs get it where they ask, and so does everyone when there is no bar or another base.
func TestBarOfLoopback(t *testing.T) {
	local := testServer(t, func(o *Options) { o.Base = "" })
	off := testServer(t, func(o *Options) { o.Base, o.NoBar = "", true })
	for at, want := range map[string]string{
		"http://127.0.0.1:8080/": "http://localhost:8080/",
		"http://[::1]:81/":       "http://localhost:81/",
		"http://192.0.2.7:81/":   "",
		"http://localhost:81/":   "",
	} {
		res := ask(t, local, "GET", at, "Sec-Fetch-Dest", "document")
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("%s: to %q, want %q", at, got, want)
		}
		for name, res := range map[string]*http.Response{
			"a program":    ask(t, local, "GET", at),
			"HEAD":         ask(t, local, "HEAD", at, "Sec-Fetch-Dest", "document"),
			"no bar":       ask(t, off, "GET", at, "Sec-Fetch-Dest", "document"),
			"another base": ask(t, testServer(t, nil), "GET", at, "Sec-Fetch-Dest", "document"),
		} {
			if res.StatusCode != 200 {
				t.Errorf("%s, %s: %d", at, name, res.StatusCode)
			}
		}
	}
	page := bodyOf(t, ask(t, local, "GET", "http://localhost:81/", "Sec-Fetch-Dest", "document"))
	if !strings.Contains(page, `href="http://one.localhost:81/`) {
		t.Errorf("the list has no names:\n%s", page)
	}
}

func TestBarPage(t *testing.T) {
	s := testServer(t, func(o *Options) {
		o.Sites, o.HTTPS = barSites(), true
		o.Texts = &TextLookup{Made: func() bool { return true }}
	})
	_, res := navigate(t, s, "https://mirrors.test:8443/~one/")
	page := bodyOf(t, res)
	for _, want := range []string{
		`<title>home · 1 Sep 2026</title>`, `Copy of <b>one.test</b>`, `version <b>3</b> of <b>3</b>`,
		`<iframe src="https://one.mirrors.test:8443/?mirrord-bar" title="home · 1 Sep 2026"`,
		`href="https://mirrors.test:8443/~one/.well-known/mirrord/memento/20260601040000/https://one.test/"`,
		`href="https://one.test/" rel="noreferrer"`, `action="https://mirrors.test:8443/.well-known/mirrord/find"`,
		`name="site" value="one"`, `href="https://one.mirrors.test:8443/" title=`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	for _, want := range []string{
		`<dt>Sep 2026</dt><dd><a href="https://mirrors.test:8443/~one/" title="Version 3: 1 Sep 2026 04:00 UTC" ` +
			`aria-label="Version 3: 1 Sep 2026 04:00 UTC" aria-current="page">1</a>`,
		`<dt>Mar 2026</dt><dd><a href="https://mirrors.test:8443/~one/.well-known/mirrord/memento/20260301040000/`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the calendar has no %s:\n%s", want, page)
		}
	}
	policy := res.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "frame-src https://*.mirrors.test:8443") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %s", policy)
	}
	const second = "/.well-known/mirrord/memento/20260601040000/https://one.test/find?q=1"
	_, res = navigate(t, s, "https://mirrors.test/~one"+second)
	page = bodyOf(t, res)
	for _, want := range []string{
		`version <b>2</b> of <b>3</b>`, `href="https://mirrors.test/~one/find?q=1" title="Later version: 1 Sep 2026"`,
		`href="https://mirrors.test/~one/.well-known/mirrord/memento/20260301040000/https://one.test/find?q=1"`,
		`<iframe src="https://one.mirrors.test` + second + `&amp;mirrord-bar"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a version has no %s:\n%s", want, page)
		}
	}
}

// What a bar frames is the page with its tags in the head, also in ranges and compressed.
func TestFramed(t *testing.T) {
	sites := barSites()
	last := sites["one"].versions[2]
	pages := map[string]string{
		"<!DOCTYPE html>\n<html lang=en data-x=\"a>b\"><!-- <head> --><head class=x><title>a</title>": "<title>",
		"\xef\xbb\xbf<p>words": "<p>",
		"words":                "words",
		"<!--[if !IE]><!--><html><!--<![endif]--><body>": "<body>",
		"<header>no head</header>":                       "<header>",
		"<?xml version='1.0'?><html><body>":              "<body>",
	}
	n := 0
	for body, before := range pages {
		n++
		path := "t" + itoa(int64(n)) + ".html"
		last.files = append(last.files, fakeFile{
			url:  "https://one.test/" + path,
			path: path,
			mime: "text/html",
			body: body,
		})
		s := testServer(t, func(o *Options) { o.Sites = sites })
		at := byHost + "/" + path + "?mirrord-bar"
		res := ask(t, s, "GET", at, "Sec-Fetch-Dest", "iframe")
		if got, want := bodyOf(t, res), strings.Replace(body, before, frameTags+before, 1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		plain := ask(t, s, "GET", at)
		if bodyOf(t, plain) != body || plain.Header.Get("Etag") == res.Header.Get("Etag") {
			t.Errorf("without a frame: %v", plain.Header)
		}
		part := ask(t, s, "GET", at, "Sec-Fetch-Dest", "iframe", "Range", "bytes=0-1")
		want := strings.Replace(body, before, frameTags+before, 1)[:2]
		if part.StatusCode != 206 || bodyOf(t, part) != want {
			t.Errorf("a range: %d", part.StatusCode)
		}
	}
	for _, alone := range []fakeFile{
		{mime: "text/html", body: "\xff\xfe<\x00p\x00>\x00"},
		{mime: "text/html", charset: "UTF-16BE", body: "\x00<\x00p\x00>"},
		{mime: "text/plain", body: "words"},
		{mime: "application/xhtml+xml", body: "<p/>"},
	} {
		n++
		alone.path = "t" + itoa(int64(n))
		alone.url = "https://one.test/" + alone.path
		last.files = append(last.files, alone)
		s := testServer(t, func(o *Options) { o.Sites = sites })
		res := ask(t, s, "GET", byHost+"/"+alone.path+"?mirrord-bar", "Sec-Fetch-Dest", "iframe")
		if got := bodyOf(t, res); got != alone.body {
			t.Errorf("got %q", got)
		}
	}
}

// A page that is not mirrored has its bar, with the last version that had it.
func TestBarMissing(t *testing.T) {
	s := testServer(t, func(o *Options) { o.Sites, o.RedirectMissing = barSites(), false })
	for at, want := range map[string]string{
		"/nosuch": `Copy of <b>one.test</b>`,
		"/gone.html": `<a class="b" href="http://mirrors.test/~one/.well-known/mirrord/memento/20260301040000/` +
			`https://one.test/gone.html"`,
		"/nosuch?q=1": `<a href="https://one.test/nosuch?q=1" rel="noreferrer">Live page`,
	} {
		end, res := navigate(t, s, byHost+at)
		page := bodyOf(t, res)
		if end != "http://mirrors.test/~one"+at || res.StatusCode != 404 || !strings.Contains(page, want) {
			t.Errorf("%s: %d at %s, without %s:\n%s", at, res.StatusCode, end, want, page)
		}
		if res = ask(t, s, "GET", byHost+at); res.StatusCode != 404 || strings.Contains(bodyOf(t, res), "Copy of") {
			t.Errorf("%s, no navigation: %d", at, res.StatusCode)
		}
	}
	end, res := navigate(t, s, byHost+"/@none/x")
	if end != byHost+"/@none/x" || res.StatusCode != 404 {
		t.Errorf("no file could have it: %d at %s", res.StatusCode, end)
	}
	for _, at := range barAddresses {
		navigate(t, s, byHost+at)
		navigate(t, s, "http://mirrors.test/~one"+at)
	}
}

// A version that lacks a page says since when and why, in the reader's language, with and without a bar.
func TestBarMissingInVersion(t *testing.T) {
	s := testServer(t, func(o *Options) { o.Sites = barSites() })
	off := testServer(t, func(o *Options) { o.Sites, o.NoBar = barSites(), true })
	const past = "/.well-known/mirrord/memento/20260601040000/https://one.test"
	const first = "/.well-known/mirrord/memento/20260301040000/https://one.test"
	get := func(h http.Handler, at, language string) string {
		t.Helper()
		res := ask(t, h, "GET", at, "Sec-Fetch-Dest", "document", "Accept-Language", language)
		if res.StatusCode != 404 || !strings.Contains(strings.Join(res.Header["Vary"], ","), "Accept-Language") {
			t.Errorf("%s: %d %v", at, res.StatusCode, res.Header)
		}
		return bodyOf(t, res)
	}
	for _, tc := range []struct {
		h                  http.Handler
		at, language, want string
	}{
		{s, "http://mirrors.test/~one" + past + "/gone.html", "de",
			`<p>Seit dem 1. Juni 2026 ist sie nicht mehr in dieser Kopie. Die Website antwortete mit 404.</p>`},
		{s, "http://mirrors.test/~one" + past + "/gone.html", "en", `<a class="b first" href=` +
			`"http://mirrors.test/~one` + first + `/gone.html">Open it as of 1 Mar 2026</a>`},
		{s, "http://mirrors.test/~one" + past + "/gone.html", "en", `version <b>2</b> of <b>3</b>`},
		{s, "http://mirrors.test/~one" + past + "/new.html", "en", `This copy has it since 1 Sep 2026.`},
		{s, "http://mirrors.test/~one" + past + "/new.html", "fr",
			`<a class="b first" href="http://mirrors.test/~one/new.html">Ouvrir la version du 1 sept. 2026</a>`},
		{s, "http://mirrors.test/~one" + past + "/nosuch", "hu", `<html lang="hu">`},
		{s, "http://mirrors.test/~one" + past + "/nosuch", "en", `No version of this copy has it.</p>`},
		{off, byHost + past + "/gone.html", "en", `href="` + byHost + first + `/gone.html">Open it as of`},
		{s, byPath + past + "/gone.html", "en", `href="` + byPath + first + `/gone.html">Open it as of`},
		{s, "http://mirrors.test/nosuch/", "ja", "そのコピーはここにありません。"},
	} {
		if page := get(tc.h, tc.at, tc.language); !strings.Contains(page, tc.want) {
			t.Errorf("%s in %s: no %s:\n%s", tc.at, tc.language, tc.want, page)
		}
	}
}

// Nothing unknown is said: neither of a mirror without a history nor of addresses of other sites.
func TestMissingUnknown(t *testing.T) {
	sites := barSites()
	sites["one"].forgets = true
	s := testServer(t, func(o *Options) { o.Sites, o.RedirectMissing = sites, false })
	for _, at := range []string{"/gone.html", "/@none/x"} {
		page := bodyOf(t, ask(t, s, "GET", byHost+at))
		if !strings.Contains(page, "This page is not in the copy") || strings.Contains(page, "No version") {
			t.Errorf("%s:\n%s", at, page)
		}
	}
}

// A page that is missing has links to the nearest directory above it that the version has, and to a search
// for the words of its address, where texts can be searched.
func TestMissingNear(t *testing.T) {
	sites := barSites()
	last := sites["one"].versions[2]
	for _, dir := range []string{"plates/", "plates/1887/moon/"} {
		last.files = append(last.files, fakeFile{
			url:  "https://one.test/" + dir,
			path: dir + "index.html",
			mime: "text/html",
			body: dir,
		})
	}
	s := testServer(t, func(o *Options) {
		o.Sites, o.RedirectMissing = sites, false
		o.Texts = &TextLookup{Made: func() bool { return true }}
	})
	for at, want := range map[string][]string{
		"/plates/1888/Old%20plate-12.html": {`href="/~one/plates/">/plates/</a>`,
			`/find?site=one&amp;q=plates%201888%20Old%20plate%2012">Search: plates 1888 Old plate 12</a>`},
		"/plates/1887/moon/b%c3%a9la.html": {`href="/~one/plates/1887/moon/">`,
			`Search: plates 1887 moon béla</a>`},
		"/nosuch%ff.html": {"No version of this copy has it."},
	} {
		_, res := navigate(t, s, byHost+at)
		page := bodyOf(t, res)
		for _, w := range want {
			if !strings.Contains(page, w) {
				t.Errorf("%s: no %s:\n%s", at, w, page)
			}
		}
		if near := strings.Contains(page, "/~one/plates/"); near != strings.HasPrefix(at, "/plates/") {
			t.Errorf("%s: a directory that is not above it, or none:\n%s", at, page)
		}
	}
	for _, at := range []string{byHost, byPath} { // a host of a mirror that has no bar has no search
		s.NoBar = true
		page := bodyOf(t, ask(t, s, "GET", at+"/plates/nosuch.html"))
		if got := strings.Contains(page, "/find?site=one"); got != (at == byPath) {
			t.Errorf("%s without a bar: a search %v:\n%s", at, got, page)
		}
	}
}

// The calendar has the newest versions, and before those the first of each month and the one that is shown.
func TestBarCalendar(t *testing.T) {
	l, err := readLanguages()
	if err != nil {
		t.Fatal(err)
	}
	b := &bar{W: l.all[0], Number: 45}
	first := time.Date(2025, 1, 1, 4, 0, 0, 0, time.UTC)
	for n := 1; n <= 90; n++ {
		b.mark(Version{n, first.AddDate(0, 0, n-1)}, "/"+itoa(int64(n)), n > 70)
	}
	var got []string
	for _, m := range b.Calendar {
		got = append(got, m.Name)
		for _, d := range m.Days {
			got = append(got, itoa(int64(d.Time.Day()))+d.Address)
			if d.Here != (d.Address == "/45") {
				t.Errorf("%v", d)
			}
		}
	}
	want := "Jan 2025,1/1,Feb 2025,1/32,14/45,Mar 2025,1/60,12/71,13/72"
	if s := strings.Join(got, ","); !strings.HasPrefix(s, want) || len(got) != 3+4+20 {
		t.Errorf("%s", s)
	}
}

// Versions of one day have their times, in every language.
func TestBarCalendarOfOneDay(t *testing.T) {
	l, err := readLanguages()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := parsePages()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range l.all {
		b := &bar{W: w, Number: 3}
		first := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
		for n, later := range []time.Duration{0, 18 * time.Hour, 28*time.Hour + 5*time.Minute} {
			b.mark(Version{n + 1, first.Add(later)}, "/", true)
		}
		var page strings.Builder
		if err := pages.ExecuteTemplate(&page, "days", b.Calendar); err != nil {
			t.Fatal(err)
		}
		title := `"` + say(w.Version, "n", 3, "date", w.Day(first.AddDate(0, 0, 1))) + ` 14:05 UTC"`
		for _, want := range []string{">29</a>", ">30 04:00</a>", ">30 14:05</a>", "title=" + title,
			"aria-label=" + title} {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%s: no %s in %s", w.Lang, want, &page)
			}
		}
	}
}
