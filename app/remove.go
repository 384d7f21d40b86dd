// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"os"

	"mirrord/store"
)

// Removal is what goes when a job is removed.
type Removal struct {
	Job      string `json:"job"`
	File     string `json:"file,omitempty"`   // "" when there is no job file
	Mirror   string `json:"mirror,omitempty"` // directory, or what is left of it; "" when there is no mirror
	Versions int    `json:"versions,omitempty"`
	Files    int    `json:"files,omitempty"` // of the current version
	Bytes    int64  `json:"bytes,omitempty"`
	Link     string `json:"link,omitempty"` // publish.dir, when it leads to the mirror
}

// PlanRemoval returns what Remove would delete. It changes nothing.
func PlanRemoval(a *App, name string) (*Removal, error) {
	d, err := a.jobOnDisk(name)
	if err != nil {
		return nil, err
	}
	if err := a.notReused(d.name); err != nil {
		return nil, err
	}
	r := &Removal{
		Job:    d.name,
		File:   d.file,
		Mirror: d.mirror,
		Link:   d.link(),
	}
	if d.mirror == "" {
		r.Mirror = d.half
		return r, nil
	}
	err = viewState(a, d.name, func(_ *store.State, s *store.Site) error {
		vs, err := s.Versions.List()
		if r.Versions = len(vs); len(vs) > 0 {
			r.Files, r.Bytes = vs[len(vs)-1].Files, vs[len(vs)-1].Bytes
		}
		return err
	})
	var damaged *store.DatabaseError
	if errors.Is(err, store.ErrNoSite) || errors.As(err, &damaged) {
		err = nil // it can be removed all the same
	}
	return r, err
}

// Remove deletes a job: its file, its mirror with all versions, what is noted of its runs, and the symbolic
// link that leads to the mirror. It is an error while a run goes on. Bodies that other mirrors may share stay
// until the next collection. The same request goes on after an interruption.
func Remove(ctx context.Context, a *App, r *Removal) error {
	d, err := a.jobOnDisk(r.Job)
	if err != nil {
		return err
	}
	c, err := a.notRunning(ctx, d.name)
	if err != nil {
		return err
	}
	st, held, err := a.hold(d)
	if err != nil {
		return err
	}
	if st != nil {
		defer st.Close()
	}
	if held != nil {
		defer held.Close()
	}
	if r.Link != "" {
		if err := os.Remove(r.Link); err != nil {
			return err
		}
	}
	if d.file != "" { // first, so that no run begins again
		if err := os.Remove(d.file); err != nil {
			return err
		}
	}
	err = reloaded(ctx, c)
	if st != nil { // before the mirror, which shows that something is left to do
		err = errors.Join(err, store.DropRecords(st, d.name))
	}
	if held != nil {
		err = errors.Join(err, held.Remove())
	}
	if st != nil && d.half != "" {
		err = errors.Join(err, store.FinishRemovals(st))
	}
	if st != nil && hasSpaces(st) {
		err = errors.Join(err, updateSpaces(ctx, a, st, nil))
	}
	return err
}
