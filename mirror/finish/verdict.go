// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"time"

	"mirrord/store/bodies"

	"mirrord/mirror/frontier"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/run"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// Judge decides how retrieval ended, of which found is what it came to.
func (c *Closing) Judge(found run.Retrieved) (*verdict.Judgement, error) {
	c.found = found
	j := &verdict.Judgement{}
	if c.Options.NoFetch {
		return j, nil
	}
	known := c.newCase()
	if err := c.addRetrieval(known); err != nil {
		return j, err
	}
	known.Silent = found.Silent
	j.Left = known.Left
	_, err := c.judgeAt(verdict.Retrieved, known, j)
	return j, err
}

// addRetrieval adds to a case how retrieval ended, and what was missing before it.
func (c *Closing) addRetrieval(known *verdict.Case) error {
	known.Ended = c.found.Ended
	known.Left = verdict.Unanswered(known.Table)
	known.Requests = c.Counts.Requests.Load()
	known.Postponed = c.found.Postponed
	if known.Parts.Closed = c.Expired; c.Expired {
		known.Left = verdict.NotReached(known.Table, c.Run.Planned)
	}
	var err error
	known.Parts.Before, err = c.Missing()
	return err
}

// judgeParts applies the rules about the parts of the site that could not be had. The records are those of
// the run. A run that only relocates, as one that restores an old version, found nothing out; accept makes
// the missing resources known.
func (c *Closing) judgeParts(j *verdict.Judgement) error {
	accepts := c.Options.Accept && (c.Options.Restores == 0)
	if c.Options.NoFetch && !accepts {
		return nil
	}
	known := c.newCase()
	err := c.addRetrieval(known)
	if err != nil {
		return err
	}
	known.Why = c.Notes.Reason
	known.Parts.Cuts, known.Parts.RobotsCuts = c.Traits.Cuts(), c.found.RobotsCuts
	if known.Parts.CutBefore, _, err = urls.ReadFact[urls.Cuts](c.Site.Notes, urls.CutsFact); err != nil {
		c.Log.Warn("the list of documents that are cut short cannot be read; starting with an empty one",
			"err", err)
	}
	known.Sitemaps = listed(c)
	known.Parts.Began, known.Parts.Now = time.Unix(c.Run.Started, 0), c.Now()
	known.Parts.Covers = c.Rules.Scope.Covers
	known.Parts.Refused = func(id uint32) bool { return c.Traits.Is(id, urls.IsRefused) }
	_, err = c.judgeAt(verdict.Folded, known, j)
	return err
}

// judgeSettled applies the rules to a run that will be published so far: what it found is in the records, and
// has mirror paths.
func (c *Closing) judgeSettled(j *verdict.Judgement) error {
	known := c.newCase()
	known.Probes, known.Traps = c.found.Probes, c.found.Traps
	known.Parts.Gaps = j.Verdict == result.Gaps
	var err error
	if known.Parts.Before, err = c.Missing(); err != nil {
		return err
	}
	texts := &pageTexts{site: c.Site, reader: bodies.NewFrameReader()}
	defer texts.close()
	known.Texts = texts
	// What the origin has not given for longer does not count, or one page that it never gives again would
	// keep everything.
	_, known.Foreign = c.Provenance.FromReplicas(c.Now().Add(-hosts.TestedFor))
	if err := learnLinks(c, known); err != nil {
		return err
	}
	if known.Lost.Noted, err = leavingOnAccept(c); err != nil {
		return err
	}
	_, err = c.judgeAt(verdict.Settled, known, j)
	return err
}

// learnLinks tells a case what lists URLs, and what nothing was seen to link to.
func learnLinks(c *Closing, known *verdict.Case) (err error) {
	known.Sitemaps = listed(c)
	known.Orphans, err = loadOrphans(c.Site.Notes, known.Table.Len(), c.Log)
	return err
}

// leavingOnAccept is what the run that is accepted noted as leaving; a version that comes back loses nothing.
func leavingOnAccept(c *Closing) (record.IDs, error) {
	if !c.Options.NoFetch || (c.Options.Restores != 0) {
		return nil, nil
	}
	ids, _, err := urls.ReadFact[record.IDs](c.Site.Notes, urls.LeavingFact)
	return ids, err
}

// judgeRejection decides whether a rollback holds back what the run found.
func judgeRejection(c *Closing, j *verdict.Judgement) (err error) {
	if !j.Verdict.Finished() || c.Options.Accept {
		return nil
	}
	known := c.newCase()
	known.Parts.Gaps = j.Verdict == result.Gaps
	if known.Parts.Rejection, err = rejectionFacts(c.Session); err != nil {
		return err
	}
	_, err = c.judgeAt(verdict.Compared, known, j)
	return err
}

// newCase returns the facts that every stage has.
func (c *Closing) newCase() *verdict.Case {
	trapped := func(u site.URL) bool {
		_, is := c.found.Traps[frontier.PatternOf(u)]
		return is
	}
	return &verdict.Case{
		Seeds:   c.Rules.Seeds,
		Limits:  c.Job.Limits,
		Accept:  c.Options.Accept,
		Keep:    c.Options.Keep,
		NoFetch: c.Options.NoFetch,
		Run:     c.Recording(),
		Live:    c.Live,
		Planned: c.Run.Planned,
		Table:   c.Table.Settled(),
		Records: c.Site.Records,
		Refuses: c.refuses,
		Lost:    verdict.LostFiles{Trapped: trapped},
	}
}

// listed are the sitemaps, and what was requested beside the entry points.
func listed(c *Closing) []uint32 {
	ids, t := c.Traits.Sitemaps(), c.Table.Settled()
	if c.Options.Also == nil {
		return ids
	}
	for u := range c.Options.Also {
		if id, ok := t.FindURL(c.Rules.Main(u)); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// refuses is verdict.Case.Refuses.
func (c *Closing) refuses(rec *record.Resource) bool {
	purpose := scope.Page
	if rec.Requis {
		purpose = scope.Requisite
	}
	if ok, _ := c.Rules.Allow(rec.URL, purpose); !ok {
		return true
	}
	_, refused := c.Rules.Types.Refuses(rec.MIME, rec.URL, rec.Requis)
	return refused && (rec.Status == 0)
}

// judgeAt applies the rules of a stage, adds what they conclude to a judgement and executes it. It returns
// the verdict of this stage alone.
func (c *Closing) judgeAt(
	at verdict.Stage, known *verdict.Case, j *verdict.Judgement,
) (result.Verdict, error) {
	rulings, err := verdict.Judge(at, known)
	if err = cmp.Or(err, c.Table.Err()); err != nil {
		return result.Complete, err
	}
	var here verdict.Judgement
	here.Add(rulings...)
	j.Add(rulings...)
	return here.Verdict, c.carryOut(rulings)
}

// KeepHeld notes that the run was held back, or that nothing is held back now. A partial run is neither.
// known is how many URLs it knew.
func (c *Closing) KeepHeld(j *verdict.Judgement, known int64) error {
	if j.Verdict == result.Partial {
		return nil
	}
	m, err := c.Missing()
	if err != nil {
		return err
	}
	if err := urls.KeepLeaving(c.Site.Notes, slices.Concat(j.Stay, m.Kept())); err != nil {
		return err
	}
	t := c.Table.Settled()
	var entries, dropped []string
	for _, u := range c.Rules.Seeds {
		entries = append(entries, u.String())
		if id, ok := t.FindURL(u); ok {
			if to, _ := t.Final(id); to != id {
				entries = append(entries, t.URL(to).String())
			}
		}
	}
	for _, id := range j.Dropped {
		dropped = append(dropped, t.URL(id).String())
	}
	return c.Session.KeepHeld(j, known, entries, dropped)
}

// GapsTold notes that the run ends with the verdict gaps, so that its message says which gaps are new. A run
// that turned suspicious leaves that to the next one.
func (c *Closing) GapsTold(j *verdict.Judgement) error {
	if (j.Verdict != result.Gaps) || !j.Gaps.Grew || c.Expired {
		return nil
	}
	m, err := c.Missing()
	if (err != nil) || (m == nil) || !m.Untold {
		return err
	}
	m.Untold = false
	return urls.KeepFact(c.Site.Notes, verdict.GapsFact, m.Encode)
}

// startOver makes the next run one that does not resume this one, and requests everything, unless this
// one is only suspicious and is accepted.
func (c *Closing) startOver(j *verdict.Judgement) error {
	why := revisit.FullAlways
	if j.Verdict == result.Suspicious && c.requestedAll(j) {
		why = revisit.FullDoubtful
	}
	return errors.Join(c.requestAllNext(why), c.Site.Notes.SetRun(nil))
}

// carryOut does what follows from rulings. When it changes records, a Fold must follow.
func (c *Closing) carryOut(rulings []verdict.Ruling) error {
	leaves, forget := map[uint32]string{}, map[uint32]bool{}
	var amended []uint32
	for i := range rulings {
		x := &rulings[i]
		for _, n := range x.Notes {
			if n.URL == (site.URL{}) {
				c.Notes.Cap(n.What)
			} else {
				c.Notes.Add(n.What, n.URL)
			}
		}
		if x.Orphans != nil {
			if err := urls.KeepFact(c.Site.Notes, orphansFact, x.Orphans.Encode); err != nil {
				return err
			}
		}
		if x.Released {
			if err := c.Site.Notes.SetFact(verdict.RejectedFact, nil); err != nil {
				return err
			}
		}
		if x.Cuts != nil {
			if err := urls.WriteFact(c.Site.Notes, urls.CutsFact, x.Cuts); err != nil {
				return err
			}
		}
		if x.Missing != nil {
			if err := urls.KeepFact(c.Site.Notes, verdict.GapsFact, x.Missing.Encode); err != nil {
				return err
			}
		}
		for _, id := range x.Leave {
			leaves[id] = cmp.Or(x.Why, urls.Unlinked)
		}
		for _, id := range x.Forget {
			forget[id] = true
		}
		amended = append(append(amended, x.Leave...), x.Forget...)
	}
	if len(amended) == 0 {
		return nil
	}
	slices.Sort(amended)
	t := c.Table.Settled()
	err := c.amend(slices.Compact(amended), func(rec *record.Resource) {
		if forget[rec.ID] {
			rec.ETag, rec.LastModified = "", ""
		}
		if why := leaves[rec.ID]; why != "" {
			c.Counts.Hold(urls.Leave(rec, c.Version))
			firstGone := (rec.Gone == 1) && (rec.Run == c.Run.Number) && (rec.Outcome == site.Failed)
			if firstGone { // it is not waited for
				c.Counts.ForgetFirstGone(&c.Notes, rec.URL)
			}
			rec.Reason = why
			t.Leave(rec.ID)
		}
	})
	if len(leaves) > 0 {
		c.shared = render.SharedURLs(t) // without the URLs that have just left
	}
	return err
}

// orphansFact keeps the orphans of a site.
const orphansFact = "orphans"

func loadOrphans(notes *store.SiteNotes, known uint32, log *slog.Logger) (verdict.Orphans, error) {
	v, err := notes.Fact(orphansFact)
	if err != nil {
		return nil, err
	}
	o, err := verdict.DecodeOrphans(v, known)
	if err != nil {
		log.Warn("the list of pages without links to them cannot be decoded; starting with an empty one",
			"err", err)
		return nil, nil
	}
	return o, nil
}
