// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/spaces"
	"mirrord/internal/count"
	"mirrord/mirror/scope"
	"mirrord/mirror/takedown"
	"mirrord/scheduler/status"
	"mirrord/serve/find"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Forgetting is a take-down: what a mirror loses for good.
type Forgetting struct {
	Job       string   `json:"job"`
	What      string   `json:"what"` // URL or pattern
	Reason    string   `json:"reason"`
	URLs      []string `json:"urls"`           // that the mirror has, or has in a kept version
	Also      []string `json:"also,omitempty"` // of URLs: other names of the same files
	Versions  int      `json:"versions"`       // that have files of them
	Elsewhere []string `json:"elsewhere,omitempty"`
	Left      []string `json:"left,omitempty"` // what remains to be done, and how

	down []scope.TakeDown
}

// shownURLs is how many of the URLs are shown that would be forgotten.
const shownURLs = 20

// Plan says line by line what goes.
func (f *Forgetting) Plan() []string {
	lines := []string{"from " + count.Of(f.Versions, "version") + ", and all that is stored:"}
	lines = append(lines, f.URLs[:min(len(f.URLs), shownURLs)]...)
	if n := len(f.URLs) - shownURLs; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	if len(f.URLs) == 0 {
		lines = append(lines, "nothing: the mirror has none of it; it would not be requested")
	}
	for _, u := range f.Also {
		lines = append(lines, u+" is another name of one of these files")
	}
	for _, line := range f.Elsewhere {
		lines = append(lines, "also elsewhere: "+line)
	}
	return lines
}

// PlanForget finds what Forget would take out of the mirror of a job, and where else it lies. It changes
// nothing. It reads at most so many other mirrors, and says how many were left out.
func PlanForget(a *env.App, name, what, reason string, most int) (*Forgetting, error) {
	d, err := a.JobOnDisk(name)
	if err != nil {
		return nil, err
	}
	if reason = strings.Join(strings.Fields(reason), " "); reason == "" {
		return nil, &env.Error{Kind: env.Usage, Field: env.FieldReason,
			Err: errors.New("a reason is missing, which status and explain show")}
	}
	if d.Mirror == "" {
		return nil, env.Usagef("forget: %s has no mirror yet; scope.exclude in %s keeps URLs out of it",
			d.Name, d.File)
	}
	down, err := takeDownOf(what)
	if err != nil {
		return nil, err
	}
	f := &Forgetting{
		Job:    d.Name,
		What:   down.What,
		Reason: reason,
		URLs:   []string{},
	}
	if env.InDepots(d.Mirror) {
		f.Left = append(f.Left, "a depot has it until the next push, and mirrord cluster gc twice after that")
	}
	down.Reason, down.At = reason, a.Clock().UTC()
	err = env.ViewState(a, d.Name, func(st *store.State, s *store.Site) error {
		return f.plan(a, d, st, s, down, most)
	})
	return f, err
}

// takeDownOf parses the argument of a take-down: a URL without a wildcard, or a pattern.
func takeDownOf(what string) (d scope.TakeDown, err error) {
	url := !look.IsPath(what) && !strings.ContainsAny(what, "*\\")
	if url {
		u, _, err := site.Parse(what)
		if err != nil {
			return d, env.Usagef("forget: %w", err)
		}
		d.What = u.String()
		return d, nil
	}
	if _, err := site.CompileGlob(what); err != nil {
		return d, env.Usagef("forget: %w; patterns are those of scope.exclude: \"/path/**\", \"*.iso\"", err)
	}
	d.What, d.Glob = what, true
	return d, nil
}

// plan finds out what the site has, and what the others have.
func (f *Forgetting) plan(
	a *env.App, d *env.JobOnDisk, st *store.State, s *store.Site, down scope.TakeDown, most int,
) error {
	found, err := takedown.Find(s, down)
	if err != nil {
		return err
	}
	f.Also, f.Elsewhere = nil, nil
	f.URLs, f.Versions = append([]string{}, found.URLs...), found.Versions
	down.URLs, down.Versions = len(f.URLs), f.Versions
	f.down = append([]scope.TakeDown{down}, found.Twins...)
	for _, t := range found.Twins {
		f.Also = append(f.Also, t.What)
	}
	if err := f.keepsEntry(d, found); err != nil {
		return err
	}
	for _, u := range found.Shared {
		f.Elsewhere = append(f.Elsewhere, fmt.Sprintf("%s has a body in common with it and stays", u))
	}
	return f.others(a, st, found, most)
}

// keepsEntry is an error when the mirror would lose the page that it begins with.
func (f *Forgetting) keepsEntry(d *env.JobOnDisk, found *takedown.Sought) error {
	entry := found.Entry
	if d.Job != nil {
		all, err := new(scope.TakeDowns).With(f.down...)
		if err != nil {
			return err
		}
		for _, u := range d.Job.Seeds() {
			if all.Has(u) {
				entry = u.String()
			}
		}
	}
	if entry == "" {
		return nil
	}
	return env.Usagef("forget: %s is the entry point of %s, without which there is no mirror; "+
		"give the job another url and run it first, or delete the mirror with mirrord remove %s",
		entry, f.Job, f.Job)
}

// others finds out which other mirrors of the state have it too, by reading at most so many.
func (f *Forgetting) others(a *env.App, st *store.State, found *takedown.Sought, most int) error {
	all, err := new(scope.TakeDowns).With(f.down...)
	if err != nil {
		return err
	}
	names, err := st.Sites()
	if err != nil {
		return err
	}
	urls := map[string]bool{}
	for _, u := range found.URLs {
		urls[u] = true
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == f.Job })
	for i, name := range names {
		if i == most {
			f.Elsewhere = append(f.Elsewhere, fmt.Sprintf("%s not looked through: mirrord forget %s %q does that",
				count.Of(len(names)-i, "mirror"), f.Job, f.What))
			break
		}
		var has, copied, shares string // an example of each
		err := env.View(st, name, func(s *store.Site) error {
			return s.Records.Every(func(rec *record.Resource) error {
				_, shared := found.Bodies[rec.Digest]
				switch {
				case rec.Body == record.NoBody:
				case all.Has(rec.URL):
					has = rec.URL.String()
				case urls[rec.Source]:
					copied = rec.URL.String()
				case shared && rec.Body == record.BlobBody:
					shares = rec.URL.String()
				}
				return nil
			})
		})
		switch {
		case errors.Is(err, home.ErrNoSite):
			continue
		case err != nil:
			f.Elsewhere = append(f.Elsewhere, fmt.Sprintf("whether %s has it is not known: %v", name, err))
		}
		f.say(has, "%[2]s mirrors it too, as %[1]s: %[3]s", name, f.What)
		f.say(copied, "%[2]s has a copy that came from there, as %[1]s: %[3]s", name, copied)
		f.say(shares, "%[2]s has a body in common with it, as %[1]s, which stays", name, shares)
	}
	for _, name := range a.Reusers(f.Job) {
		f.Elsewhere = append(f.Elsewhere, fmt.Sprintf("%s reuses the mirror of %s, and may have copies under its "+
			"own URLs: see mirrord explain %s URL", name, f.Job, name))
	}
	return nil
}

// say adds a line about an example of another job, if there is one, and how to forget what it has.
func (f *Forgetting) say(example, format, name, what string) {
	if example != "" {
		f.Elsewhere = append(f.Elsewhere, fmt.Sprintf(format, example, name, status.ForgetHint(name, what)))
	}
}

// Forget carries out a planned take-down. It is an error during a run. The same request continues after an
// interruption, and so does the next run or start of the daemon.
func Forget(ctx context.Context, a *env.App, f *Forgetting) error {
	c, err := a.NotRunning(ctx, f.Job)
	if err != nil {
		return err
	}
	st, err := a.MustWriteState()
	if err != nil {
		return err
	}
	defer jobs.TellChanged(ctx, c, a)
	defer st.Close()
	s, err := st.OpenSite(f.Job)
	if errors.Is(err, disk.ErrLocked) {
		return env.RunInProgress(f.Job)
	}
	if err != nil {
		return err
	}
	err = takedown.Begin(s, f.down...)
	if err == nil { // no word of it stays: the index is made again without it
		err = find.Remove(st.Dir)
	}
	var packs []string
	if err == nil {
		packs, err = takedown.Finish(ctx, st, s, a.Log)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if spaces.StateHasSpaces(st) {
		if err := spaces.UpdateSpaces(ctx, a, st, []string{f.Job}); err != nil {
			return fmt.Errorf("the space may have files of it: %w", err)
		}
	}
	for _, p := range packs {
		f.Left = append(f.Left, fmt.Sprintf("%s has a damaged document, and may hold bytes of what was forgotten: "+
			"mirrord verify %s, mirrord run-now %s, then mirrord gc %s", p, f.Job, f.Job, f.Job))
	}
	switch err := collectForgotten(ctx, st); {
	case errors.Is(err, disk.ErrLocked):
		f.Left = append(f.Left, "bodies that mirrors share are deleted when no run is in progress: "+
			"the daemon does that, and so does mirrord gc")
	case err != nil:
		return err
	}
	return nil
}

// collectForgotten deletes the bodies that nothing refers to, and notes in each site that has forgotten
// something that it is done.
func collectForgotten(ctx context.Context, st *store.State) error {
	if _, err := st.CollectBlobs(ctx, false); err != nil {
		return err
	}
	return SharedForgotten(st)
}

// SharedForgotten notes in each site that has forgotten something that shared bodies were collected.
func SharedForgotten(st *store.State) error {
	_, err := eachLeft(st, takedown.SharedDone, scope.SharedLeft)
	return err
}

// eachLeft continues to forget in each site of which something is left, and lists them. A site that is locked
// is passed over: its run, or the next collection, does it.
func eachLeft(
	st *store.State, do func(*store.Site) error, left ...scope.TakeDownWork,
) (names []string, err error) {
	names, err = sitesLeft(st, left...)
	for _, name := range names {
		s, oerr := st.OpenSite(name)
		if errors.Is(oerr, disk.ErrLocked) {
			continue
		}
		if oerr == nil {
			oerr = errors.Join(do(s), s.Close())
		}
		err = errors.Join(err, oerr)
	}
	return names, err
}

// sitesLeft lists the sites of which something is left to forget.
func sitesLeft(st *store.State, left ...scope.TakeDownWork) (out []string, err error) {
	names, err := st.Sites()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		s, err := st.ViewSite(name)
		if err != nil {
			continue // a run, verify and status report the damage
		}
		down, err := scope.TakeDownsOf(s.Notes)
		if err == nil && slices.Contains(left, down.Left) {
			out = append(out, name)
		}
		if err := s.Close(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// FinishForgetting continues the take-downs that a killed process has begun.
func FinishForgetting(ctx context.Context, a *env.App, st *store.State) {
	names, err := eachLeft(st, func(s *store.Site) error {
		_, err := takedown.Finish(ctx, st, s, a.Log)
		return err
	}, scope.EraseLeft, scope.SharedLeft)
	if err == nil && len(names) > 0 {
		if err = collectForgotten(ctx, st); errors.Is(err, disk.ErrLocked) {
			err = nil // the next collection does it
		}
	}
	if err != nil && ctx.Err() == nil {
		a.Log.Error("going on to forget", "err", err)
	}
}

// ForgottenIn is what was taken out of the mirror of a job.
func ForgottenIn(a *env.App, name string) (*scope.TakeDowns, error) {
	d, err := a.JobOnDisk(name)
	if err != nil {
		return nil, err
	}
	down := &scope.TakeDowns{}
	if d.Mirror != "" {
		err = env.ViewState(a, d.Name, func(_ *store.State, s *store.Site) (err error) {
			down, err = scope.TakeDownsOf(s.Notes)
			return err
		})
	}
	if down.List == nil {
		down.List = []scope.TakeDown{}
	}
	return down, err
}

// AllowAgain lets something be mirrored again that was forgotten.
func AllowAgain(ctx context.Context, a *env.App, name, what string) error {
	d, err := a.JobOnDisk(name)
	if err != nil {
		return err
	}
	down, err := takeDownOf(what)
	if err != nil {
		return err
	}
	if _, err := a.NotRunning(ctx, d.Name); err != nil {
		return err
	}
	st, err := a.MustWriteState()
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := st.OpenSite(d.Name)
	if errors.Is(err, disk.ErrLocked) {
		return env.RunInProgress(d.Name)
	}
	if err != nil {
		return err
	}
	_, err = takedown.Finish(ctx, st, s, a.Log)
	was := false
	if err == nil {
		was, err = takedown.Allow(s, down.What)
	}
	if err = errors.Join(err, s.Close()); err == nil && !was {
		return env.Usagef("%s was not forgotten; mirrord forget %s lists what was", down.What, d.Name)
	}
	return err
}
