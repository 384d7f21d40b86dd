// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// Config is a set of jobs that can run side by side, as wanted, by name. It is plain data, and is not
// changed once it is made.
type Config map[string]*Entry

// Entry is one job of a Config.
type Entry struct {
	Name    string
	Path    string   // of its file
	Job     *job.Job // nil: the file is refused and there is no good version of it
	Text    []byte   // that Job was read from
	Refused []string // the problems of the file as it is; when Job is not nil, Job is the last good version

	targets []target // of Job
}

// Resolve makes a configuration of the files in the directory, and last, the one that holds. A file that
// is refused leaves the last good version of its job in force, as long as the file is there. Of two files
// that cannot go together, because they have one name, mirror the same thing or publish to the same place,
// the one whose job is in force already stays, else the first by name; the other one is refused. So is a
// job that reuses the mirror of a missing one or cannot have the reused mirror, and the one that would
// close a circle. It is pure.
func Resolve(files []File, last Config) Config {
	out := Config{}
	for _, f := range files {
		if e := out[f.Name]; e != nil {
			e.Refused = append(e.Refused,
				fmt.Sprintf("%s: there is a job of this name already, from %s", f.Path, e.Path))
			continue
		}
		e := &Entry{
			Name: f.Name,
			Path: f.Path,
			Job:  f.Job,
			Text: f.Text,
		}
		if f.Err != nil {
			e.Refused = strings.Split(refusal(f.Path, f.Err).Error(), "\n")
			if _, parsed := f.Err.(job.Errors); parsed {
				e.Refused = strings.Split(f.Err.Error(), "\n")
			}
			if _, is := errors.AsType[*Renaming](f.Err); is {
				e.keep(nil) // its mirror may have the other name already
			} else {
				e.keep(last[f.Name])
			}
		} else if old := last[f.Name]; old != nil && old.Job == f.Job {
			e.targets = old.targets
		} else {
			e.targets = targets(f.Job)
		}
		out[f.Name] = e
	}
	out.collide(last)
	out.reuse(last)
	return out
}

// keep puts the last good version of a job in force; nil without one.
func (e *Entry) keep(old *Entry) {
	e.Job, e.Text, e.targets = nil, nil, nil
	if old != nil && old.Job != nil {
		e.Job, e.Text, e.targets = old.Job, old.Text, old.targets
	}
}

// collide refuses jobs whose targets another job has.
func (c Config) collide(last Config) {
	names := c.steadyFirst(last, func(e, old *Entry) bool { return slices.Equal(e.targets, old.targets) })
	taken := map[string]string{} // target to job
	for _, name := range names {
		e := c[name]
		if why := clash(e, taken); why != "" {
			e.Refused = append(e.Refused, e.Path+": "+why)
			e.keep(last[name])
			if clash(e, taken) != "" { // and so would the last good version
				e.keep(nil)
			}
		}
		for _, t := range e.targets {
			taken[t.key] = name
		}
	}
}

// steadyFirst are the names of the jobs, those first that are as they were in last.
func (c Config) steadyFirst(last Config, same func(e, old *Entry) bool) []string {
	changed := func(name string) int {
		e, old := c[name], last[name]
		if e.Job != nil && old != nil && old.Job != nil && (e.Job == old.Job || same(e, old)) {
			return 0
		}
		return 1
	}
	names := c.names()
	slices.SortStableFunc(names, func(a, b string) int { return changed(a) - changed(b) })
	return names
}

func clash(e *Entry, taken map[string]string) string {
	for _, t := range e.targets {
		if by, ok := taken[t.key]; ok {
			return fmt.Sprintf("job %s has the same %s; change one of them or remove it", by, t.what)
		}
	}
	return ""
}

// target is something that only one job can have.
type target struct{ key, what string }

func targets(j *job.Job) []target {
	if j == nil {
		return nil
	}
	scope := j.Scope
	for _, l := range []*[]string{&scope.Prefixes, &scope.Include, &scope.Exclude} {
		*l = append([]string{}, *l...)
		slices.Sort(*l)
	}
	var urls []string
	for _, u := range j.Seeds() {
		urls = append(urls, u.String())
	}
	key, err := json.Marshal([]any{urls, scope, j.Auth.User})
	if err != nil {
		panic(err) // plain data
	}
	out := []target{{"site " + string(key), "url and scope"}}
	if j.Publish.Dir != "" {
		out = append(out, target{"dir " + filepath.Clean(j.Publish.Dir), "publish.dir"})
	}
	return out
}

func (c Config) names() []string { return slices.Sorted(maps.Keys(c)) }

// What a reload does to one job.
const (
	Added     = "added"
	Changed   = "changed" // a run under way ends under the old configuration
	Removed   = "removed" // a run under way is ended; the mirror stays
	Refused   = "refused" // the file is refused, for reasons that were not known before
	Corrected = "mended"  // the file was refused and is as before that
	Retried   = "retried" // the file is as before; what ended the last run may be gone
)

// Diff returns what changes from one configuration to another, by name. Jobs in which nothing changes do not
// appear. It is pure.
func Diff(from, to Config) []status.Change {
	all := Config{}
	maps.Copy(all, from)
	maps.Copy(all, to)
	var out []status.Change
	for _, name := range all.names() {
		a, b := from[name], to[name]
		add := func(kind string) { out = append(out, status.Change{Kind: kind, Job: name}) }
		if b == nil {
			add(Removed)
			continue
		}
		var had *job.Job
		var refused []string
		if a != nil {
			had, refused = a.Job, a.Refused
		}
		switch {
		case had == nil && b.Job != nil:
			add(Added)
		case had != nil && b.Job == nil:
			add(Removed)
		case b.Job != nil && !bytes.Equal(a.Text, b.Text):
			add(Changed)
		case len(refused) > 0 && len(b.Refused) == 0:
			add(Corrected)
		}
		if len(b.Refused) > 0 && !slices.Equal(refused, b.Refused) {
			out = append(out, status.Change{Kind: Refused, Job: name, Problems: b.Refused})
		}
	}
	return out
}
