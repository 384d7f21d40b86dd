// SPDX-License-Identifier: Apache-2.0

package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/home"
)

// RunOf is the report of a run as the scheduler keeps it.
func RunOf(sum *mirror.Summary) status.Run {
	run := status.Run{
		Started:   sum.Started,
		Ended:     sum.Ended,
		Verdict:   sum.Verdict.String(),
		Reasons:   sum.Reasons,
		Published: sum.Published,
		Version:   sum.Version,
		Files:     sum.Files,
		Bytes:     sum.Size,
		Asked:     sum.Asked,
		Known:     sum.Known,
		Requests:  sum.Requests,
		FirstGone: sum.FirstGone,
		Received:  sum.Wire,
		Spared:    sum.Spared,
		Added:     sum.Added,
		Changed:   sum.Changed,
		Removed:   sum.Removed,
		NewBytes:  sum.NewBytes,
		Gaps:      sum.Gaps.Count,
		KnownGaps: sum.Gaps.Known,
		Kept:      sum.Gaps.Kept,
		GapsSince: sum.Gaps.Since,
		GapsGrew:  sum.Gaps.Grew,
		Hold:      sum.Gaps.Hold,

		Verified: sum.Verified,

		ReuseFound: sum.ReuseFound,

		RolledBackTo: sum.RolledBackTo,
		Undone:       sum.Undone,
		Held:         sum.Held != nil,
	}
	if run.Held {
		run.RolledBackTo = sum.Held.RolledBackTo
	}
	if data, err := json.Marshal(sum); err == nil {
		run.Summary = data
	}
	return run
}

// IsMirror is an error when there is no mirror of a name.
func IsMirror(st *store.State, name string) error {
	names, err := st.Sites()
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return DidYouMean(st, name, fmt.Errorf("site %s: %w", name, home.ErrNoSite))
}

// JobOnDisk is what lies on the disk of a job: its file and its mirror.
type JobOnDisk struct {
	Name   string
	File   string   // path of the job file; "" without one
	Job    *job.Job // nil when there is no file, or it is refused
	Mirror string   // path of the site's folder; "" without one
	Half   string   // path of what an interrupted removal of the mirror has left; "" for nothing
}

// Link is the symbolic link of publish.dir, if it points to the mirror; "" otherwise.
func (d *JobOnDisk) Link() string {
	if d.Job == nil || d.Job.Publish.Dir == "" || d.Mirror == "" {
		return ""
	}
	to, err := os.Readlink(d.Job.Publish.Dir)
	current, aerr := filepath.Abs(filepath.Join(d.Mirror, "current"))
	if err != nil || aerr != nil || to != current {
		return ""
	}
	return d.Job.Publish.Dir
}

// RunInProgress says that a job cannot be changed now.
func RunInProgress(name string) error {
	return &Error{
		Kind: Locked,
		Err:  fmt.Errorf("a run of %s is in progress; wait for it, or end it with mirrord cancel %s", name, name),
	}
}

// ownJobs is the folder of a state in which the daemon makes job files.
const ownJobs = "jobs.d"

// JobDirs are the directories of job files: Jobs and, unless the user named that, the daemon's own one in the
// state, which may be missing. A user who may not read the state has the first only.
func (a *App) JobDirs() []string {
	dirs := []string{a.Jobs}
	if a.JobsNamed {
		return dirs
	}
	state, err := a.State()
	own := filepath.Join(state, ownJobs)
	root, rerr := regular.OpenRoot(own)
	if rerr == nil {
		root.Close()
	}
	if err != nil || errors.Is(rerr, fs.ErrPermission) || own == a.Jobs {
		return dirs
	}
	return append(dirs, own)
}

// JobsDir is all directories of job files.
func (a *App) JobsDir() *scheduler.Dir { return scheduler.NewDir(a.JobDirs()...) }

// JobFile is the path of the file of a job. Without one it is where a user would make it.
func (a *App) JobFile(name string) string {
	for _, dir := range a.JobDirs() {
		if path := filepath.Join(dir, name+scheduler.Suffix); Exists(path) {
			return path
		}
	}
	return filepath.Join(a.Jobs, name+scheduler.Suffix)
}

// ReadJob reads the file of a job.
func (a *App) ReadJob(name string) (*job.Job, error) { return a.JobsDir().ReadFile(a.JobFile(name)) }

// JobFiles lists the job files, sorted by name; names that start with a dot or '_' are left out, so that a
// file can be put aside.
func (a *App) JobFiles() ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for i, dir := range a.JobDirs() {
		entries, err := os.ReadDir(dir)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && i > 0:
			continue
		case missing:
			return nil, &Error{Field: FieldJobs, Err: fmt.Errorf("no directory of job files at %s", dir)}
		case err != nil:
			return nil, err
		}
		for _, e := range entries {
			name, is := strings.CutSuffix(e.Name(), scheduler.Suffix)
			if is && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") && !seen[name] {
				seen[name] = true
				out = append(out, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.SortFunc(out, func(x, y string) int { return strings.Compare(filepath.Base(x), filepath.Base(y)) })
	return out, nil
}

// FindJob reads the job of that name from the jobs directory. An unknown name and an invalid file end in exit
// code 2.
func (a *App) FindJob(name string) (*job.Job, error) {
	dir := a.Jobs
	name = strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(name) {
		return nil, NotAName(name)
	}
	j, err := a.ReadJob(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return j, err
	}
	if r := scheduler.RenamingIn(a.JobDirs(), name); r != nil {
		return nil, Usagef("%w", r)
	}
	files, listErr := a.JobFiles()
	if listErr != nil {
		return nil, Usagef("%w", listErr)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), scheduler.Suffix)
	}
	if len(names) == 0 {
		return nil, Usagef("no job %q: there are no job files in %s", name, dir)
	}
	meant := ""
	if near := job.Nearest(name, names); near != "" {
		meant = fmt.Sprintf("; did you mean %s?", near)
	}
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return nil, Usagef("no job %q in %s; there are %s%s", name, dir, strings.Join(names, ", "), meant)
}

// KnownJob is an error of wrong usage when neither a job nor a mirror has a name.
func KnownJob(a *App, name string) error {
	name = strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(name) {
		return NotAName(name)
	}
	var names []string
	files, _ := a.JobFiles() // only for what was probably meant, as all mirrors
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), scheduler.Suffix))
	}
	known := Exists(a.JobFile(name))
	if state, err := a.State(); err == nil {
		known = known || Exists(filepath.Join(state, "sites", name)) || home.HalfRemoved(state, name) != ""
		sites, _ := os.ReadDir(filepath.Join(state, "sites"))
		for _, s := range sites {
			names = append(names, s.Name())
		}
	}
	if known {
		return nil
	}
	return UnknownName(name, names)
}

// UnknownName is the error about a name that neither a job nor a mirror has.
func UnknownName(name string, names []string) error {
	if near := job.Nearest(name, names); near != "" {
		return Usagef("no job and no mirror is named %q; did you mean %s?", name, near)
	}
	return Usagef("no job and no mirror is named %q", name)
}

// NamedJobs reads the jobs of these names, or all. Of all, a broken file is said and left out.
func (a *App) NamedJobs(names []string) ([]*job.Job, error) {
	var out []*job.Job
	if len(names) > 0 {
		for _, name := range names {
			j, err := a.FindJob(name)
			if err != nil {
				return nil, err
			}
			out = append(out, j)
		}
		return out, nil
	}
	files, err := a.JobFiles()
	if err != nil {
		return nil, Usagef("%w", err)
	}
	dir := a.JobsDir()
	for _, f := range files {
		j, err := dir.ReadFile(f)
		if err != nil {
			a.Warning(fmt.Sprintf("%s is left out: %v", filepath.Base(f), err))
			continue
		}
		out = append(out, j)
	}
	return out, nil
}
