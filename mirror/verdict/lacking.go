// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// lack is a URL that the mirror should have and could not get.
type lack struct {
	Absence
	id     uint32
	url    site.URL
	why    string
	entry  bool // an entry point
	left   bool // the run did not get to it
	loose  bool // the site gives it, and only counts as missing while nothing links to it
	origin bool // nothing of its origin could be had: it is one part with the others of that origin
}

// isKnown reports whether it is no new trouble by itself.
func (l *lack) isKnown() bool { return l.Accepted || (l.Runs >= urls.LastingFailures) }

// Why URLs are missing, or leave, without a request that says so.
const (
	notRequested = "not requested"
	keptLoose    = "kept although the site no longer links to it"
	keptNoMore   = "the site no longer has it, and it is no longer kept"
)

// lacking returns the missing resources, in the order of the numbers. Dead links of the site, what the site
// refuses to give, sitemaps, and addresses that were only guessed are not missing.
func (c *Case) lacking() ([]lack, error) {
	if c.NoFetch {
		return c.acceptedNow()
	}
	unfinished := c.isUnfinished()
	entries := map[uint32]string{}
	dead, parts, err := c.entries()
	if err != nil {
		return nil, err
	}
	if parts {
		for _, d := range dead {
			entries[d.id] = d.became
		}
		for _, u := range c.Seeds {
			if id, ok := c.Table.FindURL(u); ok && !unfinished && c.isLeft(c.Table.State(id)) {
				entries[id] = cmp.Or(c.postponement(u), notRequested)
			}
		}
	}
	sitemaps := setOf(c.Sitemaps)
	var out []lack
	old := false // some may no longer be linked to
	for id, s := range c.Table.All() {
		became, entry := entries[id]
		left := !unfinished && c.isLeft(s)
		a, before := c.Parts.Before.of(id)
		kept := before && unfinished && !s.Answered()
		loose := a.Kept && s.InSet() && (s.Outcome() != site.Failed)
		counts := entry || left || kept || loose || (s.Outcome() == site.Failed)
		guess := s.Guessed() && !s.InSet()
		if !s.Given() || !counts || guess || sitemaps[id] {
			continue
		}
		l, ok, err := c.lackOf(id, s, left)
		if err != nil {
			return nil, err
		}
		if !ok && !entry {
			continue
		}
		if entry {
			l.entry, l.why = true, became
		}
		if l.loose = loose; loose {
			l.why = keptLoose
		}
		old = old || loose || ((before || c.Live != nil) && !s.Governed())
		out = append(out, l)
	}
	if !old {
		return out, nil
	}
	reached, err := urls.Reach(c.Table, c.links(), c.roots())
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(out, func(l lack) bool {
		linked := reached.Has(l.id)
		if l.entry || l.loose {
			return l.loose && linked
		}
		return !linked && !c.Table.State(l.id).Governed()
	}), nil
}

// isLeft reports whether the run should have requested a URL and did not get to it.
func (c *Case) isLeft(s urls.State) bool {
	if c.Parts.Closed {
		return isNotReached(s, c.Planned)
	}
	return s.Queued() && !s.Answered()
}

// isUnfinished reports whether more can be had, so that the rest is not missing.
func (c *Case) isUnfinished() bool { return (c.Ended != nil) || c.waits() }

// lackOf returns the missing resource with a URL that failed or is left; ok is false when that is nothing.
func (c *Case) lackOf(id uint32, s urls.State, left bool) (l lack, ok bool, err error) {
	l = lack{id: id, url: c.Table.URL(id), left: left}
	rec, known, err := c.Records.Get(l.url)
	if err != nil {
		return l, false, err
	}
	l.why = strings.TrimPrefix(rec.Reason, "fetch "+l.url.String()+": ")
	if left {
		l.why = cmp.Or(c.postponement(l.url), notRequested)
	}
	now := c.Parts.Now.Unix()
	before, was := c.Parts.Before.of(id)
	l.Absence = before
	looked := s.Answered() || left || c.Parts.Closed
	switch {
	case !was && (c.Parts.Before == nil) && known && !left: // an older version counted, and kept no list
		l.Since, l.Runs = now, max(1, rec.Failures)
	case !was:
		l.Since, l.Runs = now, 1
	case looked && (c.Parts.Before.Run != c.Run.Number):
		l.Runs++
	}
	if !was && (rec.Checked >= c.Parts.Began.Unix()) {
		l.Since = min(rec.Checked, now)
	}
	doubtful := urls.IsGone(&rec) && (rec.Gone > 0) // a first 404, which a second look is to confirm
	return l, left || !known || (s.InSet() && !doubtful) || !c.refuses(&rec), nil
}

// refuses reports whether a URL is not to be had, by the will of the site or of the job: another request will
// not help.
func (c *Case) refuses(rec *record.Resource) bool {
	final := (rec.Status >= 300) && (rec.Status < 500) && !fetch.TransientStatus(rec.Status)
	forbidden := strings.Contains(rec.Reason, fetch.ErrForbiddenAddress.Error()) // ours: polite.allow_private
	return final || forbidden || c.Parts.Refused(rec.ID)
}

// acceptedNow returns what an earlier run found missing: nothing was looked at since.
func (c *Case) acceptedNow() (out []lack, err error) {
	if c.Parts.Before == nil {
		return nil, nil
	}
	for id, a := range c.Parts.Before.URLs {
		if a.Kept && !c.Keep {
			continue // it leaves
		}
		l := lack{
			Absence: a,
			id:      id,
			url:     c.Table.URL(id),
			why:     notRequested,
		}
		if a.Kept {
			l.why = keptLoose
		}
		rec, ok, err := c.Records.Get(l.url)
		if err != nil {
			return nil, err
		}
		if ok && (rec.Reason != "") {
			l.why = strings.TrimPrefix(rec.Reason, "fetch "+l.url.String()+": ")
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b lack) int { return cmp.Compare(a.id, b.id) })
	return out, nil
}

// markOrigins notes of which origins nothing could be had in the run.
func (c *Case) markOrigins(lacks []lack) {
	gave := map[string]bool{}
	for i := range lacks {
		gave[lacks[i].url.Origin()] = false
	}
	if len(gave) == 0 {
		return
	}
	for id, s := range c.Table.All() {
		looked := s.Answered() || c.NoFetch
		if !s.Given() || !looked || !isAnswer(s.Outcome()) {
			continue
		}
		if origin := c.Table.URL(id).Origin(); !gave[origin] {
			if _, asked := gave[origin]; asked {
				gave[origin] = true
			}
		}
	}
	for i := range lacks {
		l := &lacks[i]
		l.origin = !l.entry && (l.left || !gave[l.url.Origin()])
	}
}

// isAnswer reports whether an outcome says that the origin is there.
func isAnswer(o site.Outcome) bool {
	switch o {
	case site.Fetched, site.Unchanged, site.Redirected, site.Gone:
		return true
	}
	return false
}

// since is a time of a lack.
func since(l *lack) time.Time { return time.Unix(l.Since, 0).UTC() }

// inherit lets the URLs of an origin that gave nothing take over since when, and for how many runs, others of
// that origin are missing: its trouble is one, whichever of its URLs the site links to now. When many more
// than before are missing, it has grown, and they are new.
func (c *Case) inherit(lacks []lack) {
	if c.Parts.Before == nil {
		return
	}
	type trouble struct {
		Absence
		before, now int // URLs
	}
	of := map[string]*trouble{}
	for i := range lacks {
		if l := &lacks[i]; l.origin && !l.left {
			origin := l.url.Origin()
			if of[origin] == nil {
				of[origin] = &trouble{Absence: Absence{Accepted: true}}
			}
			of[origin].now++
		}
	}
	for id, a := range c.Parts.Before.URLs {
		t := of[c.Table.URL(id).Origin()]
		if t == nil {
			continue
		}
		if (t.before == 0) || (a.Since < t.Since) {
			t.Since = a.Since
		}
		t.Runs, t.Accepted = max(t.Runs, a.Runs), t.Accepted && a.Accepted
		t.before++
	}
	for i := range lacks {
		l := &lacks[i]
		t := of[l.url.Origin()]
		_, was := c.Parts.Before.of(l.id)
		if was || !l.origin || l.left || (t.before == 0) || (t.now-t.before > max(fewFailures, t.before/2)) {
			continue
		}
		l.Absence = t.Absence
		if c.Parts.Before.Run != c.Run.Number {
			l.Runs++
		}
	}
}
