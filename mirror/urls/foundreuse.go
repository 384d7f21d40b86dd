// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"fmt"
	"time"

	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/store"
	"mirrord/store/home"
)

// FoundReuseFact is the name of the fact of a site that is a FoundReuse.
const FoundReuseFact = "reuse-found"

// FoundReuse is a collection of a site that another job mirrors too. The zero value means none.
type FoundReuse struct {
	Searched time.Time `json:"searched"`
	Job      string    `json:"job,omitempty"`
	From     string    `json:"from,omitempty"`
	At       string    `json:"at,omitempty"`
	Same     int       `json:"same,omitempty"` // files with the same bytes there
	Bytes    int64     `json:"bytes,omitempty"`
	Files    int       `json:"files,omitempty"` // that this site has below At
}

// LastFoundReuse reads what was found last.
func LastFoundReuse(f Facts) (FoundReuse, error) {
	last, _, err := ReadFact[FoundReuse](f, FoundReuseFact)
	return last, err
}

// Says is what the summary says of it; auto: the job takes it without being told.
func (r *FoundReuse) Says(auto bool) string {
	saves := fmt.Sprintf("the mirror of %s has %d of the %s under %s with the same bytes, under %s", r.Job,
		r.Same, count.Of(r.Files, "file"), r.At, r.From)
	if auto {
		return saves + ": the next run verifies some and takes the rest from there (reuse = \"auto\")"
	}
	const form = "%s: reuse.job = %q, reuse.from = %q, reuse.at = %q saves %s of a first run, and %d MB"
	return fmt.Sprintf(form, saves, r.Job, r.From, r.At, count.Of(r.Same, "request"), r.Bytes/1_000_000)
}

// WithFoundReuse is the job of a run: one with reuse = "auto" reuses what was found after an earlier run. st
// is nil for a run that only reads.
func WithFoundReuse(j *job.Job, s *store.Site, st *store.State) (*job.Job, error) {
	if !j.FindsReuse() || st == nil {
		return j, nil
	}
	found, err := foundFor(s, st)
	if err != nil || found.Job == "" {
		return j, err
	}
	with := *j
	with.Reuse = job.Reuse{Job: found.Job, From: found.From, At: found.At}
	return &with, nil
}

// foundFor is what a job reuses by itself in the next run: what was found last, unless that job takes files
// of this one. Of jobs that found one another in a circle the first by name does not take part.
func foundFor(s *store.Site, others *store.State) (FoundReuse, error) {
	found, err := LastFoundReuse(s.Notes)
	if err != nil || found.Job == "" {
		return FoundReuse{}, err
	}
	least := s.Name
	for at, n := found.Job, 0; n < maxReuseChain; n++ {
		next, fixed, err := reusedBy(at, others)
		switch {
		case err != nil && (n == 0 || !errors.Is(err, home.ErrNoSite)):
			return FoundReuse{}, notNone(err)
		case err != nil || next == "":
			return found, nil
		case next == s.Name && (fixed || least == s.Name):
			return FoundReuse{}, nil
		case next == s.Name:
			return found, nil
		}
		least = min(least, at)
		at = next
	}
	return FoundReuse{}, nil
}

// notNone is nil when there is no mirror.
func notNone(err error) error {
	if errors.Is(err, home.ErrNoSite) {
		return nil
	}
	return err
}

// maxReuseChain bounds how many mirrors may take files of one another in a chain.
const maxReuseChain = 16

// reusedBy is the job of which another one takes files, or will; fixed: it has done so.
func reusedBy(job string, others *store.State) (next string, fixed bool, err error) {
	s, err := others.ViewSite(job)
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	type verified struct {
		Job string `json:"job"`
	}
	used, _, err := ReadFact[verified](s.Notes, ReuseFact)
	if err != nil || used.Job != "" {
		return used.Job, true, err
	}
	found, err := LastFoundReuse(s.Notes)
	return found.Job, false, err
}

// ReuseFact is the name of the fact of a site that says what it reuses, and when that was verified.
const ReuseFact = "reuse"
