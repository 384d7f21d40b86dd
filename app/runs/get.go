// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/archive"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
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

	typed  []string // the URLs of Job as they were given; Get may have followed them since
	byName bool     // Out was not given
}

// Get makes a run of a job that has no file. The summary and the error are those of Run; Path of the summary
// is where the mirror is, of one that is not kept. A second Get of the same URLs into the same place updates
// the mirror: it makes conditional requests, and what stands there stays until there is a new version.
//
// An entry point that only redirects to itself under another scheme or a similar name is followed, and Warn
// receives the target. A failure that another run would only repeat is an error with the remedy, and leaves
// nothing behind.
func Get(ctx context.Context, a *env.App, r GetRequest) (*mirror.Summary, error) {
	if r.Out == "" && !r.Keep {
		r.Out, r.byName = r.Job.Name, true
	}
	r.typed = r.Job.URLs
	if to, err := followedBefore(a, r); err != nil {
		return nil, err
	} else if len(to) > 0 {
		if err := r.mirror(to); err != nil {
			return nil, err
		}
	}
	for range maxNear {
		sum, err := getAt(ctx, a, r)
		to, near := leadsNear(r.Job, sum)
		if !near || ctx.Err() != nil {
			return sum, err
		}
		a.Warning(fmt.Sprintf("mirrord: %s redirects to %s, which is mirrored", r.Job.Seeds()[0], to))
		if err := r.mirror([]string{to.String()}); err != nil {
			return sum, err
		}
	}
	return getAt(ctx, a, r)
}

// mirror makes other URLs the entry points.
func (r *GetRequest) mirror(urls []string) error {
	j := *r.Job
	if other := wwwTwin(j.Seeds()[0], urls[0]); other != "" && len(j.Scope.Aliases) == 0 {
		j.Scope.Aliases = []string{other}
	}
	j.URLs = urls
	r.Job = &j
	return j.Validate()
}

// wwwTwin returns the host of a URL that redirects to the URL to, when their hosts differ in "www." only;
// "" when they do not.
func wwwTwin(from site.URL, to string) string {
	u, _, err := site.Parse(to)
	bare := func(host string) string { return strings.TrimPrefix(host, "www.") }
	if err != nil || from.Host() == u.Host() || bare(from.Host()) != bare(u.Host()) {
		return ""
	}
	return from.Host()
}

// followedBefore returns where an earlier get of the same URLs into the same place found that they lead; nil
// for nowhere else. It is an error when the mirror of other URLs has the place and the place was not given.
func followedBefore(a *env.App, r GetRequest) ([]string, error) {
	var st *store.State
	if r.Keep {
		opened, ok, err := a.OpenState()
		if (err != nil) || !ok {
			return nil, err
		}
		st = opened
	} else {
		out, err := filepath.Abs(r.Out)
		if err != nil {
			return nil, err
		}
		work := workOf(out)
		if _, err := os.Stat(work); err != nil {
			return nil, nil // no record, or the run reports the error
		}
		if st, err = store.OpenState(work, store.Options{Volatile: true, Now: a.Clock}); err != nil {
			return nil, nil // openWork reports the error
		}
	}
	defer st.Close()
	s, err := st.ViewSite(r.Job.Name)
	if err != nil {
		return nil, nil // no record, or the run reports the error
	}
	defer s.Close()
	was, err := rememberedURLs(s)
	switch {
	case err != nil:
		return nil, nil
	case was.are(r.typed):
		return was.URLs, nil
	case r.byName && isPlaced(s, r.Out):
		const taken = "%s has the mirror of %s; mirrord get %s -o DIR makes another one"
		return nil, fmt.Errorf(taken, r.Out, strings.Join(was.Typed, " "), strings.Join(r.typed, " "))
	}
	return nil, nil
}

// isPlaced reports whether a mirror has a version and is in its place.
func isPlaced(s *store.Site, out string) bool {
	v, err := s.Versions.Last()
	if (err != nil) || v.Number == 0 {
		return false
	}
	_, err = os.Stat(out)
	return err == nil
}

// maxNear bounds how often an entry point is followed: to https, to www. and to a page there.
const maxNear = 4

func getAt(ctx context.Context, a *env.App, r GetRequest) (*mirror.Summary, error) {
	if r.Keep {
		sum, err := getKept(ctx, a, r)
		if again := lastingOfGet(r.Job, sum, false); again != nil {
			return sum, again
		}
		return sum, err
	}
	return getOnce(ctx, a, r)
}

// accepting are the options of a get: what waits for being accepted is published as it is.
func (r *GetRequest) accepting(st *store.State) RunOptions {
	_, err := WaitsForAccept(st, r.Job.Name, false)
	return RunOptions{
		Accept:   r.Accept,
		AsIs:     r.Accept && (err == nil),
		Progress: r.Progress,
	}
}

// getKept mirrors into the state directory and, when Out is given, exports the published version to it.
func getKept(ctx context.Context, a *env.App, r GetRequest) (*mirror.Summary, error) {
	if r.Out != "" {
		if err := files.CheckOutput(r.Out); err != nil {
			return nil, err
		}
	}
	sum, ended := changed(ctx, a, r.Job, true, a.MakeState,
		func(st *store.State, s *store.Site) (*mirror.Summary, error) {
			if err := rememberURLs(s, r); err != nil {
				return nil, err
			}
			return RunSite(ctx, a, r.Job, st, s, r.accepting(st))
		})
	if finished := (sum != nil) && sum.Verdict.Finished(); (ended != nil && !finished) || r.Out == "" {
		return sum, ended
	}
	st, err := a.MustState()
	if err != nil {
		return sum, err
	}
	defer st.Close()
	root, err := env.OpenTree(st, r.Job.Name)
	if err != nil {
		return sum, err
	}
	defer root.Close()
	if err := files.ExportTree(ctx, root.FS(), r.Out, archive.Named(r.Out)); err != nil {
		return sum, err
	}
	return sum, ended
}

// finishedFor is how long a complete mirror that could not be moved to its place is taken as the result.
const finishedFor = time.Hour

// getOnce mirrors in a hidden folder beside Out and moves the result into its place. The folder lies on the
// same file system, so that the move is one rename. It stays: an interrupted run continues from it with the
// same request, and it has the data that a later run needs.
func getOnce(ctx context.Context, a *env.App, r GetRequest) (*mirror.Summary, error) {
	if err := files.CheckOutput(r.Out); err != nil {
		return nil, err
	}
	out, err := filepath.Abs(r.Out)
	if err != nil {
		return nil, err
	}
	w, made, err := openWork(ctx, a, r, out)
	if w != nil {
		defer w.Close()
	}
	if err != nil {
		return nil, err
	}
	sum, err := w.run(ctx, a, r)
	if sum == nil {
		return nil, err
	}
	if (err == nil) && sum.Verdict.Finished() {
		if err = w.place(ctx, sum.Published); err == nil {
			sum.Path = out
			err = w.putAway(ctx)
		}
	}
	if again := lastingOfGet(r.Job, sum, true); (again != nil) && err == nil {
		if !made { // an earlier run may have fetched something
			return sum, again
		}
		return sum, errors.Join(again, w.remove())
	}
	return sum, Ended(ctx, sum, err)
}

// run makes the run, unless one has ended before that was only cut off on its way to its place.
func (w *getWork) run(ctx context.Context, a *env.App, r GetRequest) (*mirror.Summary, error) {
	v, err := w.finished(w.st.Now())
	if err != nil {
		return nil, err
	}
	if v != nil {
		return unplaced(w.Site, v), nil
	}
	if err := rememberURLs(w.s, r); err != nil {
		return nil, err
	}
	j := *r.Job
	j.Publish.Keep = "1" // older versions are for mirrors that are kept
	return RunSite(ctx, a, &j, w.st, w.s, r.accepting(w.st))
}

// unplaced is the summary of a complete run whose result was not moved to its place yet.
func unplaced(name string, v *record.Version) *mirror.Summary {
	sum := &mirror.Summary{
		Job:       name,
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
	return sum
}
