// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"

	"mirrord/site"
	"mirrord/store"
)

// SameShape is the rule about a login or error page that a site answers everywhere with status 200: many
// pages whose title and links became the same in this run. A first run only warns.
func (rules) SameShape() rule { return rule{at: Settled, place: 30, judge: sameShape} }

const (
	shapeLeast = 3    // pages that must have taken the same shape
	shapeShare = 0.5  // of the pages of a known site
	firstPages = 20   // that a new site must have for a warning
	firstShare = 0.85 // of the pages of a new site
)

const (
	becameSame = "%d of %d pages have become the same page, such as %s: a login or error page?"
	firstSame  = "%d of %d pages have the same title, links and size, such as %s: " +
		"look whether that is a login or error page"
)

func sameShape(c *Case) (r Ruling, _ error) {
	if c.Accept {
		return r, nil
	}
	best, example, pages, err := c.commonShape()
	if (err != nil) || (best == 0) {
		return r, err
	}
	same, err := c.pagesOf(best)
	if err != nil {
		return r, err
	}
	n := len(same)
	if c.Live == nil { // no page can have become another one yet: a note, and the version is published
		if (pages >= firstPages) && (float64(n) >= firstShare*float64(pages)) {
			r.note(fmt.Sprintf(firstSame, n, pages, example), site.URL{})
		}
		return r, nil
	}
	if (n < shapeLeast) || (float64(n) < shapeShare*float64(pages)) {
		return r, nil
	}
	r.suspicious(becameSame, n, pages, example)
	r.Forget = same // as for soft 404
	return r, nil
}

// commonShape returns the shape that most pages took in this run, 0 when none did, one of them, and how many
// pages the run looked at.
func (c *Case) commonShape() (best uint32, example site.URL, pages int, err error) {
	shapes := map[uint32]int{}
	err = c.Records.Resources(func(rec *store.Resource) error {
		if !isPage(rec) {
			return nil
		}
		if (c.Live == nil) || (rec.Run == c.Run.Number) {
			pages++
		}
		if !newShape(rec, c.Run) {
			return nil
		}
		shapes[rec.Shape]++
		if (best == 0) || (shapes[rec.Shape] > shapes[best]) {
			best, example = rec.Shape, rec.URL
		}
		return nil
	})
	return best, example, pages, err
}

// pagesOf returns the pages that took a shape in this run and have about one size. Pages of one template may
// have the same title and links and differ all the same: then their sizes do.
func (c *Case) pagesOf(shape uint32) (same []uint32, err error) {
	var ids []uint32
	var sizes []int64
	err = c.Records.Resources(func(rec *store.Resource) error {
		if rec.InSet && (rec.Shape == shape) && newShape(rec, c.Run) {
			ids, sizes = append(ids, rec.ID), append(sizes, rec.Size)
		}
		return nil
	})
	if (err != nil) || (len(ids) == 0) {
		return nil, err
	}
	sorted := slices.Sorted(slices.Values(sizes))
	usual := sorted[len(sorted)/2]
	for i, id := range ids {
		if alike(sizes[i], usual) {
			same = append(same, id)
		}
	}
	return same, nil
}
