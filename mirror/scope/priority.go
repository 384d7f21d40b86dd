// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"slices"

	"mirrord/job"
	"mirrord/site"
	"mirrord/site/profile"
)

// Priorities are the pages of a job that matter more than others. The zero value has none.
type Priorities struct {
	rules    []priorityRule
	programs []*profile.Profile // their lists of changes are looked at in every run
}

type priorityRule struct {
	globs []*site.Glob
	every int
}

// CompilePriorities compiles those of a job.
func CompilePriorities(j *job.Job) (p Priorities, err error) {
	for _, x := range j.Priority {
		globs, err := site.CompileGlobs("priority", x.Match)
		if err != nil {
			return p, err
		}
		if len(globs) > 0 {
			p.rules = append(p.rules, priorityRule{globs, int(max(x.Every, 1))})
		}
	}
	return p, nil
}

// Any reports whether there are any.
func (p Priorities) Any() bool { return len(p.rules) > 0 || p.HasEdits() }

// HasEdits reports whether the profiles of the programs that make the site name lists of changes.
func (p Priorities) HasEdits() bool {
	return slices.ContainsFunc(p.programs, (*profile.Profile).HasEdits)
}

// IsEdits reports whether a URL is such a list.
func (p Priorities) IsEdits(u site.URL) bool {
	return slices.ContainsFunc(p.programs, func(x *profile.Profile) bool { return x.IsEdits(u) })
}

// Noise is what the profiles of the programs name as noise.
func (p Priorities) Noise() (named []profile.Between) {
	for _, x := range p.programs {
		named = append(named, x.Noise...)
	}
	return named
}

// Of returns in every how many runs a URL is looked at; 0 for a URL without priority.
func (p Priorities) Of(u site.URL) (every int) {
	if p.IsEdits(u) {
		return 1
	}
	for _, r := range p.rules {
		if (every == 0 || every > r.every) && site.AnyMatches(r.globs, u) {
			every = r.every
		}
	}
	return every
}
