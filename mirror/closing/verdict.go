// SPDX-License-Identifier: Apache-2.0

package closing

import (
	"errors"
	"log/slog"
	"slices"

	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/session"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// Judge decides how retrieval ended, of which found is what it came to.
func (c *Closing) Judge(found session.Retrieved) (*judge.Judgement, error) {
	c.found = found
	j := &judge.Judgement{}
	if c.Options.NoFetch {
		return j, nil
	}
	known := c.newCase()
	known.Ended = found.Ended
	known.Left = judge.Unanswered(known.Ledger)
	known.Failed, known.Requests = c.Counts.Failed.Load(), c.Counts.Requests.Load()
	known.Silent = found.Silent
	known.Postponed = found.Postponed
	known.Why = c.Notes.Reason
	j.Left = known.Left
	_, err := c.judgeAt(judge.Retrieved, known, j)
	return j, err
}

// judgeSettled applies the rules to a run that is complete so far: what it found is in the records, and has
// mirror paths.
func (c *Closing) judgeSettled(j *judge.Judgement) error {
	known := c.newCase()
	known.Probes = c.found.Probes
	known.Sitemaps = c.Traits.Sitemaps()
	// What the origin has not given for longer does not count, or one page that it never gives again would
	// keep everything.
	_, known.Foreign = c.Provenance.FromReplicas(c.Now().Add(-hosts.TestedFor))
	var err error
	if known.Orphans, err = loadOrphans(c.Site.Notes, known.Ledger.Len(), c.Log); err != nil {
		return err
	}
	_, err = c.judgeAt(judge.Settled, known, j)
	return err
}

// newCase is what is known at every stage.
func (c *Closing) newCase() *judge.Case {
	return &judge.Case{
		Seeds:   c.Rules.Seeds,
		Limits:  c.Job.Limits,
		Accept:  c.Options.Accept,
		NoFetch: c.Options.NoFetch,
		Run:     c.Recording(),
		Live:    c.Live,
		Resumed: c.Resumed,
		Planned: c.Run.Planned,
		Ledger:  c.Table.Settled(),
		Records: c.Site.Records,
	}
}

// judgeAt applies the rules of a stage, adds what they conclude to a judgement and executes it. It returns
// the verdict of this stage alone.
func (c *Closing) judgeAt(
	at judge.Stage, known *judge.Case, j *judge.Judgement,
) (result.Verdict, error) {
	rulings, err := judge.Judge(at, known)
	if err != nil {
		return result.Complete, err
	}
	var here judge.Judgement
	here.Add(rulings...)
	j.Add(rulings...)
	return here.Verdict, c.carryOut(rulings)
}

// startOver makes the next run one that does not go on with this one, and requests everything.
func (c *Closing) startOver() error { return errors.Join(c.requestAllNext(), c.Site.Notes.SetRun(nil)) }

// carryOut does what follows from rulings. When it changes records, a Fold must follow.
func (c *Closing) carryOut(rulings []judge.Ruling) error {
	leaves, forget := map[uint32]bool{}, map[uint32]bool{}
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
			if err := saveOrphans(c.Site.Notes, x.Orphans); err != nil {
				return err
			}
		}
		for _, id := range x.Leave {
			leaves[id] = true
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
	err := c.amend(slices.Compact(amended), func(rec *store.Resource) {
		if forget[rec.ID] {
			rec.ETag, rec.LastModified = "", ""
		}
		if leaves[rec.ID] {
			c.Counts.Hold(ledger.Leave(rec, c.Version))
			rec.Reason = "nothing in the mirror links to it any more"
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

func loadOrphans(notes *store.SiteNotes, known uint32, log *slog.Logger) (judge.Orphans, error) {
	v, err := notes.Fact(orphansFact)
	if err != nil {
		return nil, err
	}
	o, err := judge.DecodeOrphans(v, known)
	if err != nil {
		log.Warn("the list of pages without links to them cannot be decoded; starting with an empty one",
			"err", err)
		return nil, nil
	}
	return o, nil
}

func saveOrphans(notes *store.SiteNotes, o judge.Orphans) error {
	v, err := o.Encode()
	if err != nil {
		return err
	}
	return notes.SetFact(orphansFact, v)
}
