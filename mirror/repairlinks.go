// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"

	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/phm"
	"mirrord/store"
)

// repairFact keeps repair.Applied of a site.
const repairFact = "repair"

// prepareRepairs chooses which links to other sites are repaired, and returns the documents in which that
// differs from the published version.
func (r *run) prepareRepairs(ctx context.Context) (others []uint32, err error) {
	v, err := r.site.Notes.Fact(repairFact)
	if err != nil {
		return nil, err
	}
	s := repair.Situation{
		Wanted:    r.job.Repair,
		Given:     r.o.repairs,
		Last:      repair.DecodeApplied(v),
		Find:      r.searchRepairs().Find,
		Published: r.publishedRepairs,
		Note:      r.notes.Cap,
		Own: func(u string) bool {
			_, own := r.table.Find([]byte(u))
			return own
		},
	}
	if r.live != nil {
		s.Live = r.live.Number
	}
	if r.cures, err = repair.Choose(ctx, s); err != nil {
		return nil, err
	}
	if r.cures.Reset {
		if err := r.noteRepairs(repair.Applied{}); err != nil {
			return nil, err
		}
	}
	if r.cures.Compare == nil {
		return nil, nil
	}
	t := r.table.Settled()
	dirty := func(id uint32) bool { return t.State(id).Dirty() }
	return r.renderer().OtherRepairs(ctx, r.site.Records.Resources, r.cures.Compare, dirty)
}

// searchRepairs is what a search for cures needs of this run.
func (r *run) searchRepairs() repair.Search {
	return repair.Search{
		Self:      r.site.Name,
		Sites:     r.o.State,
		Facts:     r.o.Facts,
		Meta:      func(name string) (*phm.Meta, error) { return render.PublishedMeta(r.o.State, name) },
		Covers:    r.rules.Scope.Covers,
		Published: r.publishedRepairs,
		Note:      r.notes.Cap,
		Now:       r.now(),
	}
}

func (r *run) publishedRepairs() (map[string][]render.RepairedLink, error) {
	return render.PublishedRepairs(r.site)
}

// repaired notes that the published version has the repaired links of this run.
func (r *run) repaired() error {
	if !r.cures.Record {
		return nil
	}
	v := repair.Applied{Hash: r.cures.Hash}
	if r.live != nil {
		v.Version = r.live.Number
	}
	if r.published != nil {
		v.Version = r.published.Number
	}
	return r.noteRepairs(v)
}

func (r *run) noteRepairs(a repair.Applied) error {
	v, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return r.site.Notes.SetFact(repairFact, v)
}

// repairsIn returns the repaired links of a kept version; nil when no version ever had any.
func repairsIn(st *store.State, s *store.Site, number int) (map[string]render.Cure, error) {
	if v, err := s.Notes.Fact(repairFact); v == nil || err != nil {
		return nil, err
	}
	p, err := render.OpenPast(st, s, number)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := map[string]render.Cure{}
	for i := range p.Files() {
		links, err := render.RepairsOf(&p.Files()[i])
		if err != nil {
			return nil, err
		}
		for _, l := range links {
			out[l.Was] = render.Cure{To: l.To, Why: l.Why}
		}
	}
	return out, nil
}
