// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"mirrord/site"
	"mirrord/store/record"
)

// SameShape is the rule about a login or error page that a site answers everywhere with status 200: many
// pages that came to say the same in this run. In a first run nothing can have become the same: the rule
// only warns.
func (rules) SameShape() rule { return rule{at: Settled, place: 30, judge: sameShape} }

const (
	shapeLeast = 3    // pages that must have become the same
	shapeShare = 0.5  // of the pages of a known site
	firstPages = 20   // that a new site must have for a warning
	firstShare = 0.85 // of the pages of a new site
)

const (
	becameSame = "%d of %d pages have become the same page, such as %s: a login or error page?"
	firstSame  = "%d of %d pages say the same, such as %s: look whether that is a login or error page"
)

func sameShape(c *Case) (r Ruling, _ error) {
	if c.Accept {
		return r, nil
	}
	pages, group, err := largestGroup(c)
	if err != nil {
		return r, err
	}
	if c.Live == nil {
		return r, firstSay(c, &r, pages, group)
	}
	if len(group) == 0 {
		return r, nil
	}
	same, err := becameOne(c, group, nil)
	if err != nil {
		return r, err
	}
	n := len(same)
	if isFew(c, n, pages) {
		return r, nil
	}
	r.suspicious(becameSame, n, pages, c.Table.URL(same[0]))
	r.Forget = same // as for soft 404
	r.Dropped = same
	return r, nil
}

// firstSay notes that most pages of a new site say the same: what a first run finds was never anything
// else, and is published.
func firstSay(c *Case, r *Ruling, pages int, group []*suspect) error {
	if len(group) == 0 {
		return nil
	}
	sample, err := read(c, group)
	if err != nil {
		return err
	}
	nows := make([]words, len(sample))
	for i, s := range sample {
		nows[i] = s.now
	}
	shared, n := common(nows), 0
	for _, s := range sample {
		if s.now.without(shared, addressWords(s.url)).isLittle() {
			n++
		}
	}
	if float64(n) >= firstShare*float64(len(sample)) {
		r.note(fmt.Sprintf(firstSame, len(group), pages, group[0].url), site.URL{})
	}
	return nil
}

// groupKey names pages that look alike: those of one shape, or those that say what one page says.
type groupKey struct {
	shape uint32
	like  uint32 // number of that page, plus one
}

// isFew reports whether so many pages of those that a run looked at mean nothing.
func isFew(c *Case, n, pages int) bool {
	if c.Live == nil {
		return (pages < firstPages) || (float64(n) < firstShare*float64(pages))
	}
	return (n < shapeLeast) || (float64(n) < shapeShare*float64(pages))
}

// largestGroup returns the pages that came to look alike in this run, of the group that has most, unless they
// are few, and how many pages the run looked at: published ones, if there are any.
func largestGroup(c *Case) (pages int, group []*suspect, err error) {
	var all []groupKey // 8 bytes for each page that changed
	err = changedPages(c, func(rec *record.Resource, keys []groupKey) {
		if (c.Live == nil) || (rec.Run == c.Run.Number) {
			pages++
		}
		all = append(all, keys...)
	})
	best, n := mostFrequent(all)
	if (err != nil) || isFew(c, n, pages) {
		return pages, nil, err
	}
	err = changedPages(c, func(rec *record.Resource, keys []groupKey) {
		if slices.Contains(keys, best) {
			group = append(group, suspectOf(rec))
		}
	})
	return pages, group, err
}

// mostFrequent sorts keys, and returns the one that is there most often, of equal ones the smallest.
func mostFrequent(keys []groupKey) (best groupKey, n int) {
	slices.SortFunc(keys, func(a, b groupKey) int {
		return cmp.Or(cmp.Compare(a.shape, b.shape), cmp.Compare(a.like, b.like))
	})
	first := 0
	for i, k := range keys {
		if k != keys[first] {
			first = i
		}
		if i-first+1 > n {
			best, n = k, i-first+1
		}
	}
	return best, n
}

// changedPages calls f with each page that can have become another one, and the groups that it came into.
func changedPages(c *Case, f func(rec *record.Resource, keys []groupKey)) error {
	return c.Records.Resources(func(rec *record.Resource) error {
		if isPage(rec) && !isNewPage(rec, c) {
			f(rec, keysOf(rec, c))
		}
		return nil
	})
}

// isNewPage reports whether a page is not in the published version, and so cannot have become another one.
func isNewPage(rec *record.Resource, c *Case) bool {
	return (c.Live != nil) && (rec.Moved >= c.Run.Version)
}

// keysOf returns the groups that a page came into in this run.
func keysOf(rec *record.Resource, c *Case) (keys []groupKey) {
	if !newShape(rec, c.Run) {
		return nil
	}
	keys = append(keys, groupKey{shape: rec.Shape})
	if rec.Like > 0 {
		keys = append(keys, groupKey{like: rec.Like})
	}
	return keys
}

func suspectOf(rec *record.Resource) *suspect {
	mine := *rec
	return &suspect{
		id:   rec.ID,
		url:  rec.URL,
		size: rec.Size,
		rec:  &mine,
	}
}
