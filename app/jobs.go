// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/store"
)

// JobFiles lists the job files of a directory, sorted; names that start with a dot or '_' are left out, so
// that a file can be put aside.
func JobFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Field: FieldJobs, Err: fmt.Errorf("no directory of job files at %s", dir)}
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, scheduler.Suffix) && !strings.HasPrefix(name, ".") &&
			!strings.HasPrefix(name, "_") {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// FindJob reads the job of that name from the jobs directory. An unknown name and an invalid file end in exit
// code 2.
func (a *App) FindJob(name string) (*job.Job, error) {
	dir := a.Jobs
	name = strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(name) {
		return nil, notAName(name)
	}
	j, err := scheduler.ReadFile(filepath.Join(dir, name+scheduler.Suffix))
	if !errors.Is(err, fs.ErrNotExist) {
		return j, err
	}
	if r := scheduler.RenamingIn(dir, name); r != nil {
		return nil, &Error{Kind: Usage, Err: r}
	}
	files, listErr := JobFiles(dir)
	if listErr != nil {
		return nil, &Error{Kind: Usage, Err: listErr}
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
		return notAName(name)
	}
	var names []string
	files, _ := JobFiles(a.Jobs) // only for what was probably meant, as all mirrors
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), scheduler.Suffix))
	}
	known := exists(filepath.Join(a.Jobs, name+scheduler.Suffix))
	if state, err := a.State(); err == nil {
		known = known || exists(filepath.Join(state, "sites", name)) || store.HalfRemoved(state, name) != ""
		sites, _ := os.ReadDir(filepath.Join(state, "sites"))
		for _, s := range sites {
			names = append(names, s.Name())
		}
	}
	if known {
		return nil
	}
	return unknownName(name, names)
}

// unknownName is the error about a name that neither a job nor a mirror has.
func unknownName(name string, names []string) error {
	if near := job.Nearest(name, names); near != "" {
		return Usagef("no job and no mirror is named %q; did you mean %s?", name, near)
	}
	return Usagef("no job and no mirror is named %q", name)
}

// namedJobs reads the jobs of these names, or all. Of all, a broken file is said and left out.
func (a *App) namedJobs(names []string) ([]*job.Job, error) {
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
	files, err := JobFiles(a.Jobs)
	if err != nil {
		return nil, &Error{Kind: Usage, Err: err}
	}
	for _, f := range files {
		j, err := scheduler.ReadFile(f)
		if err != nil {
			a.warn(fmt.Sprintf("%s is left out: %v", filepath.Base(f), err))
			continue
		}
		out = append(out, j)
	}
	return out, nil
}
