// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"io"
	"slices"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"

	"mirrord/archive/warc"
	"mirrord/replica/text"
)

// wallSearch looks for pages that ask for consent, or whether the visitor is a robot. A site shows one text
// at many URLs then, with the address, the title or a number of each in it: no two have the same bytes.
type wallSearch struct{ *Recordings }

const (
	mostCompared = 4000 // pages that are read
	wallWords    = 0.75 // resemblance of the words of two walls, at least
)

// comparedPage is what a page says.
type comparedPage struct {
	capture int32
	text.ContentDigest
}

// walls finds, of the pages of URLs that showed different ones in one crawl, those that say what a page of
// another URL says.
func (a wallSearch) walls() map[int32]bool {
	contested := a.contested()
	if len(contested) == 0 {
		return nil
	}
	all := slices.Clone(contested)
	is := map[int32]bool{}
	for _, i := range contested {
		is[i] = true
	}
	for i := range a.captures {
		if a.captures[i].showsPage() && !is[int32(i)] {
			all = append(all, int32(i))
		}
	}
	var pages []comparedPage
	s := text.NewSketcher(text.SketchOptions{K: 1})
	for _, i := range all[:min(len(all), mostCompared)] {
		if body, err := pageOf(a.Recordings, &a.captures[i]); err == nil {
			pages = append(pages, comparedPage{i, s.HTML(body)})
		}
	}
	walls := map[int32]bool{}
	for _, p := range pages {
		if is[p.capture] && slices.ContainsFunc(pages, func(q comparedPage) bool {
			return a.captures[p.capture].url != a.captures[q.capture].url && p.like(&q)
		}) {
			walls[p.capture] = true
		}
	}
	return walls
}

func (p *comparedPage) like(q *comparedPage) bool {
	if p.Words == 0 || q.Words == 0 { // a script that looks at the browser
		return p.Words == q.Words
	}
	return p.Sketch.Equal(&q.Sketch) >= text.LeastEqual(wallWords)
}

// showsPage reports whether a capture has a page.
func (c *capture) showsPage() bool { return c.html && c.status == statusOK && c.kind != revisit }

// contested returns the pages of URLs that showed several in one crawl.
func (a wallSearch) contested() (pages []int32) {
	for url := range a.Len() {
		of, before := -1, int32(-1)
		for _, i := range a.of(uint32(url)) {
			c := &a.captures[i]
			if !c.showsPage() {
				continue
			}
			if before >= 0 {
				payload := a.marks[i].payload
				differ := c.crawl == a.captures[before].crawl && (payload == 0 || payload != a.marks[before].payload)
				if differ && of != int(before) {
					pages = append(pages, before)
				}
				if differ {
					pages, of = append(pages, i), int(i)
				}
			}
			before = i
		}
	}
	return pages
}

// pageOf reads a page.
func pageOf(a *Recordings, c *capture) ([]byte, error) {
	x := new(Recording)
	defer x.Close()
	if err := x.read(a, c); err != nil {
		return nil, err
	}
	from := x.Body
	switch strings.ToLower(warc.ParseMessage(x.Head).Header.Get("Content-Encoding")) {
	case "gzip":
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	case "br":
		from = brotli.NewReader(from)
	}
	return io.ReadAll(io.LimitReader(from, mostPage))
}
