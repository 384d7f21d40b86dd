// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/binary"
	"io"
	"strings"

	"mirrord/archive/zim"
	"mirrord/phm"
	"mirrord/serve/find"
	"mirrord/site"
)

// FilePage is a page of a mirror in a file, for an index of texts.
type FilePage struct {
	URL       site.URL
	Intervals []find.Interval
	tables    []Table // in which the page of each interval is found
}

// Pages calls f for each page of a mirror.
func (s *Files) Pages(name string, f func(*FilePage) error) error { return s.mirrors[name].pages(f) }

// Read returns the page of an interval, and so many of its bytes at most; ok is false when it is no text.
func (p *FilePage) Read(interval int, most int64) (r Resource, body []byte, ok bool, err error) {
	t := p.tables[interval]
	if r, ok, err = t.Find(p.URL); err != nil || !ok || r.Path == "" || !isPageType(r.MIME) {
		return r, nil, false, err
	}
	f, err := t.Open(r)
	if err != nil {
		return r, nil, false, err
	}
	body, err = io.ReadAll(io.LimitReader(f, most))
	f.Close() // it was only read
	return r, body, err == nil, err
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

// page is what the crawls up to a version have of a page, and whether the last one has it.
func (s *recordedSite) page(u site.URL, before int) (p *FilePage, last bool) {
	p = &FilePage{URL: u}
	for _, c := range s.crawls {
		if c.Number >= before {
			break
		}
		body := s.archive.Page(c.crawl, u)
		if body != 0 {
			p.saw(c.Number, body, c, last)
		}
		last = body != 0
	}
	return p, last
}

func (s *recordedSite) pages(f func(*FilePage) error) (err error) {
	s.archive.Each(func(url string) {
		if err != nil {
			return
		}
		p, last := s.page(site.Canonical(url), 1<<62)
		if last {
			p.now()
		}
		if len(p.Intervals) > 0 {
			err = f(p)
		}
	})
	return err
}

func (s *fileSite) pages(f func(*FilePage) error) error {
	t := s.tree
	for line, err := range phm.Files(io.NewSectionReader(t.table, 0, 1<<62)) {
		if err != nil {
			return err
		}
		r, err := resourceOf(line)
		if err != nil || r.URL.IsZero() || !isPageType(r.MIME) {
			continue // the table of another kind of line is no page
		}
		p, last := &FilePage{URL: r.URL}, false
		if s.past != nil {
			p, last = s.past.page(r.URL, t.meta.Version)
		}
		p.saw(t.meta.Version, binary.LittleEndian.Uint64(r.Digest[:]), t, last)
		p.now()
		if err := f(p); err != nil {
			return err
		}
	}
	return s.gone(f)
}

// gone calls f for the pages that only older versions have.
func (s *fileSite) gone(f func(*FilePage) error) (err error) {
	if s.past == nil {
		return nil
	}
	s.past.archive.Each(func(url string) {
		u := site.Canonical(url)
		if _, ok, ferr := s.tree.Find(u); err != nil || ferr != nil || ok {
			return
		}
		if p, _ := s.past.page(u, s.tree.meta.Version); len(p.Intervals) > 0 {
			err = f(p)
		}
	})
	return err
}

func (s *zimSite) pages(f func(*FilePage) error) error {
	for i := range s.zim.Len() {
		s.mu.Lock()
		e, err := s.zim.At(i)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		r, ok := s.resource(e)
		page := e.Namespace == zim.Content || (s.old && e.Namespace == 'A')
		if !ok || !page || e.Target >= 0 || !isPageType(r.MIME) {
			continue
		}
		p := &FilePage{URL: s.snap.place(r.Path)}
		p.saw(1, binary.LittleEndian.Uint64(r.Digest[:]), s, false)
		p.now()
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}
