package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/google/renameio/v2"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

// engineOptions are the choices of one run beyond its job.
type engineOptions struct {
	accept bool             // publish what was held back as suspicious
	asIs   bool             // ask for nothing: only relocate and publish what is stored
	quiet  bool             // no progress line
	now    func() time.Time // default time.Now

	// Of a daemon's run; otherwise nil.
	hosts    *fetch.Hosts // the politeness of all runs
	progress func(mirror.Progress)
	log      *slog.Logger
}

// lookWait is how long a run waits for its site: serve and status look into the database for a moment, only another run holds it longer.
const lookWait = 2 * time.Second

// runSite makes one run of a job on an open site.
func (a *app) runSite(ctx context.Context, j *job.Job, st *store.State, s *store.Site, o engineOptions) (*mirror.Summary, error) {
	if o.log == nil {
		o.log = a.log()
	}
	if o.hosts == nil {
		o.hosts = new(fetch.Hosts)
	}
	client, err := mirror.NewClient(j, mirror.World{LookupEnv: a.lookupEnv, ReadFile: os.ReadFile}, o.log)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	defer client.Close()
	if o.progress == nil {
		progress := newProgress(a.stderr, a.terminal && !a.json && !o.quiet)
		defer progress.clear()
		o.progress = progress.update()
	}
	return mirror.Run(ctx, mirror.Options{
		Job: j, State: st, Site: s, Fetcher: client, Robots: mirror.NewRobots(j, client, mirror.NewRobotsStore(st)), Hosts: o.hosts,
		Log: o.log, Progress: o.progress, Accept: o.accept, NoFetch: o.asIs, Now: o.now,
	})
}

// runJob opens the site of a job in a state directory, makes one run, brings the job's symbolic link up to date and reports.
func (a *app) runJob(ctx context.Context, j *job.Job, o engineOptions) error {
	st, err := a.makeState()
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	sum, err := a.runSite(ctx, j, st, s, o)
	if sum != nil && sum.Version > 0 {
		err = errors.Join(err, linkPublished(j, s))
	}
	return a.report(ctx, sum, err)
}

// report prints a summary and turns how the run ended into the exit code.
func (a *app) report(ctx context.Context, sum *mirror.Summary, err error) error {
	if sum == nil {
		return err
	}
	if a.json {
		if jerr := sum.WriteJSON(a.stdout); jerr != nil {
			return jerr
		}
	} else if terr := sum.WriteText(a.stdout); terr != nil {
		return terr
	}
	var disk *store.DiskError
	switch {
	case sum.Verdict == mirror.Partial && (err == nil || ctx.Err() != nil || errors.As(err, &disk)):
		return &exitErr{exitPartial, err}
	case err != nil:
		return err
	case sum.Verdict == mirror.Suspicious:
		return &exitErr{code: exitSuspicious}
	}
	return nil
}

// linkPublished makes publish.dir a link to the current version. What stands there and is no symbolic link is left alone.
func linkPublished(j *job.Job, s *store.Site) error {
	link := j.Publish.Dir
	if link == "" {
		return nil
	}
	target := filepath.Join(s.Dir(), "current")
	switch fi, err := os.Lstat(link); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("publish.dir: %w", err)
	case fi.Mode()&fs.ModeSymlink == 0:
		return fmt.Errorf("publish.dir: %s is there and is no symbolic link; move it away", link)
	}
	if old, err := os.Readlink(link); err == nil && old == target {
		return nil
	}
	if err := renameio.Symlink(target, link); err != nil {
		return fmt.Errorf("publish.dir: %w", err)
	}
	return nil
}

// openState opens the state directory for a command that only looks; ok is false when there is none yet.
func (a *app) openState() (st *store.State, ok bool, err error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "sites")); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	st, err = store.OpenState(dir, store.Options{})
	return st, err == nil, err
}

// mustState is openState for commands that need a mirror to be there.
func (a *app) mustState() (*store.State, error) {
	st, ok, err := a.openState()
	if err != nil {
		return nil, err
	}
	if !ok {
		dir, err := a.stateDir()
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("there are no mirrors in %s: set --state, or run a job first", dir)
	}
	return st, nil
}

// mustWriteState is mustState for commands that change sites: they wait a moment for those that only look.
func (a *app) mustWriteState() (*store.State, error) {
	st, err := a.mustState()
	if err != nil {
		return nil, err
	}
	dir := st.Dir
	if err := st.Close(); err != nil {
		return nil, err
	}
	return store.OpenState(dir, store.Options{Wait: lookWait})
}

// makeState opens the state for commands that change it, and makes it when it is not there; they wait a moment for those that only look.
func (a *app) makeState() (*store.State, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	return store.OpenState(dir, store.Options{Wait: lookWait})
}

// openTree opens the published tree of a site. It does so also while a run writes the site: the published tree is not the one
// that a run works on.
func openTree(st *store.State, name string) (*os.Root, error) {
	if !job.ValidName(name) {
		return nil, usagef("%q cannot name a job", name)
	}
	s, err := st.ReadSite(name)
	switch {
	case errors.Is(err, store.ErrLocked):
		root, err := os.OpenRoot(filepath.Join(st.Dir, "sites", name, "current"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
		}
		return root, err
	case err != nil:
		return nil, err
	}
	root, err := s.Current()
	return root, errors.Join(err, s.Close())
}
