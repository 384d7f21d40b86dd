// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"slices"
)

// choose fills picks: the best capture of a URL in a crawl, of equal ones the last.
func (a *Recordings) choose() {
	a.pickStarts = make([]int32, len(a.urls)+1)
	if a.windows != nil {
		return
	}
	walls := wallSearch{a}.walls()
	for url := range a.urls {
		from := len(a.picks)
		for _, i := range a.of(uint32(url)) {
			if a.captures[i].body >= 0 {
				a.picks = append(a.picks, i)
			}
		}
		all := a.picks[from:]
		slices.SortStableFunc(all, func(x, y int32) int {
			return cmp.Compare(a.captures[x].crawl, a.captures[y].crawl)
		})
		kept, best := all[:0], 0
		for _, i := range all {
			n, worth := len(kept), a.worth(&a.captures[i], walls)
			switch {
			case n == 0 || a.captures[kept[n-1]].crawl != a.captures[i].crawl:
				kept, best = append(kept, i), worth
			case worth >= best:
				kept[n-1], best = i, worth
			}
		}
		a.picks = a.picks[:from+len(kept)]
		a.pickStarts[url+1] = int32(len(a.picks))
	}
}

// What the answers of a URL are worth that one crawl has: a good page does not go because the site asked for
// a later retry, for consent or a login, or redirected then. That it is gone counts.
const (
	worthRetry = iota
	worthOther
	worthWall
	worthGood // or the page is gone
)

func (a *Recordings) worth(c *capture, walls map[int32]bool) int {
	d := &a.captures[c.body]
	status := c.status
	if c.kind == revisit && (status == 0 || status == statusNotModified) {
		status = d.status
	}
	switch {
	case !c.usable():
		return worthRetry
	case status == statusNotFound || status == statusGone:
		return worthGood
	case status < 200 || status >= 300:
		return worthOther
	case walls[c.body]:
		return worthWall
	}
	return worthGood
}

// bodyIndex finds the captures that have a body, as revisits look for them. Places are those in order.
type bodyIndex struct {
	a         *Recordings
	byID      map[uint64]int32
	byPayload map[uint64]int32
	of        map[urlBody][]int32 // places of the captures of a URL, by date
}

// urlBody is the body of a URL with some digest, or with any.
type urlBody struct {
	url     uint32
	any     bool
	payload uint64 // 0: unknown
}

// bodiesFor finds the captures that revisits may look for.
func (a *Recordings) bodiesFor(refs []reference) *bodyIndex {
	b := &bodyIndex{
		a:         a,
		byID:      map[uint64]int32{},
		byPayload: map[uint64]int32{},
		of:        map[urlBody][]int32{},
	}
	for i := range refs {
		b.byID[refs[i].id], b.byPayload[refs[i].payload] = -1, -1
	}
	if len(refs) == 0 {
		return b
	}
	for i := range a.captures {
		c := &a.captures[i]
		if c.kind == revisit {
			continue
		}
		if _, wanted := b.byID[c.id]; wanted {
			b.byID[c.id] = int32(i)
		}
		if _, wanted := b.byPayload[c.payload]; wanted {
			b.byPayload[c.payload] = int32(i)
		}
	}
	for place, i := range a.order {
		c := &a.captures[i]
		if c.kind == revisit {
			continue
		}
		for _, key := range []urlBody{{url: c.url, any: true}, {url: c.url, payload: c.payload}} {
			b.of[key] = append(b.of[key], int32(place))
		}
	}
	return b
}

// target finds the capture that has the body of a revisit; -1 for none.
func (b *bodyIndex) target(ref *reference, c *capture) int32 {
	if i, ok := b.byID[ref.id]; ref.id != 0 && ok && i >= 0 {
		return i
	}
	url := ref.url
	if url == noURL {
		url = c.url
	}
	if i := b.before(url, ref, c.date); i >= 0 {
		return i
	}
	if i, ok := b.byPayload[ref.payload]; ref.payload != 0 && ok {
		return i
	}
	return -1
}

// before finds the capture of a URL that has the date that a revisit gives, else the last one up to its own
// date whose body has the same digest, as far as that is known; -1 for none.
func (b *bodyIndex) before(url uint32, ref *reference, date int64) int32 {
	last := func(key urlBody, date int64) int32 {
		places := b.of[key]
		n := b.later(places, date)
		if n == 0 {
			return -1
		}
		return places[n-1]
	}
	every := urlBody{url: url, any: true}
	if places := b.of[every]; ref.date != 0 {
		n := b.later(places, ref.date-1)
		if n < len(places) && b.a.captures[b.a.order[places[n]]].date == ref.date {
			return b.a.order[places[n]]
		}
	}
	place := int32(-1)
	if ref.payload == 0 {
		place = last(every, date)
	} else {
		place = max(last(urlBody{url: url, payload: ref.payload}, date), last(urlBody{url: url}, date))
	}
	if place < 0 {
		return -1
	}
	return b.a.order[place]
}

// later is how many of some places have a capture up to a date.
func (b *bodyIndex) later(places []int32, date int64) int {
	n, _ := slices.BinarySearchFunc(places, date, func(place int32, date int64) int {
		return cmp.Or(cmp.Compare(b.a.captures[b.a.order[place]].date, date), -1)
	})
	return n
}
