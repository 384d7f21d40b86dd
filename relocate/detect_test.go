// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16le returns s in UTF-16, little endian, without a mark.
func utf16le(s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return string(b)
}

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
		{"text/html", "/x", utf16le("<p>\u2013 \u65e5\u672c\u8a9e</p><a href=x>"), HTML},
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
		{"application/octet-stream", "/x", "<body >", Unknown},
		{"application/octet-stream", "/setup.bin", "<!DOCTYPE html><a href=/x>", Unknown},
		{"application/octet-stream", "/report.xml", `<?xml version="1.0"?><rss>`, Unknown},
		{"application/octet-stream", "/drawing.svg", "<svg>", Unknown},
		{"application/octet-stream;charset=utf-8", "/page.HTM", "<a href=/x>", HTML},
		{"binary/octet-stream", "/page.html", "<a href=/x>", HTML},
		{"binary/octet-stream", "/page", "<html>", Unknown},
		{"application/octet-stream", "/app.webmanifest", "{}", Manifest},
		{"application/octet-stream", "/s.css", "a{}", CSS},
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

// TestDetectUnknownType walks the table of MIME Sniffing, section 7.1 (rules for identifying an unknown MIME
// type), whose rows stand in wantHTML and after it, for all types that the standard calls unknown.
func TestDetectUnknownType(t *testing.T) {
	wantHTML := []string{"<!DOCTYPE HTML", "<HTML", "<HEAD", "<SCRIPT", "<IFRAME", "<H1", "<DIV", "<FONT",
		"<TABLE", "<A", "<STYLE", "<TITLE",
		"<B", "<BODY", "<BR", "<P"}
	bodies := map[string]Format{
		"<!--":                          HTML,
		"\n<!--x":                       HTML,
		"\t <?xml version='1.0'?><svg>": SVG,
		"<?xml":                         SVG,
		"<?xml?><rss>":                  Feed,
	}
	for _, tag := range wantHTML {
		for _, ok := range []string{tag + " ", tag + ">", strings.ToLower(tag) + ">x", "\t\n\f\r " + tag + ">"} {
			bodies[ok] = HTML
		}
		for _, no := range []string{
			tag, tag + "\n>", tag + "/>", tag + "\x00", "x" + tag + ">", "\v" + tag + ">", "\xef\xbb\xbf" + tag + ">",
		} {
			bodies[no] = Unknown
		}
	}
	for _, other := range []string{
		"%PDF-1.7\n<html>", "%!PS-Adobe-3.0", "\xfe\xff\x00<\x00h\x00t\x00m\x00l\x00>",
		"\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00",
		"\xef\xbb\xbftext", "GIF89a<html>", "BM<html>", "RIFF....WEBPVP", "\x89PNG\r\n\x1a\n", "\xff\xd8\xff",
		"OggS\x00", "MThd\x00\x00\x00\x06", "ID3",
		"FORM....AIFF", ".snd", "\x1f\x8b\x08", "PK\x03\x04", "Rar!\x1a\x07", "text <html>", "<svg>", "<rss>",
		"<htmlx>", "<abbr>", "a{}", "",
	} {
		bodies[other] = Unknown
	}
	for body, want := range bodies {
		for _, mime := range []string{"", "*/*", "unknown/unknown", "application/unknown", " */* ; charset=utf-8"} {
			if got := Detect(mime, mustURL(t, "http://zoo.test/x"), []byte(body)); got != want {
				t.Errorf("Detect(%q, %q) = %s, want %s", mime, body, got, want)
			}
		}
		for _, mime := range []string{"application/octet-stream", "binary/octet-stream", "text/plain"} {
			if got := Detect(mime, mustURL(t, "http://zoo.test/x"), []byte(body)); got != Unknown {
				t.Errorf("Detect(%q, %q) = %s, want unknown", mime, body, got)
			}
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
