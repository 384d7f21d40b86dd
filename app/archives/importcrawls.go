// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/archive/crawls"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
)

// importCrawls makes a mirror of what crawlers recorded: a version of each crawl. The mirror is made aside,
// and has its name when it is whole.
func importCrawls(ctx context.Context, a *env.App, r ImportRequest, in *importInputs) (*Imported, error) {
	arch, err := r.Read(ctx, a, in)
	if err != nil {
		return nil, err
	}
	arch.Counted.Other += in.other
	arch.Counted.Damaged += in.damaged
	for _, err := range in.wrong {
		a.Warning(fmt.Sprintf("left out: %v", err))
	}
	if in.uncached {
		a.Warning("the project has no hts-cache/new.zip: what the site answered is guessed from its files")
	}
	j, file, err := r.job(a, arch)
	if err != nil {
		return nil, err
	}
	var now time.Time
	aside := *a
	aside.Now = func() time.Time { return now }
	now = arch.Crawls[0].First
	st, err := aside.MakeState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := freeName(st, r.As); err != nil {
		return nil, err
	}
	out := &Imported{
		Job:     r.As,
		URL:     j.Seeds()[0].String(),
		Counted: arch.Counted,
		Lost:    in.Lost,
		Changed: in.guessed,
		NoJob:   file == nil && !r.known,
		Scope:   j.Scope.Kind,
	}
	name := home.AsideName(r.As)
	if err := removeAside(st, name); err != nil {
		return nil, err
	}
	if err := r.make(ctx, a, st, name, j, arch, func(t time.Time) { now = t }, out); err != nil {
		return nil, errors.Join(err, st.RemoveSite(name))
	}
	if err := giveName(st, name, r.As); err != nil {
		return nil, err
	}
	if file != nil {
		if err := jobs.WriteNewJob(file.at, file.text); err != nil {
			return nil, fmt.Errorf("the mirror of %s is made, but its job file is not: %w", r.As, err)
		}
		out.File = file.at.File
	}
	return out, nil
}

// removeAside removes what a killed import has left.
func removeAside(st *store.State, name string) error {
	err := st.RemoveSite(name)
	if errors.Is(err, home.ErrNoSite) {
		return nil
	}
	return err
}

// giveName gives a site that was made aside its name.
func giveName(st *store.State, from, to string) error {
	held, err := st.HoldSite(from)
	if err != nil {
		return err
	}
	return errors.Join(held.Rename(to), held.Close())
}

// Read reads the archive.
func (r *ImportRequest) Read(ctx context.Context, a *env.App, in *importInputs) (*crawls.Recordings, error) {
	read := int64(0)
	shown := shownBytes{what: "reading", total: in.Size, say: a.Note}
	arch, err := crawls.Read(in.Files, crawls.Options{
		Lenient: r.Lenient,
		Indexed: r.Indexed,
		Scratch: in.scratch,
		Wrong:   func(err error) { a.Warning(fmt.Sprintf("left out: %v", err)) },
		Stopped: ctx.Err,
		Read: func(n int64) {
			shown.add(n - read)
			read = n
		},
	})
	if err != nil && ctx.Err() == nil && !r.Lenient && !errors.Is(err, crawls.ErrEmpty) {
		err = damagedArchive(err)
	}
	return arch, err
}

// damagedArchive says that an archive is damaged, of which nothing was to be left out.
func damagedArchive(err error) error {
	return &env.Error{Field: env.FieldDamaged, Err: fmt.Errorf("import: %w", err)}
}

// newJobFile is a job file that is to be written.
type newJobFile struct {
	at   *jobs.NewJobFile
	text []byte
}

// job returns the job of the import: that of the jobs directory, else one made for the archive. file is the
// one to be written.
func (r *ImportRequest) job(a *env.App, arch *crawls.Recordings) (j *job.Job, file *newJobFile, err error) {
	path := a.JobFile(r.As)
	j, err = a.ReadJob(r.As)
	switch {
	case err == nil && r.Job:
		return nil, nil, jobs.JobThere(r.As, path)
	case err == nil:
		r.known = true
		return entered(a, j, arch), nil, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	entry := arch.Entry()
	if r.URL != "" {
		if entry, _, err = site.Parse(r.URL); err != nil {
			return nil, nil, env.Fieldf(env.FieldURL, "url: %w", err)
		}
		entry = arch.Leads(entry)
	}
	text := job.TemplateOf(map[string]string{"url": entry.String(), "scope.kind": scopeFor(arch, entry)})
	if j, err = job.Parse(r.As, path, text); err != nil {
		return nil, nil, err
	}
	if !r.Job {
		return j, nil, nil
	}
	file = &newJobFile{at: &jobs.NewJobFile{Job: r.As, File: path}, text: text}
	err = jobs.MayWriteJob(a, file.at, text)
	if errors.Is(err, jobs.ErrBeside) { // the archive is imported all the same
		a.Warning(fmt.Sprintf("no job file is written: %v", err))
		return j, nil, nil
	}
	return j, file, err
}

// entered is a job with those of its entry points replaced that the archive redirects out of its scope.
func entered(a *env.App, j *job.Job, arch *crawls.Recordings) *job.Job {
	scope, err := j.ScopeRule()
	if err != nil {
		return j // the run reports it
	}
	to := *j
	to.URLs = slices.Clone(j.URLs)
	for i, u := range j.Seeds() {
		v := arch.Leads(u)
		if scope.Covers(v) {
			continue
		}
		names := to.AliasHosts()
		if to.URLs[i] = v.String(); slices.Contains(names, v.Host()) {
			others := slices.DeleteFunc(names, func(h string) bool { return h == v.Host() })
			to.Scope.Aliases = append(others, u.Host())
		}
		a.Warning(fmt.Sprintf("in the archive, %s redirects to %s, which the scope of the job leaves out: the "+
			"mirror begins there; make that the url in %s", u, v, j.File))
	}
	return &to
}

// scopeFor chooses the kind of scope that has most of an archive's URLs of the host of an entry point.
func scopeFor(arch *crawls.Recordings, entry site.URL) string {
	host, covered := 0, 0
	for _, u := range arch.Each() {
		if u.Hostname() != entry.Hostname() {
			continue
		}
		host++
		if strings.HasPrefix(u.Path(), entry.Dir()) {
			covered++
		}
	}
	if 10*covered >= 9*host {
		return "directory"
	}
	return "host"
}

// make makes the versions.
func (r *ImportRequest) make(
	ctx context.Context, a *env.App, st *store.State, name string, j *job.Job, arch *crawls.Recordings,
	clock func(time.Time), out *Imported,
) (err error) {
	s, err := st.OpenSite(name)
	if err != nil {
		return err
	}
	defer env.Close(&err, s)
	o := mirror.Options{
		Job:   j,
		State: st,
		Site:  s,
		Now:   st.Now,
		Log:   slog.New(slog.DiscardHandler),
		Progress: func(p status.Progress) {
			a.Progress(fmt.Sprintf("importing: %d URLs", p.Done))
		},
	}
	last, use, err := importAll(ctx, o, arch, clock)
	if err != nil {
		return fmt.Errorf("import as %s: %w", r.As, err)
	}
	for n := range arch.Each() {
		if use[n] == 0 {
			out.Unused++
		} else if use[n] == takenForbidden && j.ObeyRobots {
			out.Forbidden++
		}
	}
	out.Missing = last.Failed + last.Refused
	vs, err := s.Versions.List()
	for _, v := range vs {
		out.Versions = append(out.Versions, ImportedCrawl{
			Version: v.Number,
			Time:    v.Time,
			Files:   v.Files,
			Bytes:   v.Bytes,
		})
	}
	return err
}
