// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/jobs"
	"mirrord/app/spaces"
	"mirrord/cluster/depot"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/store"
	"mirrord/store/home"
)

// Renamed is what Rename did.
type Renamed struct {
	Job    string `json:"job"` // its new name
	Was    string `json:"was"`
	File   string `json:"file,omitempty"`   // "" when there is no job file
	Mirror string `json:"mirror,omitempty"` // directory; "" when there is no mirror
	// Depots: some depot had the mirror under its old name. The daemon of a node removes it from that of its
	// cluster, once the mirror is there under its new name.
	Depots bool `json:"depots,omitempty"`
	Shared bool `json:"shared,omitempty"` // the file was changed here, and is one of those that a cluster shares
}

// Rename gives a job another name: its file, its mirror, and the records of its runs. It is an error during
// a run, and when the new name is taken. From the first change to the last the job file has a name that no
// daemon reads, so that no run begins; the same request continues after an interruption.
func Rename(ctx context.Context, a *env.App, from, to string) (*Renamed, error) {
	r, err := newRenaming(a, from, to)
	if err != nil {
		return nil, err
	}
	c, err := a.NotRunning(ctx, r.from)
	if err != nil {
		return nil, err
	}
	st, held, err := a.Hold(&env.JobOnDisk{Name: r.from})
	if err != nil {
		return nil, err
	}
	if st != nil {
		defer st.Close()
	}
	if held != nil {
		defer held.Close()
	}
	out, err := r.make(ctx, c, st, held)
	if out != nil {
		out.Shared = out.File != "" && env.JobsShared(a)
	}
	if (err == nil) && (st != nil) && spaces.StateHasSpaces(st) {
		if held != nil {
			err = held.Close() // its space reads it under the new name
		}
		err = errors.Join(err, spaces.UpdateSpaces(ctx, a, st, nil))
	}
	return out, err
}

// renaming is a job with its old and its new name.
type renaming struct {
	from, to         string
	fromFile, toFile string
	aside            string // where the job file is meanwhile, for Dir.Read
	state            string
}

// newRenaming checks that a job can be renamed, or that this was begun and interrupted.
func newRenaming(a *env.App, from, to string) (*renaming, error) {
	r := &renaming{
		from: strings.TrimSuffix(from, scheduler.Suffix),
		to:   strings.TrimSuffix(to, scheduler.Suffix),
	}
	for _, name := range []string{r.from, r.to} {
		if !job.ValidName(name) {
			return nil, env.NotAName(name)
		}
	}
	if r.from == r.to {
		return nil, env.Usagef("%s is the name of the job already", r.to)
	}
	var err error
	if r.state, err = a.State(); err != nil {
		return nil, err
	}
	if r.state, err = filepath.Abs(r.state); err != nil {
		return nil, err
	}
	r.fromFile = a.JobFile(r.from)
	aside := (&scheduler.Renaming{From: r.from, To: r.to}).AsideName()
	for _, dir := range a.JobDirs() {
		if env.Exists(filepath.Join(dir, aside)) {
			r.fromFile = filepath.Join(dir, r.from+scheduler.Suffix)
		}
	}
	dir := filepath.Dir(r.fromFile)
	r.toFile, r.aside = filepath.Join(dir, r.to+scheduler.Suffix), filepath.Join(dir, aside)
	if env.Exists(r.aside) {
		return r, nil
	}
	if _, err := a.JobOnDisk(r.from); err != nil {
		return nil, err
	}
	if to := scheduler.LinkedTo(r.fromFile); to != "" {
		return nil, env.Usagef(
			"rename %s: %s is a symbolic link to %s: take the link away, rename the mirror with "+
				"the same command, and make a link %s", r.from, r.fromFile, to, r.toFile)
	}
	switch {
	case env.Exists(a.JobFile(r.to)):
		return nil, fmt.Errorf("rename %s: there is a job %s already, from %s", r.from, r.to, a.JobFile(r.to))
	case env.Exists(r.site(r.to)):
		if _, err := os.Lstat(r.site(r.to)); errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		return nil, fmt.Errorf("rename %s: there is a mirror of %s already", r.from, r.to)
	}
	return r, a.NotReused(r.from)
}

func (r *renaming) site(name string) string { return filepath.Join(r.state, "sites", name) }

// make renames. st is nil without a state, held without a mirror under the old name, c without a daemon. What
// is noted of the old name is dropped last but one, so that an interruption before loses nothing; without a
// job file nothing would tell that it is left, and it is dropped before the mirror has the new name.
func (r *renaming) make(
	ctx context.Context, c *control.Client, st *store.State, held *home.HeldSite,
) (*Renamed, error) {
	if st != nil && !r.placed() { // otherwise runs may have been noted of the new name
		if err := st.Shared.CopyRecords(r.from, r.to); err != nil {
			return nil, err
		}
	}
	if env.Exists(r.fromFile) && !env.Exists(r.aside) {
		if err := os.Rename(r.fromFile, r.aside); err != nil {
			return nil, err
		}
	}
	file := env.Exists(r.aside)
	if !file {
		if err := r.drop(st); err != nil {
			return nil, err
		}
	}
	out := &Renamed{Job: r.to, Was: r.from}
	if held != nil {
		out.Depots = env.InDepots(r.site(r.from))
		if err := depot.Renamed(st, r.from, r.to); err != nil {
			return nil, err
		}
		if err := held.Rename(r.to); err != nil {
			return nil, err
		}
	}
	if env.Exists(r.site(r.to)) {
		out.Mirror = r.site(r.to)
	}
	if !file {
		return out, jobs.Reloaded(ctx, c)
	}
	linked := r.relink()
	if err := r.place(); err != nil {
		return nil, errors.Join(err, linked)
	}
	if err := r.drop(st); err != nil {
		return nil, err
	}
	if err := os.Remove(r.aside); err != nil {
		return nil, err
	}
	out.File = r.toFile
	if linked != nil {
		linked = fmt.Errorf("%s is now %s; its next run makes the link of publish.dir: %w", r.from, r.to, linked)
	}
	return out, errors.Join(linked, jobs.Reloaded(ctx, c))
}

// drop removes the records of the old name.
func (r *renaming) drop(st *store.State) error {
	if st == nil {
		return nil
	}
	return st.Shared.DropRecords(r.from)
}

// placed reports whether the job file has its new name beside the one that it has meanwhile.
func (r *renaming) placed() bool {
	made, err := os.Lstat(r.toFile)
	ours, oerr := os.Lstat(r.aside)
	return (err == nil) && (oerr == nil) && os.SameFile(made, ours)
}

// place gives the job file its new name. A file of that name that was made meanwhile is not replaced.
func (r *renaming) place() error {
	err := os.Link(r.aside, r.toFile)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if r.placed() {
		return nil // an interrupted request has linked it
	}
	return fmt.Errorf("rename %s: %s was made meanwhile; move it away and rename again", r.from, r.toFile)
}

// relink lets the symbolic link of publish.dir lead to the mirror under its new name.
func (r *renaming) relink() error {
	text, err := regular.ReadSmall(r.aside)
	if err != nil {
		return err
	}
	j, err := job.Parse(r.to, r.toFile, text)
	if err != nil || j.Publish.Dir == "" {
		return nil // a refused file has no link
	}
	if to, err := os.Readlink(j.Publish.Dir); err != nil || to != filepath.Join(r.site(r.from), "current") {
		return nil
	}
	return files.ReplaceLink(filepath.Join(r.site(r.to), "current"), j.Publish.Dir)
}
