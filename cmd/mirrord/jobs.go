package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mirrord/job"
	"mirrord/scheduler"
)

const jobSuffix = scheduler.Suffix

// readJob reads and checks one job file. What is wrong with the file comes as job.Errors.
func readJob(path string) (*job.Job, error) { return scheduler.ReadFile(path) }

// jobFiles lists the job files of a directory, sorted; names that start with a dot or '_' are left out, so that a file can be put aside.
func jobFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no directory of job files at %s: create it or set --jobs", dir)
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, jobSuffix) && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") && !e.IsDir() {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// findJob reads the job of that name from the jobs directory. An unknown name and an invalid file end in exit code 2.
func (a *app) findJob(name string) (*job.Job, error) {
	dir := a.jobsDir()
	name = strings.TrimSuffix(name, jobSuffix)
	if !job.ValidName(name) {
		return nil, usagef("%q cannot name a job", name)
	}
	j, err := readJob(filepath.Join(dir, name+jobSuffix))
	if !errors.Is(err, fs.ErrNotExist) {
		return j, err
	}
	files, listErr := jobFiles(dir)
	if listErr != nil {
		return nil, &exitErr{exitUsage, listErr}
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(filepath.Base(f), jobSuffix)
	}
	if len(names) == 0 {
		return nil, usagef("no job %q: there are no job files in %s", name, dir)
	}
	if len(names) > 10 {
		names = append(names[:10], "…")
	}
	return nil, usagef("no job %q in %s; there are %s", name, dir, strings.Join(names, ", "))
}
