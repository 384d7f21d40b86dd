// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"mirrord/fetch/robots"
)

const (
	byHost = "http://one.mirrors.test"
	byPath = "http://mirrors.test/one"
)

func TestAddresses(t *testing.T) {
	s := testServer(t, nil)
	for _, tc := range []struct {
		name, address, referer string
		status                 int
		want                   string // start of the body, or the Location
	}{
		{"root", byHost + "/", "", 200, "<title>home"},
		{"directory", byHost + "/docs/", "", 200, "docs"},
		{"mirror path of a directory", byHost + "/docs/index.html", "", 200, "docs"},
		{"query", byHost + "/find?q=2", "", 200, "found 2"},
		{"mirror path of a query", byHost + "/find@q=2.html", "", 200, "found 2"},
		{"mirror path, escaped", byHost + "/find%40q%3D2.html", "", 200, "found 2"},
		{"another query", byHost + "/find?q=3", "", 302, "https://one.test/find?q=3"},
		{"a query against caches", byHost + "/pic.png?ts=1795470961021", "", 200, "png"},
		{"the same, by path", byPath + "/pic.png?1795470961021", "", 200, "png"},
		{"a query of an image", byHost + "/pic.png?w=2", "", 302, "https://one.test/pic.png?w=2"},
		{"two parameters", byHost + "/pic.png?v=2&w=2", "", 302, "https://one.test/pic.png?v=2&w=2"},
		{"a query of a page", byHost + "/a?v=2", "", 302, "https://one.test/a?v=2"},
		{"empty query is not none", byHost + "/docs/?", "", 302, "https://one.test/docs/?"},
		{"no extension", byHost + "/a", "", 200, "this is a"},
		{"escapes", byHost + "/caf%C3%A9/x", "", 200, "coffee"},
		{"escapes of the mirror path", byHost + "/caf%c3%a9/x.html", "", 200, "coffee"},
		{"not mirrored", byHost + "/none/x?y=1&z", "", 302, "https://one.test/none/x?y=1&z"},
		{"dot segments", byHost + "/docs/../docs/./", "", 200, "docs"},
		{"escaped dot segments", byHost + "/x/%2e%2E/docs/", "", 200, "docs"},
		{"two slashes", byHost + "//docs/", "", 302, "https://one.test//docs/"},
		{"two slashes that look like a host", byHost + "//evil.test/x", "", 302, "https://one.test//evil.test/x"},

		{"a document that does not lie in its URL's directory", byHost + "/odd//x.html", "", 302,
			"/odd/%252F/x.html"},
		{"its place", byHost + "/odd/%252F/x.html", "", 200, "odd"},
		{"what has no links is at home everywhere", byHost + "/odd//x.png", "", 200, "picture"},
		{"another host's file", byHost + "/@cdn.test/lib.css", "", 200, "p{}"},
		{"another host's file that is not there", byHost + "/@cdn.test/no.css", "", 404, "<!DOCTYPE"},

		{"URL of one, place of another: from outside", byHost + "/a.html", "", 302, "/a~0011223344.html"},
		{"from another site", byHost + "/a.html", "http://two.mirrors.test/", 302, "/a~0011223344.html"},
		{"from inside", byHost + "/a.html", byHost + "/", 200, "this is a"},
		{"by path always the place", byPath + "/a.html", "", 200, "this is a"},
		{"the other's place", byHost + "/a~0011223344.html", "", 200, "this is a.html"},

		{"redirect", byHost + "/old", "", 301, "/docs/"},
		{"redirect, by path", byPath + "/old", "", 301, "/one/docs/"},
		{"redirect at a place, from outside", byHost + "/index.html", "", 308, "/"},
		{"redirect at a place, from inside", byHost + "/index.html", byHost + "/docs/", 200, "<title>home"},
		{"redirect to a file of another host", byHost + "/to-cdn", "", 302, "/@cdn.test/lib.css"},
		{"redirect to an address of two meanings", byHost + "/to-a.html", "", 303, "/a~0011223344.html"},
		{"redirect out", byHost + "/away", "", 307, "https://elsewhere.test/x?y"},
		{"redirect with an odd status", byHost + "/odd-status", "", 302, "/docs/"},

		{"by path", byPath + "/find?q=1", "", 200, "found 1"},
		{"by path, the root", byPath + "/", "", 200, "<title>home"},
		{"by path, no slash", byPath, "", 301, "/one/"},
		{"by path, not mirrored", byPath + "/none", "", 302, "https://one.test/none"},
		{"by path, dot segments stay inside", byPath + "/../two/sub/start.html", "", 302,
			"https://one.test/two/sub/start.html"},
		{"by path, odd", byPath + "/odd//x.html", "", 302, "/one/odd/%252F/x.html"},
		{"an entry that is not the root", "http://two.mirrors.test/", "", 302, "/sub/start.html"},
		{"an entry that is not the root, by path", "http://mirrors.test/two/", "", 302, "/two/sub/start.html"},
		{"not mirrored, with a port", "http://two.mirrors.test/x", "", 302, "http://two.test:81/x"},

		{"on localhost", "http://one.localhost:8080/docs/", "", 200, "docs"},
		{"case and trailing dot of the host", "http://ONE.Mirrors.Test.:80/docs/", "", 200, "docs"},
		{"address", "http://192.0.2.7:8080/one/docs/", "", 200, "docs"},
		{"IPv6 address", "http://[2001:db8::1]:8080/one/docs/", "", 200, "docs"},
		{"no such mirror", "http://three.mirrors.test/", "", 404, "<!DOCTYPE"},
		{"no such mirror by path", "http://mirrors.test/three/", "", 404, "<!DOCTYPE"},
		{"a mirror's name as it cannot be", "http://mirrors.test/%2e%2e/x", "", 404, "<!DOCTYPE"},
		{"foreign host", "http://rebound.test/one/docs/", "", 421, "this server"},
		{"foreign host that ends like ours", "http://evilmirrors.test/", "", 421, "this server"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var headers []string
			if tc.referer != "" {
				headers = []string{"Referer", tc.referer}
			}
			res := ask(t, s, "GET", tc.address, headers...)
			got := bodyOf(t, res)
			if tc.status/100 == 3 {
				got = res.Header.Get("Location")
				if got == tc.want {
					got = tc.want
				} else if res.StatusCode == tc.status {
					t.Fatalf("Location %q, want %q", got, tc.want)
				}
			}
			if res.StatusCode != tc.status || !strings.HasPrefix(got, tc.want) {
				t.Fatalf("%d %.60q, want %d %q", res.StatusCode, got, tc.status, tc.want)
			}
		})
	}
}

// Any request is answered only with files of the tables, and nothing panics.
func TestHostilePaths(t *testing.T) {
	s := testServer(t, nil)
	for _, path := range []string{
		"/..%2f..%2fetc/passwd", "/%2e%2e%2f%2e%2e%2fsecret", "/..\\..\\x", "/..%5c..%5cx", "/%00",
		"/docs/%00index.html", "/docs/index.html%00.png", "/%ff%fe", "/%zz",
		"/phm.json", "/phm.files", "/.well-known/mirrord/", "/.well-known/mirrord/memento/",
		"/.well-known/mirrord/memento/x/y",
		"/.well-known/mirrord/memento/20261301000000/https://one.test/", "/.well-known/mirrord/timemap/",
		"/.well-known/mirrord/timemap/xml/https://one.test/",
		"/.well-known/mirrord/timegate/file:///etc/passwd", "/.well-known/mirrord/timegate/javascript:alert(1)",
		"/.well-known/mirrord/timegate/https://",
		"/.well-known/mirrord/memento/20261120103000/https://one.test/..%2f..%2fetc",
		"/" + strings.Repeat("a/", 4000), "/" + strings.Repeat("%41", 3000),
		"/con", "/docs/index.html/", "/docs/index.html/..", "/;/%3b", "/?%00", "/x?" + strings.Repeat("y", 9000),
	} {
		for _, base := range []string{byHost, byPath} {
			r, err := http.NewRequest("GET", base, nil)
			if err != nil {
				t.Fatal(err)
			}
			// As the server's parser would leave it: what it refuses never gets here.
			u, err := r.URL.Parse(base + path)
			if err != nil {
				continue
			}
			res := ask(t, s, "GET", base+path)
			_ = u
			if got := bodyOf(t, res); res.StatusCode < 300 && got != "docs" {
				t.Errorf("%.80s: %d %q", base+path, res.StatusCode, got)
			}
			if loc := res.Header.Get("Location"); loc != "" && !strings.HasPrefix(loc, "/") &&
				!strings.HasPrefix(loc, "https://one.test/") {
				t.Errorf("%.80s: to %.80s", base+path, loc)
			}
			if strings.HasPrefix(res.Header.Get("Location"), "//") {
				t.Errorf("%.80s: to another host: %.80s", base+path, res.Header.Get("Location"))
			}
		}
	}
	if res := ask(t, s, "GET",
		byHost+"/"+strings.Repeat("x", maxTarget)); res.StatusCode != http.StatusRequestURITooLong {
		t.Errorf("overlong address: %d", res.StatusCode)
	}
}

func TestMethods(t *testing.T) {
	s := testServer(t, nil)
	for _, method := range []string{
		"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND",
	} {
		for _, address := range []string{
			"http://mirrors.test/", byHost + "/", byPath + "/",
			byHost + "/.well-known/mirrord/timegate/https://one.test/",
		} {
			res := ask(t, s, method, address)
			if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d, Allow %q", method, address, res.StatusCode, res.Header.Get("Allow"))
			}
		}
	}
	res := ask(t, s, "HEAD", byHost+"/docs/long.txt")
	if res.StatusCode != 200 || res.ContentLength != int64(len(long)) || bodyOf(t, res) != "" {
		t.Errorf("HEAD: %d, length %d", res.StatusCode, res.ContentLength)
	}
	if res := ask(t, s, "GET", byHost+"/docs/", "Service-Worker",
		"script"); res.StatusCode != http.StatusForbidden {
		t.Errorf("service worker: %d", res.StatusCode)
	}
}

func TestLesson31Isolation(t *testing.T) {
	s := testServer(t, nil)
	common := map[string]string{
		"X-Content-Type-Options":     "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Origin-Agent-Cluster":       "?1",
	}
	for _, path := range []string{
		"/", "/docs/", "/docs/long.txt", "/pic.png", "/none", "/old", "/a.html",
		"/.well-known/mirrord/timemap/link/https://one.test/",
		"/.well-known/mirrord/memento/20260701000000/https://one.test/",
	} {
		for base, want := range map[string]map[string]string{
			byHost: {"Content-Security-Policy": hostPolicy, "Cross-Origin-Resource-Policy": "same-origin"},
			byPath: {"Content-Security-Policy": sandboxPolicy, "Cross-Origin-Resource-Policy": ""},
		} {
			for _, headers := range [][]string{
				nil, {"Range", "bytes=0-1"}, {"Accept-Encoding", "gzip"},
				{"Accept-Datetime", day1.Format(http.TimeFormat)},
			} {
				res := ask(t, s, "GET", base+path, headers...)
				for _, m := range []map[string]string{common, want} {
					for k, v := range m {
						if got := res.Header.Get(k); got != v {
							t.Errorf("%s %v: %s: %q, want %q", base+path, headers, k, got, v)
						}
					}
				}
				if res.Header.Get("Set-Cookie") != "" || res.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s: cookie or CORS", base+path)
				}
			}
		}
	}
	if strings.Contains(sandboxPolicy, "allow-same-origin") ||
		strings.Contains(sandboxPolicy, "allow-top-navigation") {
		t.Error("the sandbox is open")
	}
	for _, address := range []string{
		"http://mirrors.test/", "http://mirrors.test/three/", "http://mirrors.test/.well-known/mirrord/sites",
		byHost + "/@none/x",
	} {
		res := ask(t, s, "GET", address)
		if got := res.Header.Get("Content-Security-Policy"); got != pagePolicy {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestIndex(t *testing.T) {
	s := testServer(t, nil)
	doc, err := goquery.NewDocumentFromReader(ask(t, s, "GET", "http://mirrors.test:8080/").Body)
	if err != nil {
		t.Fatal(err)
	}
	if n := doc.Find("script, form, img").Length(); n != 0 {
		t.Errorf("%d scripts, forms or pictures", n)
	}
	a := doc.Find("tbody tr").First().Find("a").First()
	if href, _ := a.Attr("href"); href != "http://one.mirrors.test:8080/index.html" ||
		a.Text() != "Title of <https://one.test>" {
		t.Errorf("first mirror: %q %q", href, a.Text())
	}
	about := doc.Find("tbody tr td").First().Find("small").Last().Text()
	if about != "All about it · Ada <a@e.org>, Ben" {
		t.Errorf("about the first mirror: %q", about)
	}
	var list []listed
	res := ask(t, s, "GET", "http://192.0.2.7:8080/.well-known/mirrord/sites")
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil ||
		res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v, type %q", err, res.Header.Get("Content-Type"))
	}
	if len(list) != 2 || list[0].Name != "one" || list[0].Version != 3 || !list[0].Retrieved.Equal(day3) ||
		list[0].Address != "/one/index.html" ||
		list[1].ByPath != "/two/sub/start.html" || list[1].Origin != "http://two.test:81" {
		t.Errorf("list: %+v", list)
	}
}

func TestOptions(t *testing.T) {
	only := testServer(t, func(o *Options) {
		o.Only, o.HTTPS, o.Hosts = []string{"one"}, true, []string{"other.test"}
		o.RedirectMissing = false
		o.Aliases = map[string]string{"Copy.Test": "one"}
	})
	for address, want := range map[string]int{
		"http://two.mirrors.test/sub/start.html": 404, "http://mirrors.test/two/sub/start.html": 404,
		byHost + "/docs/":        200,
		"http://copy.test/docs/": 200, "http://other.test/one/docs/": 200,
	} {
		if res := ask(t, only, "GET", address); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", address, res.StatusCode, want)
		}
	}
	res := ask(t, only, "GET", byHost+"/none?x=%22><script>")
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if href, _ := doc.Find("a").First().Attr("href"); res.StatusCode != 404 ||
		href != "https://one.test/none?x=%22%3E%3Cscript%3E" || doc.Find("script").Length() != 0 {
		t.Errorf("missing: %d, origin %q", res.StatusCode, href)
	}
	res = ask(t, only, "GET", byHost+"/gone.html")
	if doc, err = goquery.NewDocumentFromReader(res.Body); err != nil {
		t.Fatal(err)
	}
	had := doc.Find("dd a")
	to, _ := had.Attr("href")
	if res.StatusCode != 404 || had.Length() != 1 ||
		had.AttrOr("title", "") != "Version 1: 1 Mar 2026 04:00 UTC" ||
		!strings.HasSuffix(to, "/memento/20260301040000/https://one.test/gone.html") {
		t.Errorf("what the mirror had: %d, %q", res.StatusCode, doc.Find("main").Text())
	}
	if l := ask(t, only, "GET", byHost+"/docs/").Header.Get("Link"); !strings.Contains(l,
		"<https://one.mirrors.test/.well-known/") {
		t.Errorf("HTTPS: Link %q", l)
	}
	own := only.Site("one")
	for address, want := range map[string]int{
		"http://127.0.0.1:99/docs/":    200,
		"http://localhost:99/docs/":    200,
		"http://rebound.test:99/docs/": 421,
		"http://two.localhost/docs/":   421,
	} {
		if res := ask(t, own, "GET", address); res.StatusCode != want {
			t.Errorf("own listener: %s: %d, want %d", address, res.StatusCode, want)
		}
	}
	for name, o := range map[string]Options{
		"no sites": {}, "an address as base": {
			Sites: testSites(),
			Base:  "192.0.2.1",
		}, "a URL as base": {Sites: testSites(), Base: "http://x.test/"},
		"alias of the base": {Sites: testSites(), Base: "x.test", Aliases: map[string]string{"x.test": "one"}},
		"no transport":      {Sites: testSites(), Forward: &Forward{}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTreeMovesOn(t *testing.T) {
	sites := testSites()
	s := testServer(t, func(o *Options) { o.Sites = sites })
	sites["one"].moves = 2
	if res := ask(t, s, "GET", byHost+"/docs/"); res.StatusCode != 200 || bodyOf(t, res) != "docs" {
		t.Errorf("after two moves: %d", res.StatusCode)
	}
	sites["one"].moves = 5
	res := ask(t, s, "GET", byHost+"/docs/long.txt", "Accept-Encoding", "gzip")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" ||
		res.Header.Get("Content-Encoding") != "" || res.Header.Get("Etag") != "" {
		t.Errorf("for ever: %d %v", res.StatusCode, res.Header)
	}
}

// Crawlers are kept off old versions, by host and by path; a robots.txt of the mirror is never hidden.
func TestRobots(t *testing.T) {
	s := testServer(t, func(o *Options) { o.RedirectMissing = false })
	for _, at := range []string{"http://mirrors.test/robots.txt", byHost + "/robots.txt"} {
		res := ask(t, s, "GET", at)
		text := bodyOf(t, res)
		rules := robots.Parse([]byte(text)).Agent("anybot")
		for path, allowed := range map[string]bool{
			"/docs/": true, "/one/docs/": true, wellKnown + "update": true,
			"/.well-known/mirrord/memento/20260301040000/https://one.test/":     false,
			"/one/.well-known/mirrord/memento/20260301040000/https://one.test/": false,
		} {
			if got, _ := rules.Allowed(path); res.StatusCode != 200 || got != allowed {
				t.Errorf("%s: %d, %s allowed: %v\n%s", at, res.StatusCode, path, got, text)
			}
		}
	}
	own := testSites()
	last := own["one"].versions[2]
	last.files = append(last.files, fakeFile{
		url:  "https://one.test/robots.txt",
		path: "robots.txt",
		mime: "text/plain",
		body: "of the site",
	})
	with := testServer(t, func(o *Options) { o.Sites = own })
	for _, at := range []string{byHost, byPath} {
		if got := bodyOf(t, ask(t, with, "GET", at+"/robots.txt")); got != "of the site" {
			t.Errorf("%s hides the robots.txt of the site: %s", at, got)
		}
	}
	res := ask(t, s, "GET", byHost+wellKnown+"memento/20260301040000/https://one.test/gone.html")
	if got := res.Header.Get("X-Robots-Tag"); got != "noindex" ||
		!strings.Contains(res.Header.Get("Link"), `<https://one.test/gone.html>; rel="canonical"`) {
		t.Errorf("an old version: %q, %q", got, res.Header.Get("Link"))
	}
	if got := ask(t, s, "GET", byHost+"/docs/").Header.Get("X-Robots-Tag"); got != "" {
		t.Errorf("today's: %q", got)
	}
	picture := ask(t, s, "GET", "http://mirrors.test"+iconPath)
	if got := picture.Header.Get("Content-Type"); got != "image/svg+xml" {
		t.Errorf("the picture is %q", got)
	}
}
