// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mirrord/site"
)

// reuse refuses jobs that would take files from the mirror of a job that does not exist, that cannot have
// them, or that takes files from theirs. A chain is no cycle. A job that is refused itself, and has a file,
// is not looked into: its mirror may be there.
func (c Config) reuse(last Config) {
	// Of a cycle the job that is as it was in last stays.
	names := c.steadyFirst(last, func(e, old *Entry) bool { return bytes.Equal(e.Text, old.Text) })
	next := map[string]string{} // job to the one that it reuses, of those that were looked at
	for _, name := range names {
		e := c[name]
		if why := c.refusesReuse(e, next); why != "" {
			e.Refused = append(e.Refused, e.Path+": "+why)
			refused := e.Job
			e.keep(last[name])
			// The version that was good stays in force although its source went: its run says so, and what it took
			// stays.
			if e.Job != nil && e.Job != refused && cycle(e, next) != "" {
				e.keep(nil)
			}
		}
		if e.Job != nil && e.Job.ReusedJob() != "" && cycle(e, next) == "" {
			next[name] = e.Job.ReusedJob()
		}
	}
}

// refusesReuse returns the problem of what a job reuses.
func (c Config) refusesReuse(e *Entry, next map[string]string) string {
	if e.Job == nil || e.Job.ReusedJob() == "" {
		return ""
	}
	of := c[e.Job.ReusedJob()]
	if of == nil {
		return fmt.Sprintf("reuse.job: there is no job %s; %s", e.Job.ReusedJob(), c.others(e.Name))
	}
	if why := cycle(e, next); why != "" {
		return why
	}
	from, _ := e.Job.ReusePrefixes()
	u, _, err := site.Parse(from)
	if of.Job == nil || err != nil {
		return ""
	}
	rule, err := of.Job.ScopeRule()
	if err != nil || rule.Reaches(u) {
		return ""
	}
	_, reason := rule.Admits(u)
	return fmt.Sprintf("reuse.from: the mirror of job %s cannot have %s: %s; its url is %s", of.Name, from,
		reason, strings.Join(of.Job.URLs, " "))
}

// others names the jobs that could be meant.
func (c Config) others(but string) string {
	names := slices.DeleteFunc(c.names(), func(n string) bool { return n == but })
	switch {
	case len(names) == 0:
		return "there is no other job"
	case len(names) == 1:
		return "there is " + names[0]
	case len(names) > 10:
		names = append(names[:10], "…")
	}
	return "there are " + strings.Join(names, ", ")
}

// cycle says in which circle a job stands with those that next knows; "" for none.
func cycle(e *Entry, next map[string]string) string {
	if e.Job == nil || e.Job.ReusedJob() == "" {
		return ""
	}
	way := []string{e.Name}
	for at := e.Job.ReusedJob(); at != "" && len(way) <= len(next)+1; at = next[at] {
		way = append(way, at)
		if at == e.Name {
			return "reuse.job: the jobs take files from one another in a circle: " + strings.Join(way, " from ")
		}
	}
	return ""
}
