// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

func parse(t testing.TB, raw string) site.URL {
	t.Helper()
	u, _, err := site.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func options(t testing.TB, text string) Options {
	t.Helper()
	j, err := job.Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := scope.Compile(j)
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Rules:        rules,
		MaxLinks:     int(j.Limits.MaxLinks),
		Scripts:      true,
		ObeyRobots:   true,
		ObeyNofollow: true,
		Tired:        func() bool { return false },
	}
}

// found names the candidates of a body: page, requisite or guess, in brackets when it is not followed.
func found(x *Extract) []string {
	var out []string
	for _, c := range x.Candidates {
		s := "page "
		if c.Purpose == scope.Requisite {
			s = "requisite "
		}
		if c.Guess {
			s = "guess " + s
		}
		s += string(c.URL)
		if !c.Follow {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return out
}

func TestRead(t *testing.T) {
	const icon = "guess requisite https://e.org/favicon.ico"
	for _, c := range []struct {
		name string
		job  string
		body Body
		want []string
	}{
		{
			name: "links and requisites",
			body: Body{MIME: "text/html", Data: []byte(`<title>t</title><a href="a.html">a</a><img src="b.png">`)},
			want: []string{"page https://e.org/d/a.html", "requisite https://e.org/d/b.png", icon},
		},
		{
			name: "a page that names an icon",
			body: Body{MIME: "text/html", Data: []byte(`<link rel="icon" href="i.png">`)},
			want: []string{"requisite https://e.org/d/i.png"},
		},
		{
			name: "a header that names one",
			body: Body{MIME: "text/html", Data: []byte(`<p>x`), Links: []string{`</i.png>; rel="icon"`}},
			want: []string{"requisite https://e.org/i.png"},
		},
		{
			name: "the header forbids to follow",
			body: Body{MIME: "text/html", NoFollow: true, Data: []byte(`<a href="a.html">a</a><img src="b.png">`)},
			want: []string{"[page https://e.org/d/a.html]", "requisite https://e.org/d/b.png", icon},
		},
		{
			name: "a meta forbids to follow",
			body: Body{
				MIME: "text/html",
				Data: []byte(`<meta name="robots" content="nofollow"><a href="a.html">a</a>`),
			},
			want: []string{"[page https://e.org/d/a.html]", icon},
		},
		{
			name: "too many links",
			job:  "limits.max_links = 1\n",
			body: Body{MIME: "text/html", Data: []byte(`<a href="a.html">a</a><a href="b.html">b</a>`)},
			want: []string{"page https://e.org/d/a.html", "[page https://e.org/d/b.html]", icon},
		},
		{
			name: "a style sheet, and what else it links to",
			body: Body{
				MIME:    "text/css",
				Data:    []byte(`p{background:url(p.png)}`),
				Refresh: "5; url=/next.css",
				Also:    []scope.Candidate{{URL: []byte("https://e.org/also"), Follow: true}},
			},
			want: []string{"requisite https://e.org/d/p.png", "page https://e.org/next.css",
				"page https://e.org/also"},
		},
		{
			name: "a sitemap",
			body: Body{
				MIME:    "text/xml",
				Sitemap: true,
				Data:    []byte(`<urlset><url><loc>/x.html</loc></url></urlset>`),
			},
			want: []string{"page https://e.org/x.html"},
		},
		{
			name: "an index of sitemaps",
			body: Body{
				MIME:    "text/xml",
				Sitemap: true,
				Data:    []byte(`<sitemapindex><sitemap><loc>/m.xml</loc></sitemap></sitemapindex>`),
			},
		},
		{
			name: "a feed as a sitemap",
			body: Body{
				MIME:    "application/rss+xml",
				Sitemap: true,
				Data:    []byte(`<rss><channel><item><link>https://e.org/i.html</link></item></channel></rss>`),
			},
			want: []string{"page https://e.org/i.html"},
		},
		{
			name: "a page instead of a sitemap",
			body: Body{MIME: "text/html", Sitemap: true, Data: []byte(`<!DOCTYPE html><a href="/a.html">a</a>`)},
			want: []string{"page https://e.org/a.html", icon},
		},
		{
			name: "the same, outside of the scope",
			job:  "scope.exclude = [\"/d/**\"]\n",
			body: Body{MIME: "text/html", Sitemap: true, Data: []byte(`<!DOCTYPE html><a href="/a.html">a</a>`)},
		},
		{
			name: "a sitemap that says that it is a page",
			body: Body{MIME: "text/html", Sitemap: true, Data: []byte(`https://e.org/t.html`)},
			want: []string{"page https://e.org/t.html"},
		},
		{
			name: "no document",
			body: Body{MIME: "image/png", Data: []byte("\x89PNG")},
		},
	} {
		rd := NewReader(options(t, c.job))
		c.body.URL = parse(t, "https://e.org/d/")
		if got := found(rd.Read(&c.body)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

// A script names guesses: so many are followed, and none when the run is tired of them.
func TestReadScript(t *testing.T) {
	var script strings.Builder
	for i := range docGuesses + 3 {
		fmt.Fprintf(&script, "load(\"/s/%d.json\");\n", i)
	}
	b := Body{URL: parse(t, "https://e.org/a.js"), MIME: "text/javascript", Data: []byte(script.String())}
	o := options(t, "")
	followed := func(x *Extract) (n int) {
		for _, c := range x.Candidates {
			if !c.Guess {
				t.Errorf("%s is no guess", c.URL)
			}
			if c.Follow {
				n++
			}
		}
		return n
	}
	x := NewReader(o).Read(&b)
	if n := followed(x); n != docGuesses || len(x.Notes) != 1 || x.Format != relocate.Unknown {
		t.Errorf("%d followed, notes %q, format %v", n, x.Notes, x.Format)
	}
	o.Tired = func() bool { return true }
	if n := followed(NewReader(o).Read(&b)); n != 0 {
		t.Errorf("%d followed although most guesses led nowhere", n)
	}
	o.Scripts = false
	if x := NewReader(o).Read(&b); len(x.Candidates) != 0 {
		t.Errorf("%d candidates although scripts are not read", len(x.Candidates))
	}
}

// A Reader that has read one body reads the next as a new one would.
func TestReaderAgain(t *testing.T) {
	rd := NewReader(options(t, ""))
	u := parse(t, "https://e.org/")
	listing := []byte(
		"<title>Index of /</title><h1>Index of /</h1><pre><a href=\"?C=N;O=D\">Name</a>\n<a " +
			"href=\"a.gz\">a.gz</a>  2024-01-02 03:04  7\n</pre>")
	rd.Read(&Body{URL: u, MIME: "text/html", Data: listing})
	plain := &Body{URL: u, MIME: "text/html", Data: []byte(`<a href="?C=N;O=D">x</a>`)}
	x := rd.Read(plain)
	if want := NewReader(options(t, "")).Read(plain); !slices.Equal(found(x), found(want)) || x.Listing != nil ||
		x.Shape != want.Shape {
		t.Errorf("got %q, want %q", found(x), found(want))
	}
	rd.Forget()
	if x = rd.Read(plain); len(x.Candidates) != 2 {
		t.Errorf("after Forget %q", found(x))
	}
}

func TestExtractNumbers(t *testing.T) {
	rd := NewReader(options(t, ""))
	x := rd.Read(&Body{
		URL:  parse(t, "https://e.org/"),
		MIME: "text/html",
		Data: []byte(
			`<a href="/b">b</a><a href="mailto:x@e.org">m</a><a rel="nofollow" href="/a">a</a><a href="/b">b</a>`),
	})
	for i := range x.IDs {
		x.IDs[i] = -1
		switch string(x.Candidates[i].URL) {
		case "https://e.org/b":
			x.IDs[i] = 7
		case "https://e.org/favicon.ico":
			x.IDs[i] = 3
		}
	}
	of := x.Spread()
	for i, l := range x.Doc.Links {
		id, ok := of(i)
		if want := string(l.URL) == "https://e.org/b"; ok != want || (ok && id != 7) {
			t.Errorf("link %d, %s: %d, %v", i, l.URL, id, ok)
		}
	}
	want := []uint32{7, 3 | record.Guess, record.Unnumbered}
	slices.Sort(want[:2])
	if got := x.Targets(rd.Rules); !slices.Equal(got, want) {
		t.Errorf("targets %x, want %x", got, want)
	}
}

func TestReadSitemap(t *testing.T) {
	const one = `<urlset><url><loc>https://e.org/a</loc></url></urlset>`
	pack := func(s string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(s))
		z.Close()
		return b.Bytes()
	}
	packed := pack(strings.Repeat(" ", 1<<16) + one)
	for _, c := range []struct {
		name          string
		body          []byte
		entries, note int
	}{
		{"plain", []byte(one), 1, 0},
		{"packed", packed, 1, 0},
		{"cut off", packed[:len(packed)-4], 1, 1},
		{"not packed at all", []byte("\x1f\x8bnot gzip"), 0, 1},
		{"too long",
			[]byte("<urlset>" + strings.Repeat("<url><loc>/a</loc></url>", urls.MaxLocations+1) + "</urlset>"),
			urls.MaxLocations, 0},
	} {
		list, _, notes := ReadSitemap(&scope.URLRules{}, site.URL{}, c.body)
		if len(list.Entries) != c.entries || len(notes) != c.note {
			t.Errorf("%s: %d entries, notes %q", c.name, len(list.Entries), notes)
		}
	}
}

func TestMisleads(t *testing.T) {
	for _, c := range []struct {
		url, mime string
		want      bool
	}{
		{"https://e.org/a.json", "text/html", true},
		{"https://e.org/a.json", "application/json", false},
		{"https://e.org/a.html", "text/html", false},
		{"https://e.org/favicon.ico", "text/plain", true},
		{"https://e.org/favicon.ico", "image/x-icon", false},
		{"https://e.org/favicon.ico", "", false},
	} {
		if got := Misleads(parse(t, c.url), c.mime); got != c.want {
			t.Errorf("%s as %q: %v", c.url, c.mime, got)
		}
	}
}

// What a Reader needs for one more document of a kind that it has read does not grow with the links.
func TestReadAllocations(t *testing.T) {
	var page strings.Builder
	page.WriteString("<title>t</title>")
	for i := range 1000 {
		fmt.Fprintf(&page, `<a href="/p/%d.html">x</a>`, i)
	}
	rd := NewReader(options(t, ""))
	b := &Body{URL: parse(t, "https://e.org/"), MIME: "text/html", Data: []byte(page.String())}
	read := func() { rd.Read(b) }
	read()
	if n := testing.AllocsPerRun(5, read); n > 200 { // the tokenizer that looks for a charset in the first KB
		t.Errorf("%v allocations for 1000 links", n)
	}
}

func BenchmarkRead(b *testing.B) {
	var page strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&page, `<a href="/p/%d.html">x</a>`, i)
	}
	rd := NewReader(options(b, ""))
	body := &Body{URL: parse(b, "https://e.org/"), MIME: "text/html", Data: []byte(page.String())}
	b.ReportAllocs()
	for b.Loop() {
		rd.Read(body)
	}
}
