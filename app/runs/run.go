// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/spaces"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
)

// RunOptions are the choices of one run beyond its job.
type RunOptions struct {
	Accept   bool                  // publish what was held back, and make its gaps known
	Keep     bool                  // of Accept: keep what the site no longer has
	AsIs     bool                  // ask for nothing: only relocate and publish the stored bodies
	Again    bool                  // request only what answered 404 or 410 for the first time
	Progress func(status.Progress) // receives where the run stands; may be nil
	Turn     frontier.SharedTurn   // of the run among others of this process; nil: it has no turns
	Most     int64                 // bytes that the mirror may take for the sake of the others; 0: no limit
	Hosts    *fetch.Hosts          // the politeness of all runs of this process; nil is that of this run alone
	TreeWait time.Duration         // that publishing may wait for a tree whose grace is over
}

// RunSite makes one run of a job on an open site. Its error is the engine's: see Ended.
func RunSite(
	ctx context.Context, a *env.App, j *job.Job, st *store.State, s *store.Site, o RunOptions,
) (*mirror.Summary, error) {
	if o.Hosts == nil {
		o.Hosts = a.Politeness()
	}
	world := a.World(st.PublicNames)
	world.NoHeads = s.Volatile
	client, err := source.NewClient(j, world, a.Log)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, env.SetupError{Err: err})
	}
	defer client.Close()
	defer o.Hosts.Leave(j.Name)
	sum, err := mirror.Run(ctx, mirror.Options{
		Job:      j,
		State:    st,
		Site:     s,
		Fetcher:  client,
		Robots:   source.NewRobots(j, client, HostFacts(a, st)),
		Hosts:    o.Hosts,
		Log:      a.Log,
		Progress: o.Progress,
		Accept:   o.Accept,
		Keep:     o.Keep,
		Space:    spaces.SpaceOf(st, j),
		NoFetch:  o.AsIs,
		Again:    o.Again,
		Turn:     o.Turn,
		Now:      st.Now,
		TreeWait: o.TreeWait,

		MostState:   o.Most,
		MostStateOf: "its share of the room of all mirrors",
	})
	return sum, whereFull(st.Dir, err)
}

// whereFull adds to an error that says that a disk is full of which directory that is: the one of the file
// that the error names, else that of the state.
func whereFull(state string, err error) error {
	if !disk.IsFull(err) {
		return err
	}
	dir := state
	if at, named := errors.AsType[*fs.PathError](err); named && filepath.IsAbs(at.Path) {
		dir = filepath.Dir(at.Path)
	}
	return fmt.Errorf("the disk of %s is full: %w", dir, err)
}

// Run opens the site of a job in the state, makes one run and updates the job's symbolic link. The
// summary is nil when the run did not begin; it may come with an error, as Ended says.
func Run(ctx context.Context, a *env.App, j *job.Job, o RunOptions) (*mirror.Summary, error) {
	run := func(st *store.State, s *store.Site) (*mirror.Summary, error) {
		return RunSite(ctx, a, j, st, s, o)
	}
	return changed(ctx, a, j, !o.AsIs, a.MakeState, run)
}

// changed opens the site of a job for a change that may publish a version, with the hooks of the job, and
// updates its symbolic link after it. requests says that the change makes requests.
func changed(
	ctx context.Context, a *env.App, j *job.Job, requests bool, open func() (*store.State, error),
	change func(*store.State, *store.Site) (*mirror.Summary, error),
) (*mirror.Summary, error) {
	st, err := open()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if j.Space != "" || spaces.StateHasSpaces(st) {
		defer spaces.SyncSpaces(ctx, a, st, j.Name) // once the site is closed
	}
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	sum, err := jobs.WithHooks(ctx, a, j, s, requests, func() (*mirror.Summary, error) { return change(st, s) })
	return sum, Ended(ctx, sum, err)
}

// Ended gives the error that a run ended with its kind: Partial when it can be resumed, Suspicious when it
// waits to be accepted, Gaps when it was published with new gaps; nil when it was complete.
func Ended(ctx context.Context, sum *mirror.Summary, err error) error {
	var disk *disk.DiskError
	switch {
	case sum == nil:
		return err
	case sum.Verdict == mirror.Partial && (err == nil || ctx.Err() != nil || errors.As(err, &disk)):
		return &env.Error{Kind: env.Partial, Err: err}
	case err != nil:
		return err
	case sum.Verdict == mirror.Suspicious:
		return &env.Error{Kind: env.Suspicious}
	case sum.Verdict == mirror.Gaps:
		return &env.Error{Kind: env.Gaps}
	}
	return nil
}

// RunHere asks for a run of a job of the jobs directory in this process.
type RunHere struct {
	Job string
	control.RunRequest
	Window   func(opens time.Time) // is called when the run waits for its window; may be nil
	Progress func(status.Progress) // receives where the run stands; may be nil
}

// RunNow makes a run in this process, as Run does.
func RunNow(ctx context.Context, a *env.App, r RunHere) (*mirror.Summary, error) {
	j, err := a.FindJob(r.Job)
	if err != nil {
		return nil, err
	}
	if err := jobs.Apply(j, r.RunRequest); err != nil {
		return nil, err
	}
	if err := jobs.OnlyMirrored(a, j); err != nil {
		return nil, err
	}
	if opens, closed := windowOpens(j, a.Clock()); closed && r.Window != nil {
		r.Window(opens)
	}
	sum, err := Run(ctx, a, j, RunOptions{Progress: r.Progress})
	if again := LastingOfJob(j, j.Name, sum); again != nil {
		return sum, again
	}
	return sum, err
}

// WindowOpens is when the window of a job of the jobs directory opens that is closed now; closed is false too
// when the job cannot be read: its run says why.
func WindowOpens(a *env.App, name string, r control.RunRequest) (at time.Time, closed bool) {
	j, err := a.FindJob(name)
	if err != nil || jobs.Apply(j, r) != nil {
		return at, false
	}
	return windowOpens(j, a.Clock())
}

// windowOpens is when the window of a job opens that is closed now.
func windowOpens(j *job.Job, now time.Time) (at time.Time, closed bool) {
	w, err := job.ParseWindow(j.Window)
	zone, zerr := j.Location(time.Local)
	if err != nil || zerr != nil || len(w) == 0 || w.Open(now.In(zone)) {
		return at, false // the run reports the error
	}
	return w.Change(now.In(zone)), true
}

// Accept publishes what the last run of a job held back, and makes its gaps known, without a request. With
// keep, what the site no longer has stays. It is an error when nothing waits.
func Accept(
	ctx context.Context, a *env.App, name string, keep bool, progress func(status.Progress),
) (*mirror.Summary, error) {
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	keep, err = WaitsForAccept(st, j.Name, keep)
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, err
	}
	return Run(ctx, a, j, RunOptions{
		Accept:   true,
		Keep:     keep,
		AsIs:     true,
		Progress: progress,
	})
}

// WaitsForAccept returns an error unless the last run of the site was suspicious, held back a first version,
// found new gaps or keeps what the site no longer has. keeps says whether accepting it keeps such: when
// that is wanted, and when the run was published, so that only its gaps are accepted.
func WaitsForAccept(st *store.State, name string, keep bool) (keeps bool, err error) {
	runs, err := st.Shared.Runs(name, 1)
	if err != nil {
		return false, err
	}
	if len(runs) == 0 {
		return false, fmt.Errorf("accept %s: it has not run yet", name)
	}
	var sum mirror.Summary
	if err := json.Unmarshal(runs[0].Summary, &sum); err != nil {
		return false, fmt.Errorf("accept %s: report of the last run: %w", name, err)
	}
	if !sum.Acceptable() {
		return false, fmt.Errorf("accept %s: nothing is held for review; the last run was %s", name,
			runs[0].Verdict)
	}
	return keep || (sum.Verdict == mirror.Gaps), nil
}
