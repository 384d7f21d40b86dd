// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"fmt"
	"slices"

	"mirrord/app/env"
	"mirrord/mirror/finish"
	"mirrord/mirror/scope"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// AboutSite adds to the status of one job what only its site knows. A site that cannot be read adds nothing:
// judgeTree says why.
func AboutSite(j *status.Job, st *store.State) {
	var err error
	if j.Forgotten, err = forgottenLines(keptFacts{st, j.Name}, j.Name); err == nil {
		if g, gerr := store.GlanceAt(st, j.Name); gerr == nil {
			j.Hooks = hookLines(g.Hooks)
		}
	}
}

// WithoutForgotten takes what was forgotten since the last run out of the numbers that it reported.
func WithoutForgotten(j *status.Job, st *store.State) {
	down, err := scope.TakeDownsOf(keptFacts{st, j.Name})
	since := func(t scope.TakeDown) bool { return j.LastRun == nil || t.At.After(*j.LastRun) }
	if err != nil || !slices.ContainsFunc(down.List, since) {
		return
	}
	if g, err := store.GlanceAt(st, j.Name); err == nil && g.Version.Number == j.Version {
		j.Files, j.Bytes = g.Version.Files, g.Version.Bytes
	}
}

// siteFacts are the facts of a site, of its database or of its files.
type siteFacts interface {
	Fact(name string) ([]byte, error)
}

// keptFacts are the lasting facts of a site, which are read without its database.
type keptFacts struct {
	st   *store.State
	site string
}

// Fact returns a fact, nil without one.
func (f keptFacts) Fact(name string) ([]byte, error) {
	return f.st.LastingFact(f.site, name)
}

// DiskOf is what a mirror takes on the disk, as it was measured last; nil when that is not known.
func DiskOf(st *store.State, name string) *status.Disk {
	z, err := finish.SizesOf(st, name)
	if z == nil || err != nil {
		return nil
	}
	return &status.Disk{
		At:        z.At,
		Total:     z.Total(),
		Bodies:    z.Bodies,
		Documents: z.Documents,
		Trees:     z.Trees,
		Database:  z.Database,
	}
}

// mostForgotten is how many lines are said of what was taken out of a mirror.
const mostForgotten = 20

// forgottenLines says what was taken out of a mirror, and why.
func forgottenLines(facts siteFacts, name string) (lines []string, err error) {
	down, err := scope.TakeDownsOf(facts)
	if err != nil {
		return nil, err
	}
	for i := range down.List {
		if i == mostForgotten {
			lines = append(lines, fmt.Sprintf("and %d more: mirrord forget %s", len(down.List)-i, name))
			break
		}
		lines = append(lines, down.List[i].What+" "+down.List[i].Sentence())
	}
	return lines, nil
}

// MirrorWarnings says which URLs of its mirror the next run of a job does not request, because they were
// taken
// out.
func MirrorWarnings(a *env.App, name string) (lines []string) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil
	}
	defer st.Close()
	_ = env.View(st, name, func(s *store.Site) (err error) {
		if lines, err = forgottenLines(s.Notes, name); err != nil {
			return err
		}
		for i, line := range lines {
			lines[i] = "not requested: " + line
		}
		return nil
	})
	return lines
}
