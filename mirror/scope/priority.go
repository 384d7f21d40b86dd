// SPDX-License-Identifier: Apache-2.0

package scope

import (
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
		if err := p.add(x.Match, int(max(x.Every, 1))); err != nil {
			return p, err
		}
	}
	return p, nil
}

// add adds a rule; without patterns it adds none.
func (p *Priorities) add(patterns []string, every int) error {
	globs, err := site.CompileGlobs("priority", patterns)
	if len(globs) > 0 {
		p.rules = append(p.rules, priorityRule{globs, every})
	}
	return err
}

// Any reports whether there are any.
func (p Priorities) Any() bool { return len(p.rules) > 0 }

// Of returns in every how many runs a URL is looked at; 0 for a URL without priority.
func (p Priorities) Of(u site.URL) (every int) {
	for _, r := range p.rules {
		if (every == 0 || every > r.every) && site.AnyMatches(r.globs, u) {
			every = r.every
		}
	}
	return every
}
