// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"

	"mirrord/job"
	"mirrord/site"
)

// Priorities are the pages of a job that matter more than others. The zero value has none.
type Priorities struct{ rules []priorityRule }

type priorityRule struct {
	globs []*site.Glob
	every int
}

// CompilePriorities compiles those of a job.
func CompilePriorities(j *job.Job) (p Priorities, err error) {
	for _, x := range j.Priority {
		rule := priorityRule{every: int(max(x.Every, 1))}
		for _, s := range x.Match {
			g, err := site.CompileGlob(s)
			if err != nil {
				return p, fmt.Errorf("priority: %w", err)
			}
			rule.globs = append(rule.globs, g)
		}
		p.rules = append(p.rules, rule)
	}
	return p, nil
}

// Any reports whether there are any.
func (p Priorities) Any() bool { return len(p.rules) > 0 }

// Of returns in every how many runs a URL is looked at; 0 for a URL without priority.
func (p Priorities) Of(u site.URL) (every int) {
	for _, r := range p.rules {
		if every > 0 && every <= r.every {
			continue
		}
		for _, g := range r.globs {
			if g.Match(u) {
				every = r.every
				break
			}
		}
	}
	return every
}
