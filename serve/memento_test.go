// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mementoLinks parses a Link header or a link-format document: relation to targets, and target to datetime.
func mementoLinks(t *testing.T, s string) (rels map[string][]string, times map[string]time.Time) {
	t.Helper()
	rels, times = map[string][]string{}, map[string]time.Time{}
	one := regexp.MustCompile(`^\s*<([^>]*)>((?:\s*;\s*[a-z]+="[^"]*")*)\s*(?:,|$)`)
	param := regexp.MustCompile(`([a-z]+)="([^"]*)"`)
	for s = strings.TrimSpace(s); s != ""; {
		m := one.FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("no link: %q", s)
		}
		s = s[len(m[0]):]
		for _, p := range param.FindAllStringSubmatch(m[2], -1) {
			switch p[1] {
			case "rel":
				for _, rel := range strings.Fields(p[2]) {
					rels[rel] = append(rels[rel], m[1])
				}
			case "datetime":
				at, err := http.ParseTime(p[2])
				if err != nil {
					t.Fatal(err)
				}
				times[m[1]] = at
			}
		}
	}
	return rels, times
}

// A Memento client (RFC 7089 §4) starts at the mirror, finds its TimeGate, asks it for a datetime, gets a
// Memento and walks from there.
func TestMementoClient(t *testing.T) {
	s := testServer(t, nil)
	srv := httptest.NewServer(s)
	defer srv.Close()
	client := srv.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Transport = &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
		return url.Parse(srv.URL)
	}} // all hosts are there
	get := func(address, datetime string) *http.Response {
		t.Helper()
		req, err := http.NewRequest("GET", address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if datetime != "" {
			req.Header.Set("Accept-Datetime", datetime)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	for _, base := range []string{byHost, byPath} {
		res := get(base+"/", "")
		res.Body.Close()
		if res.Header.Get("Memento-Datetime") != "" {
			t.Errorf("%s: the current version is not frozen", base)
		}
		rels, _ := mementoLinks(t, res.Header.Get("Link"))
		if !slices.Equal(rels["original"], []string{"https://one.test/"}) || len(rels["timegate"]) != 1 ||
			len(rels["timemap"]) != 1 {
			t.Fatalf("%s: links %v", base, rels)
		}
		gate := rels["timegate"][0]
		for _, tc := range []struct {
			name string
			ask  time.Time
			want time.Time
			body string
		}{
			{"newest", time.Time{}, day2, "news of day 2"}, // version 3 has the same page
			{"between", day1.AddDate(0, 1, 0), day1, "news of day 1"},
			{"exactly", day2, day2, "news of day 2"},
			{"a second before", day2.Add(-time.Second), day1, "news of day 1"},
			{"before the first", day1.AddDate(-9, 0, 0), day1, "news of day 1"},
			{"in the future", day3.AddDate(9, 0, 0), day2, "news of day 2"},
		} {
			ask := ""
			if !tc.ask.IsZero() {
				ask = tc.ask.Format(http.TimeFormat)
			}
			res := get(gate, ask)
			res.Body.Close()
			rels, times := mementoLinks(t, res.Header.Get("Link"))
			where := res.Header.Get("Location")
			if res.StatusCode != 302 || !strings.Contains(res.Header.Get("Vary"), "Accept-Datetime") ||
				res.Header.Get("Memento-Datetime") != "" {
				t.Errorf("%s, TimeGate: %d %v", tc.name, res.StatusCode, res.Header)
			}
			if !times[where].Equal(tc.want) || rels["original"] == nil || rels["timemap"] == nil ||
				rels["first"] == nil || rels["last"] == nil || rels["timegate"] != nil {
				t.Errorf("%s, TimeGate: to %s, links %v %v", tc.name, where, rels, times)
			}
			res = get(where, "")
			body := bodyOf(t, res)
			if res.StatusCode != 200 || !strings.HasSuffix(body, tc.body) ||
				res.Header.Get("Memento-Datetime") != tc.want.Format(http.TimeFormat) {
				t.Errorf("%s, Memento: %d %q at %q", tc.name, res.StatusCode, body, res.Header.Get("Memento-Datetime"))
			}
			rels, times = mementoLinks(t, res.Header.Get("Link"))
			if rels["original"] == nil || rels["timegate"][0] != gate || rels["timemap"] == nil ||
				len(rels["memento"]) != 2 {
				t.Errorf("%s, Memento: links %v", tc.name, rels)
			}
			first := tc.want.Equal(day1)
			if (first && (rels["next"] == nil || rels["prev"] != nil)) ||
				(!first && (rels["prev"] == nil || rels["next"] != nil)) {
				t.Errorf("%s, Memento: prev %v, next %v", tc.name, rels["prev"], rels["next"])
			}
			if next := rels["next"]; next != nil && !times[next[0]].Equal(day2) {
				t.Errorf("%s, Memento: next is at %v", tc.name, times[next[0]])
			}
		}
		res = get(rels["timemap"][0], "")
		text := bodyOf(t, res)
		rels, times := mementoLinks(t, text)
		if res.Header.Get("Content-Type") != "application/link-format" || len(rels["memento"]) != 2 ||
			len(times) != 2 || rels["self"] == nil || rels["timegate"][0] != gate ||
			!strings.Contains(text, `until="`+day2.Format(http.TimeFormat)+`"`) {
			t.Errorf("%s: TimeMap %v:\n%s", base, res.Header, text)
		}
		// The mirror's own addresses negotiate too.
		res = get(base+"/", day1.Format(http.TimeFormat))
		res.Body.Close()
		if res.StatusCode != 302 ||
			!strings.HasSuffix(res.Header.Get("Location"), "/memento/20260301040000/https://one.test/") {
			t.Errorf("%s with a datetime: %d %v", base, res.StatusCode, res.Header)
		}
	}
}

func TestMementoDetails(t *testing.T) {
	s := testServer(t, nil)
	const wk = byHost + wellKnown
	for _, tc := range []struct {
		name, address string
		headers       []string
		status        int
		want          string // in the body or the Location
	}{
		{"a page that is gone", wk + "timegate/https://one.test/gone.html", nil, 302,
			"/memento/20260301040000/https://one.test/gone.html"},
		{"its address today", byHost + "/gone.html", nil, 302, "https://one.test/gone.html"},
		{"its last state, asked for later", wk + "timegate/https://one.test/gone.html",
			[]string{"Accept-Datetime", day3.Format(http.TimeFormat)}, 302, "20260301040000"},
		{"in the version that has it", wk + "memento/20260301040000/https://one.test/gone.html", nil, 200, "gone"},
		{"in a version that has it not", wk + "memento/20260701000000/https://one.test/gone.html", nil, 404,
			"It left this copy on 1 Jun 2026."},
		{"never there", wk + "timegate/https://one.test/never", nil, 404, "https://one.test/never"},
		{"never there, TimeMap", wk + "timemap/link/https://one.test/never", nil, 404, ""},
		{"a site that is not ours", wk + "timegate/https://evil.test/", nil, 404, ""},
		{"a Memento of a site that is not ours", wk + "memento/20260701000000/https://evil.test/", nil, 404, ""},
		{"query", wk + "memento/20260701000000/https://one.test/find?q=2", nil, 200, "found 2"},
		{"query at the TimeGate", wk + "timegate/https://one.test/find?q=2", nil, 302, "https://one.test/find?q=2"},
		{"one slash", wk + "memento/20260701000000/https:/one.test/docs/", nil, 200, "docs"},
		{"the URL as people write it", wk + "memento/20260701000000/HTTPS://one.test/", nil, 400, ""},
		{"host in capitals, default port", wk + "memento/20260701000000/https://ONE.test:443/docs/", nil,
			200, "docs"},
		{"a relative link from there", wk + "memento/20260701000000/https://one.test/find@q=1.html", nil, 200,
			"found 1"},
		{"another host's file by its place", wk + "memento/20260701000000/https://one.test/@cdn.test/lib.css", nil,
			200, "p{}"},
		{"another host's file by its URL", wk + "memento/20260701000000/https://cdn.test/lib.css", nil, 302,
			"/.well-known/mirrord/memento/20260701000000/https://one.test/@cdn.test/lib.css"},
		{"redirect", wk + "memento/20260701000000/https://one.test/old", nil, 301,
			"/.well-known/mirrord/memento/20260701000000/https://one.test/docs/"},
		{"by path", "http://mirrors.test/one" + wellKnown + "memento/20260701000000/https://one.test/old", nil, 301,
			"/one/.well-known/mirrord/memento/20260701000000/https://one.test/docs/"},
		{"two meanings, from outside", wk + "memento/20260701000000/https://one.test/a.html", nil, 302,
			"/https://one.test/a~0011223344.html"},
		{"two meanings, from inside", wk + "memento/20260701000000/https://one.test/a.html",
			[]string{"Referer", wk + "memento/20260701000000/https://one.test/"}, 200, "this is a"},
		{"bad datetime", wk + "timegate/https://one.test/", []string{"Accept-Datetime", "last week"}, 400, ""},
		{"bad datetime at the mirror", byHost + "/", []string{"Accept-Datetime", "2026-01-01"}, 400, ""},
		{"an invalid time", wk + "memento/20261399000000/https://one.test/", nil, 400, ""},
		{"a time with a fraction", wk + "memento/20260701000000.5/https://one.test/", nil, 400, ""},
		{"base host", "http://mirrors.test" + wellKnown + "timegate/http://two.test:81/sub/start.html", nil, 302,
			"/two/.well-known/mirrord/timegate/http://two.test:81/sub/start.html"},
		{"base host, no mirror has it", "http://mirrors.test" + wellKnown + "timegate/http://none.test/",
			nil, 404, ""},
		{"base host, TimeMap", "http://mirrors.test" + wellKnown + "timemap/json/https://one.test/find?q=1", nil,
			302, "/one/.well-known/mirrord/timemap/json/https://one.test/find?q=1"},
	} {
		res := ask(t, s, "GET", tc.address, tc.headers...)
		got := bodyOf(t, res)
		if res.StatusCode/100 == 3 {
			got = res.Header.Get("Location")
		}
		if res.StatusCode != tc.status || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %d %.100q, want %d %q", tc.name, res.StatusCode, got, tc.status, tc.want)
		}
	}
	var m timeMapJSON
	res := ask(t, s, "GET", wk+"timemap/json/https://one.test/")
	if err := json.NewDecoder(res.Body).Decode(&m); err != nil || len(m.Mementos.List) != 2 ||
		m.Mementos.Last.Version != 2 || !m.Mementos.First.Time.Equal(day1) || m.Original != "https://one.test/" {
		t.Errorf("TimeMap: %v %+v", err, m)
	}
	// A Memento of the past may be kept, the newest version's may be followed by a newer one of the same
	// second's stamp.
	if got := ask(t, s, "GET", wk+"memento/20260301040000/https://one.test/").Header.Get(
		"Cache-Control"); !strings.Contains(got, "max-age") {
		t.Errorf("past: %q", got)
	}
	if got := ask(t, s, "GET", wk+"memento/20270101000000/https://one.test/").Header.Get(
		"Cache-Control"); got != "no-cache" {
		t.Errorf("future: %q", got)
	}
	// Conditional requests work on Mementos.
	first := ask(t, s, "GET", wk+"memento/20260701000000/https://one.test/docs/long.txt")
	res = ask(t, s, "GET", wk+"memento/20260701000000/https://one.test/docs/long.txt", "If-None-Match",
		first.Header.Get("Etag"))
	if res.StatusCode != 304 || res.Header.Get("Memento-Datetime") == "" {
		t.Errorf("conditional: %d %v", res.StatusCode, res.Header)
	}
}

// A site that does not know its history: the TimeGate finds the version in effect, or the nearest that has
// the page; the TimeMap looks into all.
func TestMementoWithoutHistory(t *testing.T) {
	sites := testSites()
	sites["one"].forgets = true
	s := testServer(t, func(o *Options) { o.Sites = sites })
	const wk = byHost + wellKnown
	for _, tc := range []struct {
		name, url string
		at        time.Time
		status    int
		want      string
	}{
		{"newest", "https://one.test/", time.Time{}, 302, "/memento/20260901040000/https://one.test/"},
		{"in effect", "https://one.test/", day3.Add(-time.Hour), 302, "/memento/20260601040000/https://one.test/"},
		{"before the first", "https://one.test/", old, 302, "/memento/20260301040000/"},
		{"gone since", "https://one.test/gone.html", day3, 302, "/memento/20260301040000/"},
		{"not yet there", "https://one.test/new.html", day1, 302, "/memento/20260901040000/"},
		{"never there", "https://one.test/never", day1, 404, ""},
	} {
		var headers []string
		if !tc.at.IsZero() {
			headers = []string{"Accept-Datetime", tc.at.Format(http.TimeFormat)}
		}
		res := ask(t, s, "GET", wk+"timegate/"+tc.url, headers...)
		if res.StatusCode != tc.status || !strings.Contains(res.Header.Get("Location"), tc.want) {
			t.Errorf("%s: %d %s", tc.name, res.StatusCode, res.Header.Get("Location"))
		}
	}
	rels, _ := mementoLinks(t, bodyOf(t, ask(t, s, "GET", wk+"timemap/link/https://one.test/")))
	if len(rels["memento"]) != 2 {
		t.Errorf("TimeMap: %v", rels)
	}
	res := ask(t, s, "GET", wk+"memento/20260701000000/https://one.test/")
	rels, _ = mementoLinks(t, res.Header.Get("Link"))
	if res.Header.Get("Memento-Datetime") != day2.Format(http.TimeFormat) || rels["first"] != nil ||
		rels["next"] != nil || len(rels["memento"]) != 1 || rels["original"] == nil {
		t.Errorf("Memento: %v", res.Header)
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"/docs/", "/a.html?x", "//x/../%2e%2e/", "/.well-known/mirrord/memento/20260701000000/https://one.test/a",
		"/.well-known/mirrord/timegate/http:/x",
		"/%c3%a9\x00\\", "/.well-known/mirrord/timemap/link/https://one.test/%3e%22,<",
	} {
		f.Add(s, "Sun, 01 Mar 2026 04:00:00 GMT", false)
		f.Add(s, "", true)
	}
	o := Options{Sites: testSites(), Base: "mirrors.test"}
	s, err := New(o)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, target, datetime string, byHostName bool) {
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // the server refuses it
		}
		host, prefix := "one.mirrors.test", ""
		if !byHostName {
			host, prefix = "mirrors.test", "/one"
			if u, err = url.ParseRequestURI("/one" + target); err != nil {
				return
			}
		}
		r := &http.Request{
			Method:     "GET",
			URL:        u,
			Host:       host,
			Header:     http.Header{"Accept-Datetime": {datetime}},
			RequestURI: u.RequestURI(),
			Proto:      "HTTP/1.1",
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		for _, values := range w.Header() {
			for _, v := range values {
				if strings.ContainsAny(v, "\r\n\x00") {
					t.Errorf("%q: header %q", target, v)
				}
			}
		}
		if loc := w.Header().Get("Location"); loc != "" {
			inside := (strings.HasPrefix(loc, prefix+"/") && !strings.HasPrefix(loc, "//")) ||
				strings.HasPrefix(loc, "http://"+host+"/")
			if !inside && !strings.HasPrefix(loc, "https://one.test/") && loc != "https://elsewhere.test/x?y" {
				t.Errorf("%q: to %q", target, loc)
			}
		}
		if l := w.Header().Get("Link"); l != "" {
			mementoLinks(t, l)
		}
	})
}
