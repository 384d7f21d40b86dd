// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"errors"
	"fmt"

	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/takedown"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// SiteRepairs reports the repairs of Site.
type SiteRepairs struct {
	Files  []string // of the published tree, that were made again
	Bodies []string // URLs of which a damaged stored body was replaced
	// of which there is no good copy here: the next run requests those that are Present
	Lost    []upkeep.LostBody
	Dropped bool  // lost bodies were taken out of their versions
	Tree    error // why the published tree cannot be made again; nil when it is whole
}

// heal replaces damaged bodies by copies of this site, and else by those that other sites have.
func heal(
	ctx context.Context, st *store.State, s *store.Site, noted []string,
) (h upkeep.BodyRepairs, err error) {
	copies := render.CopiesOf(s)
	want := map[[32]byte]bool{} // bodies of which this site has no good copy
	copies.More = func(r *record.Resource) []byte {
		want[r.Digest] = true
		return nil
	}
	h, err = s.Heal(ctx, noted, copies.Of)
	if err != nil || len(h.Lost) == 0 {
		return h, err
	}
	others, err := store.LookElsewhere(ctx, st, s.Name, want)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, others.Close()) }()
	copies.More = func(r *record.Resource) []byte { return others.Body(r.Digest) }
	more, err := s.Heal(ctx, noted, copies.Of)
	h.URLs, h.Lost = append(h.URLs, more.URLs...), more.Lost
	return h, err
}

// Site repairs what a check noted as damaged of a site that is open for writing. No run may be under way.
// With drop, bodies that are then lost are taken out of the versions that have them.
func Site(ctx context.Context, st *store.State, s *store.Site, drop bool) (m SiteRepairs, err error) {
	noted, err := s.Notes.Damaged()
	if err != nil {
		return m, err
	}
	h, err := heal(ctx, st, s, noted)
	if err != nil {
		return m, err
	}
	m.Bodies = h.URLs
	live, err := s.Versions.Last()
	if err != nil || live.Number == 0 {
		m.Lost = h.Lost
		return m, err
	}
	tree, err := publish.Mend(ctx, publish.MendingOf(st, s), &live)
	if err != nil {
		return m, err
	}
	m.Files, m.Tree = tree.Repaired, tree.Lost
	if noted, err = s.Notes.Damaged(); err != nil { // the tree may have shown others
		return m, err
	}
	if h, err = heal(ctx, st, s, noted); err != nil {
		return m, err
	}
	m.Bodies, m.Lost = append(m.Bodies, h.URLs...), h.Lost
	left := make([]string, len(h.Lost))
	for i := range h.Lost {
		left[i] = h.Lost[i].URL
	}
	if err := s.Notes.NoteDamaged(left); (err != nil) || !drop || len(left) == 0 {
		return m, err
	}
	if run, err := s.Notes.Run(); (run != nil) || (err != nil) {
		if err == nil {
			err = fmt.Errorf("a run of %s is unfinished: mirrord run-now %s ends it; then drop lost files", s.Name,
				s.Name)
		}
		return m, err
	}
	m.Dropped = true
	return m, takedown.DropLost(ctx, st, s, m.Lost)
}
