// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/testing/apptest"
	"mirrord/testing/badserver"
	"mirrord/testing/wholetest"
)

// Bodies are imported as they are, however they were coded on their way, also when they were decoded and
// still say that they are coded.
func TestImportCoded(t *testing.T) {
	var file, packed, links strings.Builder
	record := func(path, fields, body string) {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + fields + "\r\n" + body
		text := fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.test%s\r\n"+
			"WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"WARC-Payload-Digest: sha256:%x\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n",
			path, sha256.Sum256([]byte(body)), len(block), block)
		file.WriteString(text)
		packed.Write(badserver.Encode("gzip", []byte(text)))
	}
	want, rng := map[string]string{}, rand.New(rand.NewPCG(1, 2))
	chunked := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(s), s) }
	for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
		for _, way := range []string{"whole", "chunks", "plain"} {
			name := coding + "-" + way
			page := "<title>" + name + "</title>" + strings.Repeat("<p>A page of its own: "+name, 40)
			for range 1000 { // so that the record is large in any coding, and checked when it is opened
				page += fmt.Sprintf(" %x", rng.Uint64())
			}
			body, fields := string(badserver.Encode(coding, []byte(page))), "Content-Encoding: "+coding+"\r\n"
			switch way {
			case "chunks":
				body, fields = chunked(body), fields+"Transfer-Encoding: chunked\r\n"
			case "plain":
				body = page
			}
			record("/"+name+".html", fields, body)
			fmt.Fprintf(&links, "<a href=%s.html>p</a>", name)
			want[name+".html"] = fmt.Sprintf("%x", sha256.Sum256([]byte(page)))
		}
	}
	record("/", "", "<title>All</title>"+links.String())
	dir := t.TempDir()
	apptest.Put(t, dir, "x.warc", file.String())
	apptest.Put(t, dir, "x.warc.gz", packed.String())
	for _, name := range []string{"x.warc", "x.warc.gz"} {
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{dir + "/" + name},
			As: "old"})
		if err != nil || len(m.Versions) != 1 {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		if v, err := care.Verify(t.Context(), a, "old", true); err != nil || v.Count() != 0 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		table := wholetest.VersionsOf(t, a, "old")[0]
		for path, sum := range want {
			if !strings.Contains(table, `"path":"`+path+`"`) || !strings.Contains(table, sum) {
				t.Errorf("%s: no %s with %s in\n%s", name, path, sum, table)
			}
		}
	}
}
