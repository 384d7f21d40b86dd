// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"mirrord/site"
	"mirrord/testing/growth"
)

// TestGrowth holds that twice the records are at most 2.3 times the work: to read them, and to have all
// answers of a URL.
func TestGrowth(t *testing.T) {
	at := func(n, each int) string {
		return time.Date(2020, 1, 1, 0, 0, n*each, 0, time.UTC).Format(time.RFC3339)
	}
	const day, base = 24 * 60 * 60, "http://h.test/"
	for _, x := range []struct {
		what string
		n    int
		rec  func(i, n int) rec
	}{
		{"small records", 8000, func(i, _ int) rec {
			return page(fmt.Sprint(base, i), at(i, 1), "small")
		}},
		{"one URL", 8000, func(i, _ int) rec { return page(base, at(i, 1), fmt.Sprint("text ", i)) }},
		{"one second", 8000, func(i, _ int) rec { return page(base, at(0, 1), fmt.Sprint("text ", i)) }},
		{"revisits", 8000, func(i, _ int) rec {
			if i == 0 {
				return page(base, at(0, 1), "text")
			}
			return of("revisit", base, at(i, 1), "", "HTTP/1.1 304 Not Modified\r\n\r\n")
		}},
		{"revisits by digest", 8000, func(i, n int) rec {
			r := page(base, at(i, 1), "text")
			if i > n/2 {
				r = of("revisit", base, at(i, 1), "", "HTTP/1.1 304 Not Modified\r\n\r\n")
			}
			r.fields = fmt.Sprintf("WARC-Payload-Digest: sha1:%d\r\n", i%(n/2))
			return r
		}},
		{"crawls", 2000, func(i, _ int) rec { return page(base, at(i, day), fmt.Sprint("text ", i)) }},
		{"versions", 2000, func(i, n int) rec {
			switch {
			case i == 0:
				return versionsInfo(n, day)
			case i%3 != 1:
				return of("revisit", base, at(i, day), "", "HTTP/1.1 304 Not Modified\r\n\r\n")
			}
			return page(base, at(i, day), fmt.Sprint("text ", i))
		}},
		{"one page of versions", 2000, func(i, n int) rec {
			switch i {
			case 0:
				return versionsInfo(n, day)
			case 1:
				return page(base, at(i, day), "text")
			}
			return of("revisit", base, at(i, day), "", "HTTP/1.1 304 Not Modified\r\n\r\n")
		}},
		{"parts", 8000, func(i, _ int) rec {
			return rec{
				kind:   "warcinfo",
				date:   at(i, day),
				fields: fmt.Sprintf("WARC-Record-ID: <urn:%d>\r\n", i),
				block: fmt.Sprintf("mirrord-version: %d %s\r\n", i+1, at(i, day)) +
					fmt.Sprintf("mirrord-since: %d %s\r\n", i, at(i-1, day)),
			}
		}},
	} {
		read := func(n int) func() {
			var b strings.Builder
			if x.what == "parts" {
				b.WriteString(page(base, at(0, day), "text").String())
				b.WriteString(versionsInfo(0, day).String())
			}
			for i := range n {
				b.WriteString(x.rec(i, n).String())
			}
			return func() {
				a, err := Read(inputs(b.String()), options())
				if err != nil {
					t.Fatal(x.what, err)
				}
				for k := range a.Crawls {
					for range a.URLs(k) {
					}
				}
				if _, err := a.Changed(t.Context().Err); err != nil {
					t.Fatal(x.what, err)
				}
				a.List(site.Canonical(base))
			}
		}
		growth.Check(t, x.what, read(x.n), read(2*x.n))
	}
}

// TestSmallRecords bounds what a small record costs: bytes that are allocated to read it, and those that are
// kept of it. The second are four times as many when URLs are strings in a map.
func TestSmallRecords(t *testing.T) {
	const n, allocated, kept = 8000, 4000, 200
	var b strings.Builder
	for i := range n {
		url := fmt.Sprintf("http://h.test/some/folder/%d/page-%d.html", i%100, i)
		b.WriteString(page(url, day1, "small").String())
	}
	in := inputs(b.String())
	var a *Recordings
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	bytes, _ := growth.Allocated(func() {
		var err error
		if a, err = Read(in, options()); err != nil {
			t.Fatal(err)
		}
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	if a.Len() != n || bytes > n*allocated {
		t.Errorf("%d URLs; %d bytes are allocated for each record, more than %d", a.Len(), bytes/n, allocated)
	}
	if each := (after.HeapAlloc - before.HeapAlloc) / n; each > kept {
		t.Errorf("%d bytes are kept of each record, more than %d", each, kept)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(in)
}

// versionsInfo is the record with which an archive of mirrord begins.
func versionsInfo(n, each int) rec {
	var b strings.Builder
	for i := -1; i < n; i++ {
		date := time.Date(2020, 1, 1, 0, 0, i*each, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&b, "mirrord-version: %d %s\r\n", i+1, date)
	}
	return rec{kind: "warcinfo", date: "2020-01-01T00:00:00Z", block: b.String()}
}
