// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A crawl has changed something when a URL shows something else than before, whether the records have digests
// or not.
func TestChanged(t *testing.T) {
	moved := func(to string) string { return "HTTP/1.1 301 Moved\r\nLocation: " + to + "\r\n\r\n" }
	ok := func(body string) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body }
	for name, x := range map[string]struct {
		days []string // what one URL answers on each; "": it is not asked
		want []bool
	}{
		"nothing":          {[]string{ok("a"), ok("a"), "", ok("a")}, []bool{true, false, false, false}},
		"the text":         {[]string{ok("a"), ok("b"), ok("b"), ok("a")}, []bool{true, true, false, true}},
		"a text not asked": {[]string{ok("a"), "", ok("b"), ok("b")}, []bool{true, false, true, false}},
		"where it leads": {[]string{moved("/a"), moved("/a"), moved("/b"), ok("")},
			[]bool{true, false, true, true}},
		"that it is gone":   {[]string{ok("a"), notThere, notThere, ok("a")}, []bool{true, true, false, true}},
		"what was not seen": {[]string{"", ok("a"), ok("a"), notThere}, []bool{true, true, false, true}},
		"a failure": {[]string{notThere, "HTTP/1.1 500 Broken\r\n\r\n", notThere, notThere},
			[]bool{true, false, false, false}},
	} {
		for _, digests := range []string{"none", "all", "some"} {
			var recs []rec
			for day, block := range x.days {
				date := time.Date(2024, 5, 1+day, 10, 0, 0, 0, time.UTC).Format(time.RFC3339)
				recs = append(recs, page("http://h.test/", date, "always"))
				if block == "" {
					continue
				}
				r := of("response", "http://h.test/p", date, "", block)
				if _, body, _ := strings.Cut(block, "\r\n\r\n"); digests == "all" || (digests == "some" && day%2 == 0) {
					r.fields = fmt.Sprintf("WARC-Payload-Digest: sha1:%x\r\n", body)
				}
				recs = append(recs, r)
			}
			a, err := Read(inputs(plain(recs...)), options())
			if err != nil {
				t.Fatal(name, err)
			}
			if got, err := a.Changed(t.Context().Err); err != nil || !slices.Equal(got, x.want) {
				t.Errorf("%s, digests of %s: %v, %v; want %v", name, digests, got, err, x.want)
			}
		}
	}
}

const notThere = "HTTP/1.1 404 Not Found\r\n\r\n"
