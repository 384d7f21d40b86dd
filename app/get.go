// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/archive"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/status"
	"mirrord/store"
)

// GetRequest asks for a mirror without a job file.
type GetRequest struct {
	Job *job.Job // with its name
	// the mirror stays in the state, under the name of the job; else it is made once, and only Out is left
	Keep bool
	// where it is written, in the form that the name says; "" is nowhere with Keep, else the name of the job
	Out string
	// publish what the last run held back, or this one would hold back, and make its gaps known
	Accept   bool
	Progress func(status.Progress) // receives where the run stands; may be nil
}

// Get makes a run of a job that has no file. The summary and the error are those of Run; Path of the summary
// is where the mirror is, of one that is not kept.
//
// An entry point that only leads to itself under another scheme or a near name is followed, and Warn receives
// where. What another run would only repeat is an error with the remedy, and leaves nothing behind.
func Get(ctx context.Context, a *App, r GetRequest) (*mirror.Summary, error) {
	if r.Out == "" && !r.Keep {
		r.Out = r.Job.Name
	}
	for range maxNear {
		sum, err := getAt(ctx, a, r)
		to, near := leadsNear(r.Job, sum)
		if !near || ctx.Err() != nil {
			return sum, err
		}
		a.warn(fmt.Sprintf("mirrord: %s leads to %s, which is mirrored", r.Job.Seeds()[0], to))
		j := *r.Job
		j.URLs = []string{to.String()}
		if err := j.Validate(); err != nil {
			return sum, err
		}
		r.Job = &j
	}
	return getAt(ctx, a, r)
}

// maxNear bounds how often an entry point is followed: to https, to www. and to a page there.
const maxNear = 4

func getAt(ctx context.Context, a *App, r GetRequest) (*mirror.Summary, error) {
	if r.Keep {
		sum, err := getKept(ctx, a, r)
		if again := lastingOfGet(r.Job, sum); again != nil {
			return sum, again
		}
		return sum, err
	}
	return getOnce(ctx, a, r)
}

// accepting are the options of a get: what waits for being accepted is published as it is.
func (r *GetRequest) accepting(st *store.State) RunOptions {
	return RunOptions{
		Accept:   r.Accept,
		AsIs:     r.Accept && waitsForAccept(st, r.Job.Name) == nil,
		Progress: r.Progress,
	}
}

// getKept mirrors into the state directory and, when Out is given, exports the published version to it.
func getKept(ctx context.Context, a *App, r GetRequest) (*mirror.Summary, error) {
	if r.Out != "" {
		if err := checkOutput(r.Out); err != nil {
			return nil, err
		}
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	o := r.accepting(st)
	if err := st.Close(); err != nil {
		return nil, err
	}
	sum, ended := Run(ctx, a, r.Job, o)
	if finished := (sum != nil) && sum.Verdict.Finished(); (ended != nil && !finished) || r.Out == "" {
		return sum, ended
	}
	st, err = a.MustState()
	if err != nil {
		return sum, err
	}
	defer st.Close()
	root, err := OpenTree(st, r.Job.Name)
	if err != nil {
		return sum, err
	}
	defer root.Close()
	if err := ExportTree(root.FS(), r.Out, archive.Named(r.Out)); err != nil {
		return sum, err
	}
	return sum, ended
}

// finishedFor is how long a complete mirror that could not be moved to its place is taken as the result.
const finishedFor = time.Hour

// getOnce mirrors into a hidden folder beside Out and moves the result into its place. The folder lies on the
// same file system, so that the move is one rename; it stays when the run does not complete, and the same
// request goes on from it.
func getOnce(ctx context.Context, a *App, r GetRequest) (*mirror.Summary, error) {
	out := cmp.Or(r.Out, r.Job.Name)
	if err := checkOutput(out); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".mirrord")
	// Without a sync: a loss of power costs this run, kill -9 does not.
	_, had := os.Lstat(work) // of an earlier run, which may have fetched something
	st, err := store.OpenState(work, store.Options{Volatile: true, Now: a.now})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.OpenSite(r.Job.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	sum, err := finished(s, st.Now())
	if sum == nil && err == nil {
		sum, err = RunSite(ctx, a, r.Job, st, s, r.accepting(st))
	}
	if sum == nil {
		return nil, err
	}
	if err == nil && sum.Verdict.Finished() {
		if err = place(s, out); err == nil {
			sum.Path = out
			s.Close() // before its folder goes; closing twice is harmless
			st.Close()
			err = os.RemoveAll(work)
		}
	}
	if again := lastingOfGet(r.Job, sum); again != nil && err == nil {
		if !errors.Is(had, fs.ErrNotExist) {
			return sum, again
		}
		s.Close()
		st.Close()
		return sum, errors.Join(again, os.RemoveAll(work))
	}
	return sum, Ended(ctx, sum, err)
}

// finished returns the summary of a complete run that was cut off before its result was moved to its place;
// nil when there is none.
func finished(s *store.Site, now time.Time) (*mirror.Summary, error) {
	run, err := s.Notes.Run()
	if err != nil || run != nil {
		return nil, err
	}
	vs, err := s.Versions.List()
	if err != nil || len(vs) == 0 {
		return nil, err
	}
	v := vs[len(vs)-1]
	if age := now.Sub(v.Time); age < 0 || age > finishedFor {
		return nil, nil
	}
	sum := &mirror.Summary{
		Job:       s.Name,
		Started:   v.Time,
		Ended:     v.Time,
		Resumed:   true,
		Published: true,
		Version:   v.Number,
		Files:     v.Files,
		Size:      v.Bytes,
		Added:     v.Added,
	}
	sum.Notes = []mirror.Note{{
		What:  "the run was complete already and only had to be moved to its place",
		Count: 1,
	}}
	return sum, nil
}
