// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"

	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
)

// Gaps is the rule about parts that the mirror should have and could not get. What they had stays, and the
// rest is published. The verdict is gaps as long as some of them are new trouble: neither accepted, nor
// written off after urls.LastingFailures runs, nor few. A first version of less than half of the known
// URLs waits.
func (rules) Gaps() rule { return rule{at: Folded, place: 20, judge: gaps} }

// fewFailures is how many URLs may fail on a site of any size, unless limits.max_failures is 0.
const fewFailures = 3

const (
	tooMany = "%s could not be had, more than limits.max_failures = %v"
	noHalf  = "only %d of %s could be had: less than half is no first version"
)

func gaps(c *Case) (r Ruling, _ error) {
	lacks, err := c.lacking()
	if err != nil {
		return r, err
	}
	c.markOrigins(lacks)
	c.inherit(lacks)
	if c.NoFetch && !c.Keep {
		r.Leave, r.Why = c.Parts.Before.Kept(), keptNoMore
	}
	now := &Missing{Run: c.Run.Number, URLs: map[uint32]Absence{}}
	for i := range lacks {
		l := &lacks[i]
		l.Accepted = l.Accepted || c.Accept
		if a, ok := c.Parts.Before.of(l.id); ok && c.Parts.Before.Untold && (a.Runs < urls.LastingFailures) {
			l.Runs = min(l.Runs, urls.LastingFailures-1) // nothing is written off that was never reported
		}
		now.URLs[l.id] = l.Absence
	}
	parts := partsOf(lacks)
	fresh, begun, entry := 0, 0, false // URLs that are new trouble, those of this run
	for _, p := range parts {
		if !p.isFresh() {
			continue
		}
		fresh += p.fresh
		begun += p.begun
		entry = entry || p.entry
	}
	requests := max(c.Requests, Requested(c.Table))
	failed := (fresh > 0) && (entry || !tolerates(c.Limits.MaxFailures, fresh, requests))
	r.Gaps = reportOf(parts, failed)
	noteMarks(c, &r)
	cuts := cutsOf(c, &r)
	isCut, newCut := addCuts(c, &r, cuts)
	now.Open = failed || isCut
	wasOpen := (c.Parts.Before != nil) && c.Parts.Before.Open
	untold := (c.Parts.Before != nil) && c.Parts.Before.Untold
	switch {
	case c.isUnfinished(): // the run says why, and new gaps are reported when it has ended
		now.Open, now.Untold = wasOpen, untold
	case now.Open:
		died := slices.ContainsFunc(parts, func(p *part) bool { return p.entry && (p.begun > 0) })
		many := !tolerates(c.Limits.MaxFailures, begun, requests)
		r.Gaps.Grew = !wasOpen || untold || died || many || newCut
		now.Untold = r.Gaps.Grew // until the end of the run
		c.sayGaps(&r, parts, fresh)
		sayCuts(c, &r, cuts)
	}
	if c.Parts.Closed { // only the run log has its report: the next run reports new gaps
		now.Open, now.Untold = wasOpen, untold
	}
	stays := (c.Parts.Before != nil) && (now.Open == wasOpen) && (now.Untold == untold)
	if (len(now.URLs) > 0) || !stays || (len(c.Parts.Before.URLs) > 0) {
		r.Missing = now
	}
	if !c.isUnfinished() && !c.Parts.Closed { // else the next run counts them
		r.Cuts = &cuts
	}
	return r, nil
}

// sayGaps adds verdict and reasons of gaps that are new trouble.
func (c *Case) sayGaps(r *Ruling, parts []*part, fresh int) {
	for _, p := range parts {
		if p.entry && p.isFresh() {
			r.gaps("the entry point %s: %s", p.gap.URL, p.gap.Why)
			fresh--
		}
	}
	if (fresh > 0) && !tolerates(c.Limits.MaxFailures, fresh, max(c.Requests, Requested(c.Table))) {
		r.gaps(tooMany, count.Of(fresh, "URL"), c.Limits.MaxFailures)
	}
	if (c.Live != nil) || (fresh <= fewFailures) {
		return
	}
	if had, known := c.firstVersion(parts); 2*had < known {
		r.partial(noHalf, had, count.Of(known, "known URL"))
		r.Gaps.Hold = true
	}
}

// tolerates reports whether a run of so many requests may lack so many URLs.
func tolerates(limit job.Share, n int, requests int64) bool {
	if (limit > 0) && (n <= fewFailures) {
		return true
	}
	return float64(n) <= float64(limit)*float64(requests)
}

// firstVersion counts the URLs in scope that a first version would have, and should. Origins that are no
// entry point's and gave nothing do not count: they may never have been there.
func (c *Case) firstVersion(parts []*part) (had, known int) {
	entries := map[string]bool{}
	for _, u := range c.Seeds {
		entries[u.Origin()] = true
		if id, ok := c.Table.FindURL(u); ok {
			final, _ := c.Table.Final(id)
			entries[c.Table.URL(final).Origin()] = true
		}
	}
	missing, silent := map[uint32]bool{}, map[uint32]bool{}
	for _, p := range parts {
		aside := p.silent && !entries[p.gap.Origin]
		for _, l := range p.of {
			if aside {
				silent[l.id] = true
			} else if !l.isKnown() {
				missing[l.id] = true
			}
		}
	}
	for id, s := range c.Table.All() {
		wanted := s.WasAsked() || s.Governed() || missing[id]
		if !s.Given() || !wanted || silent[id] || isNowhere(s) || !c.Parts.Covers(c.Table.URL(id)) {
			continue
		}
		known++
		if !missing[id] {
			had++
		}
	}
	return had, known
}

// part is one gap in the making.
type part struct {
	gap   result.Gap
	of    []*lack
	fresh int // URLs that are not known
	begun int // of these, those that failed for the first time
	kept  int // URLs that are kept
	entry bool

	silent bool // nothing of its origin could be had
}

// isFresh reports whether a part is new trouble. An origin that is known may come to have more URLs: as long
// as these are few beside the known ones it has not grown.
func (p *part) isFresh() bool {
	known := len(p.of) - p.fresh
	return (p.fresh > 0) && ((known == 0) || (p.fresh > max(fewFailures, known/2)))
}

// manyAlike is how many URLs of an origin that fail in the same way are named one by one.
const manyAlike = 5

// partsOf groups missing resources by part, in the order of the first URL of each: an origin of which nothing
// came, many URLs of an origin that failed in the same way, or a URL.
func partsOf(lacks []lack) (out []*part) {
	alike := map[partKey]int{}
	for i := range lacks {
		alike[keyOf(&lacks[i])]++
	}
	parts := map[partKey]*part{}
	for i := range lacks {
		l := &lacks[i]
		key := keyOf(l)
		single := l.entry || (!l.origin && (alike[key] <= manyAlike))
		p := parts[key]
		if single || (p == nil) {
			p = &part{gap: result.Gap{Since: since(l), Why: l.why}}
			if single {
				p.gap.URL = l.url.String()
			} else {
				p.gap.Origin, p.gap.Example = key.origin, l.url.String()
				p.silent = l.origin && !l.left
				parts[key] = p
			}
			out = append(out, p)
		}
		p.add(l)
	}
	return out
}

// partKey tells parts of several URLs apart.
type partKey struct {
	origin, why string
	entry       bool
}

func keyOf(l *lack) partKey {
	k := partKey{origin: l.url.Origin(), why: l.why, entry: l.entry}
	if l.origin {
		k.why = ""
	}
	return k
}

func (p *part) add(l *lack) {
	p.of = append(p.of, l)
	p.gap.URLs++
	if l.Kept {
		p.kept++
	}
	p.gap.Runs = max(p.gap.Runs, l.Runs)
	if at := since(l); at.Before(p.gap.Since) {
		p.gap.Since = at
	}
	p.entry = p.entry || l.entry
	p.silent = p.silent && !l.left
	switch {
	case l.isKnown():
		if p.gap.Known = result.WrittenOff; l.Accepted {
			p.gap.Known = result.Accepted
		}
	default:
		p.fresh++
		if l.Runs == 1 {
			p.begun++
		}
	}
}

// reportOf makes the report of all parts. open says that those that are fresh are more than is tolerated.
func reportOf(parts []*part, open bool) *result.GapReport {
	r := &result.GapReport{Count: len(parts)}
	for _, p := range parts {
		switch {
		case !p.isFresh():
			p.gap.Known = cmp.Or(p.gap.Known, result.Few)
		case open:
			p.gap.Known = ""
		default:
			p.gap.Known = result.Few
		}
		r.URLs += p.gap.URLs
		r.Kept += p.kept
		if p.gap.Known != "" {
			r.Known++
		}
		if (r.Since == nil) || p.gap.Since.Before(*r.Since) {
			at := p.gap.Since
			r.Since = &at
		}
		r.List = append(r.List, p.gap)
	}
	slices.SortStableFunc(r.List, func(a, b result.Gap) int {
		isKnown := func(g result.Gap) int { return min(len(g.Known), 1) }
		return cmp.Or(isKnown(a)-isKnown(b), b.URLs-a.URLs)
	})
	r.List = r.List[:min(len(r.List), result.MaxGaps)]
	return r
}
