// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"log/slog"
	"slices"

	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/mirror/render"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// judge decides how retrieval ended.
func (r *closing) judge() (*judge.Judgement, error) {
	j := &judge.Judgement{}
	if r.Options.NoFetch {
		return j, nil
	}
	c := r.newCase()
	c.Ended = r.found.ended
	c.Left = judge.Unanswered(c.Ledger)
	c.Failed, c.Requests = r.Counts.Failed.Load(), r.Counts.Requests.Load()
	c.Silent = r.found.silent
	c.Postponed = r.found.postponed
	c.Why = r.Notes.Reason
	j.Left = c.Left
	_, err := r.judgeAt(judge.Retrieved, c, j)
	return j, err
}

// judgeSettled applies the rules to a run that is complete so far: what it found is in the records, and has
// mirror paths.
func (r *closing) judgeSettled(j *judge.Judgement) error {
	c := r.newCase()
	c.Probes = r.found.probes
	c.Sitemaps = r.Traits.Sitemaps()
	// What the origin has not given for longer does not count, or one page that it never gives again would
	// keep everything.
	_, c.Foreign = r.Provenance.FromReplicas(r.Now().Add(-hosts.TestedFor))
	var err error
	if c.Orphans, err = loadOrphans(r.Site.Notes, c.Ledger.Len(), r.Log); err != nil {
		return err
	}
	_, err = r.judgeAt(judge.Settled, c, j)
	return err
}

// newCase is what is known at every stage.
func (r *closing) newCase() *judge.Case {
	return &judge.Case{
		Seeds:   r.Rules.Seeds,
		Limits:  r.Job.Limits,
		Accept:  r.Options.Accept,
		NoFetch: r.Options.NoFetch,
		Run:     r.Recording(),
		Live:    r.Live,
		Resumed: r.Resumed,
		Planned: r.Run.Planned,
		Ledger:  r.Table.Settled(),
		Records: r.Site.Records,
	}
}

// judgeAt applies the rules of a stage, adds what they conclude to a judgement and executes it. It returns
// the verdict of this stage alone.
func (r *closing) judgeAt(at judge.Stage, c *judge.Case, j *judge.Judgement) (Verdict, error) {
	rulings, err := judge.Judge(at, c)
	if err != nil {
		return Complete, err
	}
	var here judge.Judgement
	here.Add(rulings...)
	j.Add(rulings...)
	return here.Verdict, r.carryOut(rulings)
}

// startOver makes the next run one that does not go on with this one, and requests everything.
func (r *closing) startOver() error { return errors.Join(r.askAllNext(), r.Site.Notes.SetRun(nil)) }

// carryOut does what follows from rulings. When it changes records, a Fold must follow.
func (r *closing) carryOut(rulings []judge.Ruling) error {
	leaves, forget := map[uint32]bool{}, map[uint32]bool{}
	var amended []uint32
	for i := range rulings {
		x := &rulings[i]
		for _, n := range x.Notes {
			if n.URL == (site.URL{}) {
				r.Notes.Cap(n.What)
			} else {
				r.Notes.Add(n.What, n.URL)
			}
		}
		if x.Orphans != nil {
			if err := saveOrphans(r.Site.Notes, x.Orphans); err != nil {
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
	t := r.Table.Settled()
	err := r.amend(slices.Compact(amended), func(rec *store.Resource) {
		if forget[rec.ID] {
			rec.ETag, rec.LastModified = "", ""
		}
		if leaves[rec.ID] {
			r.Counts.Hold(ledger.Leave(rec, r.Version))
			rec.Reason = "nothing in the mirror links to it any more"
			t.Leave(rec.ID)
		}
	})
	if len(leaves) > 0 {
		r.shared = render.SharedURLs(t) // without the URLs that have just left
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
