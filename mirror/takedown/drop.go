// SPDX-License-Identifier: Apache-2.0

package takedown

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/facts"
	"mirrord/store/upkeep"
)

// DropLost takes lost bodies out of the versions that have them: phm.json of each of them says so, links to
// it are absolute, and nothing else changes. They are forgotten in one step. The next run requests what the
// site still has of it. No run may be under way.
func DropLost(ctx context.Context, st *store.State, s *store.Site, lost []upkeep.LostBody) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("drop lost files of %s: %w", s.Name, err)
		}
	}()
	vs, err := s.Versions.List()
	if err != nil || len(lost) == 0 {
		return err
	}
	erasure := &facts.Erasure{Scripts: map[int][]byte{}, Lost: make([]facts.LostRecords, len(lost))}
	for i := range lost {
		erasure.Lost[i] = lost[i].Records
	}
	if len(vs) == 0 {
		return s.Versions.Erase(erasure)
	}
	live := &vs[len(vs)-1]
	e := eraser{st: st, s: s}
	if err := e.ready(ctx, live); err != nil {
		return err
	}
	r := remaking{erasure: erasure}
	for i := range vs {
		if err := r.lose(render.MaterialOf(st, s), s, vs[i].Number, lost); err != nil {
			return err
		}
		if i == len(vs)-1 {
			err = e.publish(ctx, *live, &r)
		} else {
			err = r.past(ctx, vs[i])
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(s.Trees.DropBeside(), store.DropDamaged(s), s.Notes.NoteDamaged(nil))
}

// lose marks lost bodies of a version as removed from it.
func (r *remaking) lose(m render.Material, s *store.Site, version int, lost []upkeep.LostBody) (err error) {
	gone := map[string]bool{}
	r.lost = nil
	for i := range lost {
		if slices.Contains(lost[i].Versions, version) {
			gone[lost[i].URL] = true
			r.lost = append(r.lost, phm.MissingURL{URL: lost[i].URL, Reason: render.LostReason})
		}
	}
	r.gone = func(url string) bool { return gone[url] }
	is := func(u site.URL) bool { return gone[u.String()] }
	r.without, err = render.NewWithout(m, is, s.Records.Every)
	return err
}
