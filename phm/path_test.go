// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
)

func mustURL(t testing.TB, s string) site.URL {
	t.Helper()
	u, _, err := site.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPreferred(t *testing.T) {
	l := Layout{Primary: "https://h.example"}
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ url, mime, want string }{
		// The URL's own path.
		{"/openjdk/api/java.base/java/lang/String.html", "text/html",
			"openjdk/api/java.base/java/lang/String.html"},
		{"/x.htm", "text/html; charset=utf-8", "x.htm"},
		{"/X.HTML", "TEXT/HTML", "X.HTML"},
		{"/x.js", "text/javascript", "x.js"},
		{"/x.mjs", "application/javascript", "x.mjs"},
		{"/a~b/_c-d/e,f;g=h.css", "text/css", "a~b/_c-d/e,f;g=h.css"},
		{"/logo.jpg", "image/webp", "logo.jpg"},
		{"/LICENSE", "text/plain", "LICENSE"},
		{"/foo.patch", "text/plain", "foo.patch"},
		{"/README.md", "text/plain", "README.md"},
		{"/source.html", "text/plain", "source.html.txt"},
		{"/source.HTM", "text/plain; charset=utf-8", "source.HTM.txt"},
		{"/source.xhtml?v=1", "text/plain", "source.xhtml@v=1.txt"},
		{"/data.xml", "text/plain", "data.xml"},
		{"/v1.2/foo.tar.gz", "application/gzip", "v1.2/foo.tar.gz"},
		{"/disk.iso", "application/octet-stream", "disk.iso"},
		{"/thing", "application/x-unheard-of", "thing"},
		{"/feed.xml", "application/rss+xml", "feed.xml"},
		{"/site.webmanifest", "application/json", "site.webmanifest"},
		{"/a@b/c", "", "a@b/c"},
		// Directories.
		{"/", "text/html", "index.html"},
		{"/a/", "text/html", "a/index.html"},
		{"/a/", "", "a/index.html"},
		{"/a/", "application/rss+xml", "a/index.rss"},
		{"/a/", "text/plain", "a/index.txt"},
		{"/a/", "application/octet-stream", "a/index"},
		{"/a//b.html", "text/html", "a/%2F/b.html"},
		// A combining mark after a dot that is escaped joins the escape's last letter.
		{"/.%CC%81x.html", "text/html", "%2\u00c9x.html"},
		{"/a/.%CC%88/", "text/html", "a/%2\u00cb/index.html"},
		{"/%2A%CC%8A", "text/html", "%2\u00c5.html"},
		// Extensions.
		{"/a", "text/html", "a.html"},
		{"/x.php", "text/html", "x.php.html"},
		{"/x.shtml", "text/html", "x.shtml.html"},
		{"/v1.2", "text/html", "v1.2.html"},
		{"/v1.2", "application/zip", "v1.2.zip"},
		{"/README.md", "text/html", "README.md.html"},
		{"/avatar/17", "image/png", "avatar/17.png"},
		{"/style.php", "text/css", "style.php.css"},
		{"/x.php", "text/plain", "x.php.txt"},
		{"/x.php", "text/x-php", "x.php.txt"},
		{"/x.PHP", "application/octet-stream", "x.PHP.bin"},
		{"/img.svg", "image/png", "img.svg.png"},
		// Queries.
		{"/x.php?q=1&p=2", "text/html", "x.php@q=1&p=2.html"},
		{"/x.html?q=1", "text/html", "x@q=1.html"},
		{"/style.css?v=3", "text/css", "style@v=3.css"},
		{"/a/?C=M;O=A", "text/html", "a/index@C=M;O=A.html"},
		{"/a?", "text/html", "a@.html"},
		{"/a?u=http://b/%3F", "text/html", "a@u=http%3A%2F%2Fb%2F%3F.html"},
		{"/q?" + long, "text/html", "q@" + long[:120] + "~c5d3af9326.html"},
		// Escapes.
		{"/My%20File.pdf", "application/pdf", "My File.pdf"},
		{"/caf%C3%A9.html", "text/html", "café.html"},
		{"/cafe%CC%81.html", "text/html", "café.html"},
		{"/%E6%97%A5%E6%9C%AC", "text/html", "日本.html"},
		{"/%e9.html", "text/html", "%e9.html"},
		{"/100%25.html", "text/html", "100%25.html"},
		{"/50%zz.html", "text/html", "50%zz.html"},
		{"/a%2Fb.html", "text/html", "a%2Fb.html"},
		{"/a%5C..%5Cb.html", "text/html", "a%5C..%5Cb.html"},
		{"/C%23.html", "text/html", "C#.html"},
		{"/a%00b.html", "text/html", "a%00b.html"},
		{"/a%0Ab.html", "text/html", "a%0Ab.html"},
		{"/a%E2%80%AEfdp.exe", "", "a%E2%80%AEfdp.exe"}, // right-to-left override
		{"/a:b*c|d.html", "text/html", "a%3Ab%2Ac%7Cd.html"},
		// Names that a system hides, strips, obeys or refuses.
		{"/.htaccess", "text/plain", "%2Ehtaccess"},
		{"/.well-known/x.txt", "text/plain", "%2Ewell-known/x.txt"},
		{"/a./b.%20/c.html", "text/html", "a%2E/b.%20/c.html"},
		{"/%20a.html", "text/html", "%20a.html"},
		{"/CON", "text/html", "%43ON.html"},
		{"/aux/nul.tar.gz", "", "%61ux/%6Eul.tar.gz"},
		{"/com1", "", "%63om1"},
		{"/com%C2%B9.txt", "", "%63om¹.txt"},
		{"/CON%20.txt", "", "%43ON .txt"},
		{"/console/common/nullable.html", "text/html", "console/common/nullable.html"},
		{"/a/web.config", "", "a/%77eb.config"},
		{"/Desktop.ini", "", "%44esktop.ini"},
		{"/phm.json", "application/json", "%70hm.json"},
		{"/phm", "application/json", "%70hm.json"},
		{"/PHM.files", "", "%50HM.files"},
		{"/phm.json/a", "text/plain", "%70hm.json/a"},
		{"/a/phm.json", "application/json", "a/phm.json"},
		{"/@h/x.html", "text/html", "%40h/x.html"},
		// Long names.
		{"/" + long + "/x.html", "text/html", long[:244] + "~0d4e2ca9e9/x.html"},
		{"/" + long[:250], "text/html", long[:250] + ".html"},
		{"/" + long[:251], "text/html", long[:233] + "~f20eed373c.html"},
		// Other origins.
		{"https://o.example/a.css", "text/css", "@o.example/a.css"},
		{"http://h.example/a.css", "text/css", "@h.example_80/a.css"},
		{"https://h.example:8443/", "text/html", "@h.example_8443/index.html"},
		{"http://[::1]:8080/", "text/html", "@--1_8080/index.html"},
		{"https://o.example/phm.json", "", "@o.example/phm.json"},
		{"https://o.example/@me", "", "@o.example/@me"},
	} {
		if strings.HasPrefix(c.url, "/") {
			c.url = l.Primary + c.url
		}
		u := mustURL(t, c.url)
		got := l.Preferred(u, c.mime)
		if got != c.want {
			t.Errorf("Preferred(%s, %q)\n got %q\nwant %q", c.url, c.mime, got, c.want)
		}
		if err := CheckPath(got); err != nil {
			t.Error(err)
		}
		if err := CheckPath(l.Qualified(u, c.mime)); err != nil {
			t.Error(err)
		}
	}
}

// TestZeroURL: no URL has no path, and asking is no crash.
func TestZeroURL(t *testing.T) {
	var n Namer
	if l := (Layout{}); l.Preferred(site.URL{}, "text/html") != "" || l.Qualified(site.URL{}, "") != "" ||
		n.Assign(site.URL{}, "", "") != "" {
		t.Error("the zero URL has a path")
	}
}

func TestOrder(t *testing.T) {
	a, b, c := mustURL(t, "https://h.example/b"), mustURL(t, "https://h.example/aa"),
		mustURL(t, "https://h.example/ab")
	if Compare(a, b) >= 0 || Compare(b, c) >= 0 || Compare(b, a) <= 0 || Compare(a, a) != 0 ||
		Compare(c, a) <= 0 {
		t.Error("the order is not shorter first, then bytewise")
	}
}

// TestMediaTypes: for every type that the table knows, a name without extension gets the type's own, and a
// name with it stays.
func TestMediaTypes(t *testing.T) {
	l := Layout{Primary: "https://h.example"}
	types := append(slices.Collect(maps.Keys(medias)), "application/vnd.example+xml",
		"application/vnd.example+json")
	for _, mime := range types {
		got := l.Preferred(mustURL(t, "https://h.example/name"), mime)
		if mime == "text/plain" {
			if got != "name" {
				t.Errorf("text: %q", got)
			}
			continue
		}
		if !strings.HasPrefix(got, "name.") {
			t.Errorf("%s: a name without extension gives %q", mime, got)
			continue
		}
		for _, name := range []string{got, strings.ToUpper(got)} {
			if again := l.Preferred(mustURL(t, "https://h.example/"+name), mime); again != name {
				t.Errorf("%s: %q gives %q", mime, name, again)
			}
		}
		if got := l.Preferred(mustURL(t, "https://h.example/name.php"), mime); strings.HasSuffix(got, ".php") {
			t.Errorf("%s: %q would be run by a server", mime, got)
		}
	}
	if len(types) < 70 {
		t.Errorf("only %d types were found", len(types))
	}
	// What mime.types of Debian and nginx say of the extensions that browsers depend on.
	for mime, ext := range map[string]string{"text/html": "html", "application/xhtml+xml": "xhtml",
		"text/css": "css", "text/javascript": "js", "image/svg+xml": "svg", "text/xml": "xml",
		"application/json": "json", "application/pdf": "pdf", "application/wasm": "wasm", "image/png": "png",
		"image/jpeg": "jpg", "image/webp": "webp", "font/woff2": "woff2", "video/mp4": "mp4", "audio/mpeg": "mp3",
		"application/rss+xml": "rss", "application/atom+xml": "atom", "text/csv": "csv", "application/zip": "zip"} {
		if got := l.Preferred(mustURL(t, "https://h.example/x"), mime); got != "x."+ext {
			t.Errorf("%s: %q, want extension %q", mime, got, ext)
		}
	}
}

func TestSafeByte(t *testing.T) {
	for c := range 256 {
		want := c >= 0x20 && c < 0x7f && !strings.ContainsRune(`<>:"|?*\/%`, rune(c))
		if got := safeByte(byte(c)); got != want {
			t.Errorf("safeByte(%q) = %v", rune(c), got)
		}
	}
}
