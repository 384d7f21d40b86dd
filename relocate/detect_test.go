package relocate

import (
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		mime, url, head string
		want            Format
	}{
		{"text/html", "/x", "<p>", HTML},
		{"Text/HTML; charset=utf-8", "/x.css", "a{}", HTML},
		{"text/html", "/x", "", HTML},
		{"text/html", "/x.pdf", "%PDF-1.4\n<html>", Unknown},
		{"text/html", "/x", "\x89PNG\r\n\x1a\n", Unknown},
		{"text/html", "/x", "PK\x03\x04....", Unknown},
		{"text/html", "/x", "\x1f\x8b\x08\x00", Unknown},
		{"text/html", "/x", strings.Repeat("\x01\x02abc", 100), Unknown},
		{"text/html", "/x", "<html>\x00<a href=x>" + strings.Repeat("text ", 50), HTML},
		{"text/html", "/x", "<\x00h\x00t\x00m\x00l\x00>\x00", HTML},
		{"text/html", "/x", "\xff\xfe<\x00h\x00", HTML},
		{"text/html", "/feed", `<?xml version="1.0"?><rss version="2.0">`, Feed},
		{"text/html", "/feed", `<?xml version="1.0"?><!DOCTYPE html><html xmlns="x">`, HTML},
		{"application/xhtml+xml", "/x", `<html>`, SVG},
		{"image/svg+xml", "/x", `<svg>`, SVG},
		{"image/svg+xml", "/x.svgz", "\x1f\x8b\x08", Unknown},
		{"text/css", "/x", "a{}", CSS},
		{"text/plain", "/x.css", "a{}", CSS},
		{"text/plain", "/x.html", "<html>", Unknown},
		{"text/plain", "/x", "<html>", Unknown},
		{"", "/x.html", "", HTML},
		{"", "/x", " <!DOCTYPE HTML>", HTML},
		{"application/octet-stream", "/x", "<body >", HTML},
		{"", "/x", "hello", Unknown},
		{"", "/x.svg", "<svg>", SVG},
		{"", "/x.svg", "hello", Unknown},
		{"application/rss+xml", "/x", "<rss>", Feed},
		{"application/atom+xml", "/x", "<!-- c --><feed>", Feed},
		{"application/rss+xml", "/x", "Error", Unknown},
		{"text/xml", "/x", `<?xml version="1.0"?><?xml-stylesheet href="x"?><urlset>`, Sitemap},
		{"application/xml; charset=utf-8", "/x", "\xef\xbb\xbf<sitemapindex>", Sitemap},
		{"application/xml", "/x", `<rdf:RDF xmlns:rdf="x">`, Feed},
		{"application/xml", "/x", `<!DOCTYPE book [<!ENTITY a "b>">]><book>`, SVG},
		{"application/xml", "/x", "\xff\xfe<\x00r\x00s\x00s\x00>\x00", Feed},
		{"application/mathml+xml", "/x", "<math>", SVG},
		{"application/manifest+json", "/x", "{}", Manifest},
		{"application/json", "/x.webmanifest", "{}", Manifest},
		{"application/json", "/manifest.json", "{}", Manifest},
		{"application/json", "/x.json", "{}", Unknown},
		{"application/javascript", "/x.js", "<html>", Unknown},
		{"text/javascript; charset=utf-8", "/x", "f()", Script},
		{"text/plain", "/x.mjs", "f()", Script},
		{"", "/x.js", "f()", Script},
		{"application/javascript", "/x", "\x00asm", Unknown},
		{"image/png", "/x.html", "<html>", Unknown},
		{"font/woff2", "/x", "wOF2", Unknown},
		{"garbage", "/x.html", "<html>", Unknown},
	} {
		if got := Detect(c.mime, mustURL(t, "http://zoo.test"+c.url), []byte(c.head)); got != c.want {
			t.Errorf("Detect(%q, %q, %q) = %s, want %s", c.mime, c.url, c.head, got, c.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("text/xml", []byte("<?xml?><!DOCTYPE a [<!x>]><a>"))
	f.Add("", []byte("\xff\xfe<\x00"))
	f.Fuzz(func(t *testing.T, mime string, head []byte) {
		if got := Detect(mime, mustURL(t, "http://zoo.test/x"), head); got > Script {
			t.Fatal(got)
		}
	})
}
