// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestScanSitemap(t *testing.T) {
	for _, c := range []struct {
		name, doc string
		max       int
		want      string
	}{
		{"urlset", `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="x"><url><loc> http://a/?x=1&amp;y=2
</loc><lastmod>2024-05-06T07:08:09+02:00</lastmod><priority>1</priority></url><url><loc><![CDATA[http://b/?a&b]]></loc></url></urlset>`, 0,
			`{false [{http://a/?x=1&y=2 2024-05-06T07:08:09+02:00} {http://b/?a&b }] false}`},
		{"index",
			`<sitemapindex><sitemap><lastmod>2024-01-01</lastmod><loc>http://a/s.xml</loc></sitemap></sitemapindex>`,
			0, `{true [{http://a/s.xml 2024-01-01}] false}`},
		{"prefixes and images",
			`<sm:urlset><sm:url><sm:loc>http://a/</sm:loc><image:image><image:loc>http://a/i.png</image:loc></image:image></sm:url></sm:urlset>`, 0, `{false [{http://a/ }] false}`},
		{"cut off", `<urlset><url><loc>http://a/</loc></url><url><loc>http://b/</lo`, 0,
			`{false [{http://a/ } {http://b/ }] false}`},
		{"cut off in a tag", `<urlset><url><loc>http://a/</loc><lastmod>2024</lastmod></url><url`, 0,
			`{false [{http://a/ 2024}] false}`},
		{"not well formed", `<urlset><url><loc>http://a/?x&y</loc><url><loc>http://b/</urlset>`, 0,
			`{false [{http://a/?x&y } {http://b/ }] false}`},
		{"cap", `<urlset><url><loc>a</loc></url><url><loc>b</loc></url>`, 1, `{false [{a }] true}`},
		{"text", "\xef\xbb\xbfhttp://a/\r\n# no\nhttps://b/x\n", 0, `{false [{http://a/ } {https://b/x }] false}`},
		{"UTF-16", "\xff\xfe" + string(encode(t, "utf-16le", "<urlset><url><loc>http://a/ü</loc></url></urlset>")),
			0, `{false [{http://a/ü }] false}`},
		{"empty", "", 0, `{false [] false}`},
		{"html", "<!doctype html><p>404", 0, `{false [] false}`},
	} {
		if got := fmt.Sprint(ScanSitemap([]byte(c.doc), c.max)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	for s, want := range map[string]string{
		"2024-05-06T07:08:09+02:00": "2024-05-06T05:08:09Z",
		"2024-05-06":                "2024-05-06T00:00:00Z",
		"2024-05-06T07:08Z":         "2024-05-06T07:08:00Z",
		"soon":                      "",
	} {
		tm, ok := SitemapEntry{LastMod: s}.Time()
		if got := tm.UTC().Format(time.RFC3339); ok != (want != "") || (ok && got != want) {
			t.Errorf("%s is %s %t, want %s", s, got, ok, want)
		}
	}
}

// TestScanSitemapLarge reads a sitemap of 50 MB.
func TestScanSitemapLarge(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("<urlset>")
	n := 0
	for ; b.Len() < 50<<20; n++ {
		fmt.Fprintf(&b, "<url><loc>http://zoo.test/%d?a=1&amp;b=%s</loc><lastmod>2024-01-01</lastmod></url>\n", n,
			strings.Repeat("x", 900))
	}
	list := ScanSitemap(b.Bytes(), 1_000_000)
	if len(list.Entries) != n || list.Truncated {
		t.Errorf("%d entries, truncated %t, want %d", len(list.Entries), list.Truncated, n)
	}
}

func FuzzScanSitemap(f *testing.F) {
	f.Add([]byte(`<urlset><url><loc>http://a/</loc><lastmod>2024</lastmod></url></urlset>`))
	f.Add([]byte("http://a/\nhttp://b/"))
	f.Add([]byte("\xff\xfe<\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list := ScanSitemap(b, 10)
		if len(list.Entries) > 10 {
			t.Fatal(len(list.Entries))
		}
		for _, e := range list.Entries {
			if e.Loc == "" || e.Loc != strings.TrimSpace(e.Loc) {
				t.Fatalf("address %q", e.Loc)
			}
			if at, ok := e.Time(); ok && at.IsZero() {
				t.Fatalf("time %q is read as none", e.LastMod)
			}
		}
	})
}
