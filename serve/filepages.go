// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"strings"

	"mirrord/serve/find"
	"mirrord/site"
)

// FilePage is a page of a mirror in a file, for an index of texts.
type FilePage struct {
	URL       site.URL
	Intervals []find.Interval
	tables    []Table // in which the page of each interval is found
}

// Read returns the page of an interval, and so many of its bytes at most; ok is false when it is no text.
func (p *FilePage) Read(interval int, most int64) (r Resource, body []byte, ok bool, err error) {
	t := p.tables[interval]
	if r, ok, err = t.Find(p.URL); err != nil || !ok || r.Path == "" || !isPageType(r.MIME) {
		return r, nil, false, err
	}
	body, err = readPage(t, r, most)
	return r, body, err == nil, err
}

// readPage reads so many bytes of a file at most.
func readPage(t Table, r Resource, most int64) ([]byte, error) {
	f, err := t.Open(r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

func isPageType(mime string) bool { return strings.Contains(mime, "html") || mime == "text/plain" }

// saw notes that the next version has the page with some body; 0: not.
func (p *FilePage) saw(number int, body uint64, t Table, next bool) {
	n := len(p.Intervals) - 1
	if next && n >= 0 && p.Intervals[n].Body == body {
		p.Intervals[n].Last = number
		return
	}
	p.Intervals = append(p.Intervals, find.Interval{
		First: number,
		Last:  number,
		Body:  body,
		Next:  next,
	})
	p.tables = append(p.tables, t)
}

// now ends a page that the newest version has.
func (p *FilePage) now() {
	if n := len(p.Intervals) - 1; n >= 0 {
		p.Intervals[n].Last = 0
	}
}
