// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"mirrord/internal/count"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// isCut is the reason of a gap that a limit makes. How much of the site is behind the limit is unknown, so it
// is never one of few, and no run writes it off: only accept makes it known.
const isCut = "%s %s: what it links to is not all known"

// The marks of documents that are noted, see result.SaysNothing.
const (
	noText  = "pages that have no text of their own: their scripts make it, which may not work in a copy"
	noLinks = "answers for programs that lead nowhere: what they name in other ways is not in the mirror"
)

// noteMarks notes the documents of the mirror that have a mark.
func noteMarks(c *Case, r *Ruling) {
	for _, mark := range []struct {
		is   result.Cut
		says string
	}{
		{result.SaysNothing, noText},
		{result.LeadsNowhere, noLinks},
	} {
		var marked []site.URL
		for id, by := range c.Parts.Cuts {
			if s := c.Table.State(id); (by&mark.is != 0) && s.InSet() && !s.Requisite() && !s.Guessed() {
				marked = append(marked, c.Table.URL(id))
			}
		}
		slices.SortFunc(marked, byText)
		for _, u := range marked {
			r.note(mark.says, u)
		}
	}
}

func byText(a, b site.URL) int { return cmp.Compare(a.String(), b.String()) }

// cutsOf returns the documents of the mirror that limits cut short now, with what earlier runs knew of them.
// Pages whose links are not followed are gaps when they are entry points; others are noted.
func cutsOf(c *Case, r *Ruling) urls.Cuts {
	found := map[string]result.Cut{}
	sitemaps := setOf(c.Sitemaps)
	entries := entryPages(c)
	var kept []site.URL // other pages whose links are not followed
	for id, by := range c.Parts.Cuts {
		if s := c.Table.State(id); !s.InSet() && !sitemaps[id] {
			continue
		}
		u := c.Table.URL(id)
		if (by&result.CutNoFollow != 0) && !slices.Contains(entries, id) {
			kept, by = append(kept, u), by&^result.CutNoFollow
		}
		found[u.String()] |= by
	}
	for origin, by := range c.Parts.RobotsCuts {
		if by != 0 {
			found[urls.RobotsOf(origin)] |= by
		}
	}
	if len(kept) > 0 {
		slices.SortFunc(kept, byText)
		r.note(fmt.Sprintf("%s robots nofollow, such as %s: what only such pages link to is not in the mirror",
			count.Of(len(kept), "page tells", "pages tell"), kept[0]), site.URL{})
	}
	maps.Copy(found, c.Parts.CutBefore.Robots(c.Parts.RobotsCuts))
	return c.Parts.CutBefore.Next(found, c.Run.Number, c.Parts.Now, c.Accept)
}

// entryPages returns the pages to which the entry points lead.
func entryPages(c *Case) (ids []uint32) {
	for _, u := range c.Seeds {
		if id, ok := c.Table.FindURL(u); ok {
			final, _ := c.Table.Final(id)
			ids = append(ids, final)
		}
	}
	return ids
}

// addCuts adds the gaps that limits make to the report of all gaps. open says that some are not known, grew
// that one of these is new.
func addCuts(c *Case, r *Ruling, cuts urls.Cuts) (open, grew bool) {
	var list []result.Gap
	for i := range cuts {
		d := &cuts[i]
		limit := urls.LimitOf(d.By, &c.Limits)
		g := result.Gap{
			URL:   d.URL,
			URLs:  1,
			Since: time.Unix(d.Since, 0).UTC(),
			Runs:  d.Runs,
			Why:   limit.Why(),
			Limit: limit.Name,
			Value: limit.Value,
		}
		if d.Accepted {
			g.Known = result.Accepted
		} else {
			open, grew = true, grew || (d.Runs == 1)
		}
		list = append(list, g)
	}
	r.Gaps.AddFirst(list)
	return open, grew
}

// sayCuts adds verdict and reasons of the documents that are cut short and not known to be.
func sayCuts(c *Case, r *Ruling, cuts urls.Cuts) {
	for i := range cuts {
		if d := &cuts[i]; !d.Accepted {
			r.gaps(isCut, d.URL, urls.LimitOf(d.By, &c.Limits).Why())
		}
	}
}
