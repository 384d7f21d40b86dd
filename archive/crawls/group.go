// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"cmp"
	"slices"
	"time"
)

// pause is how long a crawler does nothing between two crawls, in seconds.
const pause = 12 * 60 * 60

// span is a part of a crawl: answers of one warcinfo without a pause.
type span struct{ first, last int64 }

// group finds out which captures are of one crawl.
func (a *Recordings) group() {
	if a.ownVersions() {
		return
	}
	byDate := slices.Clone(a.order)
	slices.SortStableFunc(byDate, func(x, y int32) int {
		return cmp.Compare(a.captures[x].date, a.captures[y].date)
	})
	var spans []span
	now := map[int32]uint32{} // the number of the span of each info
	for _, i := range byDate {
		c := &a.captures[i]
		n, ok := now[c.info]
		if !ok || c.date-spans[n].last > pause {
			n = uint32(len(spans))
			now[c.info] = n
			spans = append(spans, span{first: c.date})
		}
		spans[n].last, c.crawl = c.date, n
	}
	slices.SortStableFunc(byDate, func(x, y int32) int {
		return cmp.Compare(a.captures[x].crawl, a.captures[y].crawl)
	})
	a.join(spans, byDate)
}

// join makes crawls of spans, which are in the order of their beginnings, as the captures are. The crawl of a
// capture is the number of its span before.
func (a *Recordings) join(spans []span, captures []int32) {
	in := make([]int32, a.Len()) // the last crawl of each URL, from 1
	for n, s := range spans {
		end := 0
		for end < len(captures) && a.captures[captures[end]].crawl == uint32(n) {
			end++
		}
		if k := len(a.Crawls); k == 0 || s.begins(a, captures[:end], in) {
			a.Crawls = append(a.Crawls, Crawl{First: time.Unix(s.first, 0).UTC()})
		}
		k := len(a.Crawls)
		for _, i := range captures[:end] {
			c := &a.captures[i]
			in[c.url], c.crawl = int32(k), uint32(k-1)
		}
		captures = captures[end:]
		c := &a.Crawls[k-1]
		c.Answers += end
		if last := time.Unix(s.last, 0).UTC(); last.After(c.Last) {
			c.Last = last
		}
	}
}

// begins reports whether a span that comes after a crawl begins another one. in has the last crawl of each
// URL, from 1; those of the span are marked there as seen.
func (s *span) begins(a *Recordings, captures, in []int32) bool {
	last := int32(len(a.Crawls))
	switch before := s.first - a.Crawls[last-1].Last.Unix(); {
	case before < 0: // two writers of one crawler
		return false
	case before > pause:
		return true
	}
	again, all := 0, 0
	for _, i := range captures {
		u := a.captures[i].url
		if in[u] == last {
			again++
		}
		if in[u] != -last {
			all++
		}
		in[u] = -last
	}
	return 2*again >= all
}

// ownVersions makes a crawl of each version when all captures are of archives that mirrord wrote.
func (a *Recordings) ownVersions() bool {
	numbers := map[int64]int{}
	for i := range a.captures {
		n := a.captures[i].info
		if n < 0 || len(a.infos[n].versions) == 0 {
			return false
		}
	}
	for i := range a.infos {
		vs := a.infos[i].versions
		slices.SortFunc(vs, func(x, y version) int { return cmp.Compare(x.date, y.date) })
		for _, v := range vs {
			numbers[v.date] = v.number
		}
	}
	for date, number := range numbers {
		at := time.Unix(date, 0).UTC()
		a.Crawls = append(a.Crawls, Crawl{First: at, Last: at, Version: number})
		a.windows = append(a.windows, date)
	}
	slices.SortFunc(a.Crawls, func(x, y Crawl) int { return x.Last.Compare(y.Last) })
	slices.Sort(a.windows)
	a.limits()
	for k := range a.Crawls {
		for u := range a.Len() {
			if i, _ := a.shown(uint32(k), uint32(u)); i >= 0 {
				a.Crawls[k].Answers++
			}
		}
	}
	return true
}

// limits finds between which dates the captures of a version are, and the newest body of a URL up to each.
func (a *Recordings) limits() {
	a.afters = make([]int64, len(a.windows))
	a.ends = slices.Clone(a.windows)
	for i := range a.afters {
		a.afters[i] = 1 << 62
	}
	for i := range a.infos {
		for _, v := range a.infos[i].versions {
			after, upTo, _ := a.infos[i].window(v.date)
			crawl, _ := slices.BinarySearch(a.windows, v.date)
			a.afters[crawl] = min(a.afters[crawl], after)
			a.ends[crawl] = max(a.ends[crawl], upTo)
		}
	}
	a.newest = make([]int64, len(a.captures))
	for url := range a.Len() {
		newest := int64(-1 << 62)
		for _, i := range a.of(uint32(url)) {
			c := &a.captures[i]
			if c.kind != revisit {
				newest = c.date
			}
			a.newest[i] = newest
		}
	}
}

// window returns the time of a version in an archive of mirrord: after one date, up to another. The newest
// one was looked at later, too. ok is false when the archive does not have the version.
func (in *info) window(date int64) (after, upTo int64, ok bool) {
	i, ok := slices.BinarySearchFunc(in.versions, date, func(v version, d int64) int {
		return cmp.Compare(v.date, d)
	})
	if !ok {
		return 0, 0, false
	}
	after, upTo = -1<<62, date
	if i > 0 {
		after = in.versions[i-1].date
	} else if in.since.date != 0 {
		after = in.since.date
	}
	if i == len(in.versions)-1 {
		upTo = 1 << 62
	}
	return after, upTo, true
}

// shown chooses the capture of a URL that a version of mirrord showed, and says when that was last looked at
// up to then; -1 for none. A body was shown from when it came to its last revisit.
func (a *Recordings) shown(crawl, url uint32) (best int32, asked int64) {
	best = -1
	all := a.of(url)
	from, _ := slices.BinarySearchFunc(all, a.afters[crawl], func(i int32, after int64) int {
		return cmp.Or(cmp.Compare(a.captures[i].date, after), -1)
	})
	last := int64(-1 << 62) // date of the newest body that a version can show
	if from > 0 {
		last = a.newest[all[from-1]]
	}
	for n, i := range all[from:] {
		c := &a.captures[i]
		if c.date > a.ends[crawl] {
			break
		}
		last = a.newest[i]
		after, upTo, ok := a.infos[c.info].window(a.windows[crawl])
		if !ok || c.date > upTo || c.body < 0 {
			continue
		}
		if c.kind != revisit && c.date > after {
			best, asked = i, a.lastAsked(all[from+n:], i, upTo)
		}
	}
	if best >= 0 {
		return best, asked
	}
	for _, i := range all[from:] { // what came before and was shown again later
		c := &a.captures[i]
		after, upTo, ok := a.infos[c.info].window(a.windows[crawl])
		if !ok || c.kind != revisit || c.body < 0 || c.date <= after {
			continue
		}
		d := &a.captures[c.body]
		ofBase := d.info != c.info && a.infos[c.info].since.date != 0
		if d.date <= upTo && d.url == url && (d.info == c.info || ofBase) {
			if best < 0 || d.date >= a.captures[best].date {
				best, asked = c.body, min(c.asked, upTo)
			}
			if d.date == last && asked == upTo {
				break
			}
		}
	}
	return best, asked
}

// lastAsked is when a body was last looked at up to a date; captures are those of its URL from it on.
func (a *Recordings) lastAsked(captures []int32, body int32, upTo int64) (asked int64) {
	for _, i := range captures {
		c := &a.captures[i]
		if c.date > upTo {
			break
		}
		if c.body == body {
			asked = max(asked, c.asked)
		}
	}
	return asked
}
