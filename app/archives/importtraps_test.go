// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/testing/apptest"
)

// All that an archive has of a site is imported, also what a run would leave alone because there seems to be
// no end of it: the months of an empty calendar, the variants of one page, and one that no page links to.
func TestImportWhatWouldBeTraps(t *testing.T) {
	var file strings.Builder
	record := func(path, body string) {
		block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
		fmt.Fprintf(&file, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://h.test%s\r\n"+
			"WARC-Date: 2024-05-01T10:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", path, len(block), block)
	}
	const months, variants = 120, 90
	record("/", `<title>All</title><a href="cal?month=1">calendar</a><a href="list?page=1">list</a>`)
	record("/alone.html", "<title>Alone</title>")
	for n := range months {
		record(fmt.Sprintf("/cal?month=%d", n+1),
			fmt.Sprintf(`<title>Calendar</title><p>No entries this month.<a href="cal?month=%d">next</a>`, n+2))
	}
	for n := range variants {
		record(fmt.Sprintf("/list?page=%d", n+1),
			fmt.Sprintf(`<title>List %d</title><p>%s<a href="list?page=%d">next</a>`,
				n+1, strings.Repeat(fmt.Sprintf("entry%dx ", n), 9), n+2))
	}
	dir := t.TempDir()
	apptest.Put(t, dir, "x.warc", file.String())
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "old.toml", "url = \"http://h.test/\"\n[limits]\nmax_variants = 20\n")
	m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{dir + "/x.warc"},
		As: "old"})
	if err != nil || len(m.Versions) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	table := newestTable(t, a, "old")
	if n := strings.Count(table, "\n"); n != months+variants+2 {
		t.Errorf("%d files of %d:\n%s", n, months+variants+2, table)
	}
}
