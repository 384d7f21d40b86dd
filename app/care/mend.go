// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"fmt"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/app/spaces"
	"mirrord/job"
	"mirrord/mirror/finish"
	"mirrord/mirror/report"
	"mirrord/mirror/takedown"
	"mirrord/phm/space"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/upkeep"
)

// Repaired is what Mend did, or DropLost.
type Repaired struct {
	Job      string            `json:"job"`
	Database bool              `json:"database"` // it was damaged, and was made again from its log
	Shared   bool              `json:"shared"`   // mirror.db was, and was made again from what the sites know
	Files    []string          `json:"files"`    // of the published tree, that were made again
	Bodies   []string          `json:"bodies"`   // URLs of which a damaged stored body was replaced
	Lost     []upkeep.LostBody `json:"lost"`     // of which there is no good copy here
	Dropped  bool              `json:"dropped"`  // lost files were taken out of their versions
	Spaces   []string          `json:"spaces"`   // in which its files were made again
	Tree     string            `json:"tree"`     // why the published tree cannot be made again; "" when it is whole
	After    *Verified         `json:"after"`    // what a check found when all this was done
}

// ErrNothingLeft says that a version has no page that is not lost.
var ErrNothingLeft = takedown.ErrNothingLeft

// Mend checks the mirror of a job and repairs, without a request, what can be made again from what else is
// stored: the database from its log, stored bodies from copies of them, the published tree from the stored
// bodies. With drop it then takes lost files out of the versions that have them.
func Mend(ctx context.Context, a *env.App, name string, drop bool) (out *Repaired, err error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	if err := runs.NotOfGet(a); err != nil {
		return nil, err
	}
	st, err := a.MustWriteState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	out = &Repaired{
		Job:    name,
		Files:  []string{},
		Bodies: []string{},
		Lost:   []upkeep.LostBody{},
		Spaces: []string{},
	}
	why, err := st.Unreadable(ctx, name)
	if err != nil {
		return nil, env.DidYouMean(st, name, err)
	}
	out.Database = why != nil
	if err := mendSite(ctx, st, out, why, drop); err != nil {
		return nil, err
	}
	if out.Shared, err = st.Shared.Mend(); err != nil {
		return nil, err
	}
	if err = st.Shared.Recall(name); err != nil {
		return nil, err
	}
	if out.Spaces, err = mendInSpaces(ctx, a, st, name); err != nil {
		return nil, err
	}
	if out.After, _, err = verifyView(ctx, st, name, verifyAll); err != nil {
		return nil, err
	}
	return out, errors.Join(out.After.addSpaces(a, name), out.After.addShared(st))
}

// mendInSpaces makes the files of a mirror again in the spaces in which something is wrong with them, and
// names these. When that does not suffice, because a link goes to a file of another mirror that is missing
// there, all damaged files of the space are made again.
func mendInSpaces(
	ctx context.Context, a *env.App, st *store.State, mirror string,
) (remade []string, err error) {
	names, err := space.Names(st.Dir)
	if err != nil {
		return nil, err
	}
	remade = []string{}
	for _, name := range names {
		found, err := space.Verify(st.Dir, name, mirror)
		if err == nil && len(found) > 0 {
			remade = append(remade, name)
			if _, err = spaces.UpdateSpace(ctx, a, st, name, nil, []string{mirror}); err == nil {
				found, err = space.Verify(st.Dir, name, mirror)
			}
			if err == nil && len(found) > 0 {
				err = spaces.MendSpace(ctx, a, st, name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("space %s: %w", name, err)
		}
	}
	return remade, nil
}

// mendSite does the work on the site, which is open for writing meanwhile. bad is why its database cannot be
// used, nil when it can.
func mendSite(ctx context.Context, st *store.State, out *Repaired, bad error, drop bool) (err error) {
	if bad != nil { // before it is opened, which sees less
		if err := store.Redo(st, out.Job, bad); errors.Is(err, disk.ErrDamaged) {
			return errors.Join(bad, err) // the first error says what to do
		} else if err != nil {
			return err
		}
	}
	s, err := st.OpenSite(out.Job)
	if err != nil {
		return err
	}
	defer env.Close(&err, s)
	if _, err := report.Verify(ctx, s, nil); err != nil { // which records damage
		return err
	}
	m, err := finish.Site(ctx, st, s, drop)
	if err != nil {
		return err
	}
	out.Files, out.Bodies = append(out.Files, m.Files...), append(out.Bodies, m.Bodies...)
	out.Lost = append(out.Lost, m.Lost...)
	if m.Tree != nil {
		out.Tree = m.Tree.Error()
	}
	out.Dropped = m.Dropped
	return nil
}

// WhatIsLost lists the damaged bodies of a mirror of which no check knows a copy, and changes nothing of it.
func WhatIsLost(ctx context.Context, a *env.App, name string) (lost []upkeep.LostBody, err error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	err = env.ViewState(a, name, func(_ *store.State, s *store.Site) error {
		lost, err = damagedBodies(ctx, s)
		return err
	})
	return lost, err
}

// damagedBodies reads all stored bodies, and says where the damaged ones belong.
func damagedBodies(ctx context.Context, s *store.Site) ([]upkeep.LostBody, error) {
	var urls []string
	_, err := s.Verify(ctx, func(p upkeep.Problem) { urls = appendBody(urls, p) })
	if err != nil {
		return nil, err
	}
	h, err := s.Heal(ctx, urls, nil)
	return h.Lost, err
}

// appendBody appends the URL of a problem that is a damaged body.
func appendBody(urls []string, p upkeep.Problem) []string {
	if p.Kind == upkeep.BadFrame || p.Kind == upkeep.BadBlob {
		return append(urls, p.Subject)
	}
	return urls
}

// SayLost says which versions need a body that is damaged.
func SayLost(l *upkeep.LostBody) string {
	text := ""
	for i, n := range l.Versions {
		switch {
		case i == 0 && len(l.Versions) == 1:
			text = fmt.Sprintf("in version %d", n)
		case i == 0:
			text = fmt.Sprintf("in versions %d", n)
		default:
			text += fmt.Sprintf(", %d", n)
		}
	}
	if text == "" {
		text = "in no kept version"
	}
	if l.Path == "" {
		return fmt.Sprintf("%s: %s", l.URL, text)
	}
	return fmt.Sprintf("%s (%s): %s", l.URL, l.Path, text)
}
