// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"mirrord/internal/badserver"
)

// Bodies are imported as they are, however they were coded on their way, also when they were decoded and
// still say that they are coded.
func TestImportCoded(t *testing.T) {
	var file, links strings.Builder
	record := func(path, fields, body string) {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + fields + "\r\n" + body
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.test%s\r\n"+
			"WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", path, len(block), block)
	}
	want := map[string]string{}
	chunked := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(s), s) }
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		for _, way := range []string{"whole", "chunks", "plain"} {
			name := coding + "-" + way
			page := "<title>" + name + "</title>" + strings.Repeat("<p>A page of its own: "+name, 40)
			body, fields := string(badserver.Encode(coding, []byte(page))), "Content-Encoding: "+coding+"\r\n"
			switch way {
			case "chunks":
				body, fields = chunked(body), fields+"Transfer-Encoding: chunked\r\n"
			case "plain":
				if coding == "br" || coding == "deflate" { // the first bytes do not show it
					fields = "X-Orig-" + fields
				}
				body = page
			}
			record("/"+name+".html", fields, body)
			fmt.Fprintf(&links, "<a href=%s.html>p</a>", name)
			want[name+".html"] = fmt.Sprintf("%x", sha256.Sum256([]byte(page)))
		}
	}
	record("/", "", "<title>All</title>"+links.String())
	dir := t.TempDir()
	put(t, dir, "x.warc", file.String())
	a := testApp(t.TempDir())
	a.Jobs = t.TempDir()
	m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir + "/x.warc"}, As: "old"})
	if err != nil || len(m.Versions) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	table := versionsOf(t, a, "old")[0]
	for path, sum := range want {
		if !strings.Contains(table, `"path":"`+path+`"`) || !strings.Contains(table, sum) {
			t.Errorf("no %s with %s in\n%s", path, sum, table)
		}
	}
}
