// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// TestPackedNames: a file whose name says that it is packed is stored as it came when the server labels it as
// coded, unless pages load it or browsers show it.
func TestPackedNames(t *testing.T) {
	const text = "some text that is no archive\n"
	gz := string(badserver.Encode("gzip", []byte(text)))
	bz := "BZh91AY&SY" + strings.Repeat("x", 80)
	zst := string(badserver.Encode("zstd", []byte(text)))
	twice := string(badserver.Encode("gzip", []byte(gz)))
	gzOf := func(s string) string { return string(badserver.Encode("gzip", []byte(s))) }
	const gzType = "application/gzip"
	tests := []struct {
		path, mime, coding, body string
		wantMIME, want           string
	}{
		{"/a.ps.gz", "application/postscript", "gzip", gz, gzType, gz},
		{"/Packages.gz", "text/plain; charset=utf-8", "gzip", gz, gzType, gz},
		{"/ls.1.gz", "application/x-troff-man", "x-gzip", gz, gzType, gz},
		{"/a.csv.gz", "text/csv", "gzip", gz, gzType, gz},
		{"/a.warc.gz", "application/warc", "gzip", gz, gzType, gz},
		{"/primary.xml.GZ", "text/xml", "gzip", gz, gzType, gz},
		{"/a.tgz", "application/x-tar", "gzip", gz, gzType, gz},
		{"/a.gz", "", "gzip", gz, gzType, gz},
		{"/get?a.gz", "text/plain", "gzip", gz, "text/plain", text},
		{"/twice.gz", "text/plain", "gzip", twice, "text/plain", gz},
		{"/a.tar.gz", "application/gzip", "gzip", gz, gzType, gz},
		{"/android.apk", "application/vnd.android.package-archive", "gzip", gzOf("PK\x03\x04zip"),
			"application/vnd.android.package-archive", "PK\x03\x04zip"},
		{"/alpine.apk", "application/vnd.android.package-archive", "gzip", gz, gzType, gz},
		{"/a.bz2", "text/plain", "gzip", gzOf(bz), "text/plain", bz},
		{"/a.bz2", "text/plain", "gzip", bz, "application/x-bzip2", bz},
		{"/a.tar.bz2", "application/x-tar", "x-bzip2", bz, "application/x-bzip2", bz},
		{"/a.tar.Z", "application/x-tar", "x-compress", "\x1f\x9dxx", "application/x-compress", "\x1f\x9dxx"},
		{"/a.zst", "application/octet-stream", "zstd", zst, "application/zstd", zst},
		{"/a.zst", "application/zstd", "gzip", gzOf(zst), "application/zstd", zst},
		{"/a.html.gz", "text/html", "gzip", gz, "text/html", text},
		{"/a.css.gz", "text/css", "gzip", gz, "text/css", text},
		{"/a.js.gz", "application/javascript", "gzip", gz, "application/javascript", text},
		{"/a.json.gz", "application/ld+json", "gzip", gz, "application/ld+json", text},
		{"/a.svg.gz", "image/svg+xml", "gzip", gz, "image/svg+xml", text},
		{"/a.wasm.gz", "application/wasm", "gzip", gz, "application/wasm", text},
		{"/a.ttf.gz", "font/ttf", "gzip", gz, "font/ttf", text},
		{"/a.otf.gz", "application/x-font-otf", "gzip", gz, "application/x-font-otf", text},
		{"/a.txt", "text/plain", "gzip", gz, "text/plain", text},
	}
	for _, tt := range tests {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{tt.mime}
			w.Header().Set("Content-Encoding", tt.coding)
			w.Write([]byte(tt.body))
		}))
		var m memory
		c := newClient(t, Options{Reach: reach.Policy{All: true}})
		res, err := c.Do(t.Context(), Request{URL: mustURL(t, s.URL+tt.path)}, &m)
		if err != nil || !res.Kept || m.String() != tt.want || res.MIME != tt.wantMIME {
			t.Errorf("%s as %s, %s: %q, %s, %v", tt.path, tt.mime, tt.coding, m.String(), res.MIME, err)
		}
		if res.MIME != tt.mime && res.Charset != "" && strings.HasPrefix(tt.wantMIME, "application/") {
			t.Errorf("%s: charset %s", tt.path, res.Charset)
		}
		s.Close()
	}
}

// TestIsUnpacked: only what would be stored in another way is found.
func TestIsUnpacked(t *testing.T) {
	tests := []struct {
		mime, path, coding, first string
		want                      bool
	}{
		{"text/plain", "/Packages.gz", "gzip", "Package:", true},
		{"text/plain", "/Packages.gz", "", "Package:", false}, // a text under this name
		{"text/plain", "/Packages.gz", "gzip", "\x1f\x8b\x08", false},
		{"application/gzip", "/Packages.gz", "gzip", "Package:", false}, // as it came
		{"text/html", "/page.gz", "gzip", "<html>", false},
		{"text/plain", "/a.bz2", "gzip", "text", false},
		{"text/plain", "/a.zst", "zstd", "text", true},
		{"text/plain", "/a.txt", "gzip", "text", false},
	}
	for _, tt := range tests {
		if got := IsUnpacked(tt.mime, tt.path, []string{tt.coding}, []byte(tt.first)); got != tt.want {
			t.Errorf("%s as %s, %s, %q: %v", tt.path, tt.mime, tt.coding, tt.first, got)
		}
	}
}
