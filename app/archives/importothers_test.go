// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/testing/apptest"
)

// An archive may have crawls of other sites, also older ones than those of the job's.
func TestImportAfterCrawlsOfOthers(t *testing.T) {
	var file strings.Builder
	for day, host := range []string{"other.test", "another.test", "h.test", "h.test"} {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" +
			fmt.Sprintf("<title>%s, day %d</title>", host, day)
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://%s/\r\n"+
			"WARC-Date: 2024-05-0%dT10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", host, day+1, len(block), block)
	}
	dir := t.TempDir()
	apptest.Put(t, dir, "x.warc", file.String())
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	r := ImportRequest{Files: []string{dir + "/x.warc"}, As: "old", URL: "http://h.test/"}
	m, err := ImportAny(t.Context(), a, r)
	if err != nil || len(m.Versions) != 2 || m.Versions[0].Time.Day() != 3 || m.Unused != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	r.As, r.URL = "none", "http://none.test/"
	if _, err := ImportAny(t.Context(), a, r); err == nil || !strings.Contains(err.Error(), "entry point") {
		t.Errorf("of no crawl: %v", err)
	}
}
