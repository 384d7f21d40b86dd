// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"fmt"
	"os"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/spaces"
	"mirrord/cluster/depot"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/phm/space"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/home"
)

// Removal is what goes when a job is removed.
type Removal struct {
	Job      string `json:"job"`
	File     string `json:"file,omitempty"`   // "" when there is no job file
	Mirror   string `json:"mirror,omitempty"` // directory, or its remains; "" when there is no mirror
	Versions int    `json:"versions,omitempty"`
	Files    int    `json:"files,omitempty"` // of the current version
	Bytes    int64  `json:"bytes,omitempty"`
	Link     string `json:"link,omitempty"` // publish.dir, when it points to the mirror

	// Kept are the files that stay in spaces, because pages of other mirrors link to them that could not be
	// made again. With Now each is replaced by a page that says that the mirror was removed.
	Kept int  `json:"kept,omitempty"`
	Now  bool `json:"now,omitempty"` // files that spaces keep are replaced by a notice

	// Depots: some depot had the mirror. The daemon of a node removes it from that of its cluster.
	Depots bool `json:"depots,omitempty"`
	Shared bool `json:"shared,omitempty"` // the file is one of those that a cluster shares
}

// Plan says line by line what goes.
func (r *Removal) Plan() (lines []string) {
	if r.File != "" {
		lines = append(lines, "the job file "+r.File)
	}
	switch {
	case r.Mirror != "" && r.Versions == 0:
		lines = append(lines, fmt.Sprintf("the mirror %s: no version", r.Mirror))
	case r.Mirror != "":
		lines = append(lines, fmt.Sprintf("the mirror %s: %s; the current one has %s, %s", r.Mirror,
			count.Of(r.Versions, "version"), count.Of(r.Files, "file"), result.Bytes(r.Bytes)))
	}
	if r.Kept > 0 {
		lines = append(lines, count.Of(r.Kept, "file")+" that its space keeps for pages of other mirrors")
	}
	if r.Link != "" {
		lines = append(lines, fmt.Sprintf("the link %s to it", r.Link))
	}
	return lines
}

// PlanRemoval returns what Remove would delete. It changes nothing. With now, what spaces keep of a mirror
// that was removed before can be removed too.
func PlanRemoval(a *env.App, name string, now bool) (*Removal, error) {
	d, err := a.JobOnDisk(name)
	if err != nil {
		if kept := keptOf(a, name); now && kept > 0 {
			return &Removal{Job: name, Kept: kept, Now: now}, nil
		}
		return nil, err
	}
	if to := scheduler.LinkedTo(d.File); to != "" {
		return nil, env.Usagef("remove %s: %s is a symbolic link to %s: take the link away, and remove the mirror "+
			"with the same command", d.Name, d.File, to)
	}
	if err := a.NotReused(d.Name); err != nil {
		return nil, err
	}
	r := &Removal{
		Job:    d.Name,
		File:   d.File,
		Mirror: d.Mirror,
		Link:   d.Link(),
		Now:    now,
		Depots: env.InDepots(d.Mirror),
		Shared: d.File != "" && env.JobsShared(a),
	}
	if d.Mirror == "" {
		r.Mirror = d.Half
		return r, nil
	}
	err = env.ViewState(a, d.Name, func(_ *store.State, s *store.Site) error {
		vs, err := s.Versions.List()
		if r.Versions = len(vs); len(vs) > 0 {
			r.Files, r.Bytes = vs[len(vs)-1].Files, vs[len(vs)-1].Bytes
		}
		return err
	})
	var damaged *db.DatabaseError
	if errors.Is(err, home.ErrNoSite) || errors.As(err, &damaged) {
		err = nil // it can be removed all the same
	}
	return r, err
}

// Remove deletes a job: its file, its mirror with all versions, the records of its runs, and the symbolic
// link to the mirror. It is an error during a run. Bodies that other mirrors may share stay until the next
// collection. The same request continues after an interruption. It sets Kept.
func Remove(ctx context.Context, a *env.App, r *Removal) (err error) {
	defer func() { r.Kept = keptOf(a, r.Job) }()
	if r.File == "" && r.Mirror == "" && r.Kept > 0 { // it was removed before
		return dropKept(ctx, a, r.Job)
	}
	d, err := a.JobOnDisk(r.Job)
	if err != nil {
		return err
	}
	c, err := a.NotRunning(ctx, d.Name)
	if err != nil {
		return err
	}
	st, held, err := a.Hold(d)
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
	if d.File != "" { // first, so that no run begins again
		if err := os.Remove(d.File); err != nil {
			return err
		}
	}
	if r.Now && st != nil { // from here on the mirror is no member of a space
		if err := space.Drop(st.Dir, d.Name, st.Now()); err != nil {
			return err
		}
	}
	err = jobs.Reloaded(ctx, c)
	if st != nil { // before the mirror, which shows that something is left to do
		err = errors.Join(err, st.Shared.DropRecords(d.Name))
	}
	if held != nil {
		err = errors.Join(err, depot.Removed(st, d.Name, ""), held.Remove())
		jobs.TellChanged(ctx, c, a) // its daemon removes it from the depot of a cluster
	}
	if st != nil && d.Half != "" {
		err = errors.Join(err, st.FinishRemovals())
	}
	if st != nil && spaces.StateHasSpaces(st) {
		err = errors.Join(err, spaces.UpdateSpaces(ctx, a, st, nil))
	}
	return err
}

// keptOf is how many files spaces keep of a mirror that was removed.
func keptOf(a *env.App, name string) (files int) {
	state, err := a.State()
	if err != nil || !job.ValidName(name) {
		return 0
	}
	kept, err := space.KeptOf(state, name)
	if err != nil {
		a.Log.Warn("what a space keeps of a mirror is not known", "job", name, "err", err)
	}
	for _, k := range kept {
		files += k.Files
	}
	return files
}

// dropKept replaces the files that spaces keep of a mirror removed before by notices.
func dropKept(ctx context.Context, a *env.App, name string) error {
	st, err := a.MustWriteState()
	if err != nil {
		return err
	}
	defer st.Close()
	if err := space.Drop(st.Dir, name, st.Now()); err != nil {
		return err
	}
	return spaces.UpdateSpaces(ctx, a, st, nil)
}
