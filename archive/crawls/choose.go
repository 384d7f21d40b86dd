// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"slices"
	"sort"
)

// choose fills picks and changes: the best capture of a URL in a crawl, of equal ones the last.
func (a *Recordings) choose() {
	a.pickStarts = make([]int32, a.Len()+1)
	if a.windows != nil {
		return
	}
	walls := wallSearch{a}.walls()
	for url := range a.Len() {
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
		changeSearch{a}.compare(a.picks[from:])
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

// bodyIndex finds the captures that have a body, as revisits look for them.
type bodyIndex struct {
	*Recordings
	byID      map[uint64]int32 // of the captures that revisits name
	byPayload map[uint64]int32
	byDate    []int32 // captures with a body, by URL, then in order
	byBody    []int32 // the same by URL, by the digest, then in order
}

// bodiesFor finds the captures that revisits may look for.
func bodiesFor(a *Recordings, refs []reference) *bodyIndex {
	b := &bodyIndex{Recordings: a, byID: map[uint64]int32{}, byPayload: map[uint64]int32{}}
	for i := range refs {
		b.byID[refs[i].id], b.byPayload[refs[i].payload] = -1, -1
	}
	if len(refs) == 0 {
		return b
	}
	for i := range a.captures {
		if a.captures[i].kind == revisit {
			continue
		}
		m := &a.marks[i]
		if _, wanted := b.byID[m.id]; wanted {
			b.byID[m.id] = int32(i)
		}
		if _, wanted := b.byPayload[m.payload]; wanted {
			b.byPayload[m.payload] = int32(i)
		}
	}
	isRevisit := func(i int32) bool { return a.captures[i].kind == revisit }
	b.byDate = slices.DeleteFunc(slices.Clone(a.order), isRevisit)
	b.byBody = slices.Clone(b.byDate)
	slices.SortStableFunc(b.byBody, func(x, y int32) int {
		return cmp.Or(cmp.Compare(a.captures[x].url, a.captures[y].url),
			cmp.Compare(a.marks[x].payload, a.marks[y].payload))
	})
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
	if ref.date != 0 {
		n := b.later(b.byDate, func(i int32) int { return b.compare(i, url, ref.date-1) })
		if n < len(b.byDate) && b.compare(b.byDate[n], url, ref.date) == 0 {
			return b.byDate[n]
		}
	}
	if ref.payload == 0 {
		n := b.later(b.byDate, func(i int32) int { return b.compare(i, url, date) })
		return b.ofURL(b.byDate, n-1, url)
	}
	best := int32(-1)
	for _, payload := range []uint64{0, ref.payload} {
		n := b.later(b.byBody, func(i int32) int {
			return cmp.Or(cmp.Compare(b.captures[i].url, url), cmp.Compare(b.marks[i].payload, payload),
				cmp.Compare(b.captures[i].date, date))
		})
		i := b.ofURL(b.byBody, n-1, url)
		if i < 0 || b.marks[i].payload != payload {
			continue
		}
		if best < 0 || cmp.Or(cmp.Compare(b.captures[i].date, b.captures[best].date), cmp.Compare(i, best)) > 0 {
			best = i
		}
	}
	return best
}

// compare holds a capture against a URL and a date.
func (b *bodyIndex) compare(i int32, url uint32, date int64) int {
	return cmp.Or(cmp.Compare(b.captures[i].url, url), cmp.Compare(b.captures[i].date, date))
}

// ofURL returns the capture at a place in a list; -1 when that is of another URL, or outside.
func (b *bodyIndex) ofURL(list []int32, place int, url uint32) int32 {
	if place < 0 || b.captures[list[place]].url != url {
		return -1
	}
	return list[place]
}

// later is how many of a list of captures are not after what they are compared with.
func (b *bodyIndex) later(list []int32, compare func(i int32) int) int {
	return sort.Search(len(list), func(n int) bool { return compare(list[n]) > 0 })
}
