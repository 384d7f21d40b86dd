// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/phm/space"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// maxKeptProblems bounds the report on a ruined site.
const maxKeptProblems = 1000

// Verified is what Verify found: of the files, and of a job also of its stored bodies.
type Verified struct {
	*phm.Report
	Kept         *upkeep.Stats    `json:"kept,omitempty"`
	KeptProblems []upkeep.Problem `json:"kept_problems,omitempty"`
	Running      bool             `json:"running,omitempty"` // a run was writing it meanwhile
	Sample       *Sample          `json:"sample,omitempty"`  // which share was read; nil: all

	Damaged []upkeep.LostBody `json:"damaged,omitempty"` // stored bodies, with the versions that need them
}

// Verify checks a mirror: a file, a directory, or that of a job, of which the stored bodies are checked
// too. links says whether the links of pages are read in files and directories; of a job they always are.
// Damage is in the report, and is no error.
func Verify(ctx context.Context, a *env.App, what string, links bool) (*Verified, error) {
	out := new(Verified)
	fi, err := os.Stat(what)
	switch file := env.IsFile(a, what); {
	case file && fi.IsDir():
		out.Report, err = verifyFolder(ctx, a, what, links)
	case file:
		out.Report, err = verifyFile(ctx, a, what, links)
	case !strings.ContainsRune(what, os.PathSeparator):
		name := strings.TrimSuffix(what, scheduler.Suffix)
		if out, err = verifySite(ctx, a, name, verifyAll); err == nil {
			err = out.addSpaces(a, name)
		}
	}
	return out, err
}

// CanBeMade reports damage of files that are made from stored data: of the published tree of a job, or
// mirror.db.
func (r *Verified) CanBeMade() bool {
	return slices.ContainsFunc(r.KeptProblems, func(p upkeep.Problem) bool {
		return p.Kind == upkeep.BadTree || p.Kind == upkeep.BadCurrent || p.Kind == upkeep.BadShared
	})
}

// Count is how many problems there are, with those that are not listed.
func (r *Verified) Count() int {
	n := len(r.Problems) + r.More
	if r.Kept != nil {
		n += r.Kept.Problems
	}
	return n
}

// verifyFolder checks a PHM directory, or a folder of records: WARC and WACZ files, a project of HTTrack.
func verifyFolder(ctx context.Context, a *env.App, dir string, links bool) (*phm.Report, error) {
	if _, err := os.Lstat(filepath.Join(dir, phm.MetaName)); err == nil {
		return verifyDir(ctx, dir, links)
	}
	if space.IsArchive(dir) {
		return archives.VerifySpace(ctx, dir, links)
	}
	r := archives.ImportRequest{Files: []string{dir}, Lenient: true}
	in, err := r.OpenInputs(ctx)
	defer in.CloseAll()
	switch {
	case err != nil:
		return nil, err
	case len(in.Files) == 0:
		return verifyDir(ctx, dir, links) // which reports missing files
	}
	out := new(phm.Report)
	wrong := func(format string, args ...any) {
		p := phm.Problem{Kind: phm.Unreadable, Detail: fmt.Sprintf(format, args...)}
		if len(out.Problems) >= maxKeptProblems {
			out.More++
			return
		}
		out.Problems = append(out.Problems, p)
	}
	if in.Lost > 0 {
		wrong("answers whose files are missing or have another size: %d", in.Lost)
	}
	note := *a
	note.Warn = func(what string) { wrong("%s", what) }
	arch, err := r.Read(ctx, &note, in)
	if err != nil {
		return nil, err
	}
	out.Files, out.Bytes = arch.Counted.Records, in.Size
	return out, nil
}

func verifyDir(ctx context.Context, dir string, links bool) (*phm.Report, error) {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return archives.VerifyTree(ctx, regular.Until(ctx, root.FS()), links)
}

func verifyFile(ctx context.Context, a *env.App, name string, links bool) (*phm.Report, error) {
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return report.VerifyArchive(ctx, archives.ShownAt(f, fi.Size(), a.Note), fi.Size(), links)
}

// verifySite checks a job's mirror: all that is kept of it, its published tree, and that the two agree.
// While a run is under way that is what the run had committed when the check began.
func verifySite(ctx context.Context, a *env.App, name string, check siteCheck) (*Verified, error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	if err := runs.NotOfGet(a); err != nil {
		return nil, err
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out, stale, err := verifyView(ctx, st, name, check)
	if (err == nil) && stale && out.Count() > 0 {
		// Bodies and files that went while they were checked look like damage, but not to a second check, which
		// misses others.
		first := out
		if out, stale, err = verifyView(ctx, st, name, check); (err == nil) && stale {
			out.keepCommon(first)
		}
	}
	if err != nil {
		return nil, err
	}
	return out, out.addShared(st)
}

// addShared adds the damage of mirror.db, which belongs to no site.
func (r *Verified) addShared(st *store.State) error {
	err := st.Shared.Check()
	if _, damaged := errors.AsType[*db.DatabaseError](err); !damaged {
		return err
	}
	r.KeptProblems = append(r.KeptProblems, upkeep.Problem{
		Kind:    upkeep.BadShared,
		Subject: "mirror.db",
		Detail:  err.Error(),
	})
	r.Kept.Problems++
	return nil
}

// addSpaces adds the damage of a mirror in its space: files, and links to other mirrors.
func (r *Verified) addSpaces(a *env.App, mirror string) error {
	state, err := a.State()
	if err != nil {
		return err
	}
	names, err := space.Names(state)
	for _, name := range names {
		found, verr := space.Verify(state, name, mirror)
		err = errors.Join(err, verr)
		for _, f := range found {
			r.Problems = append(r.Problems, phm.Problem{
				Kind:   phm.BrokenLink,
				Path:   space.FilesDir(name) + "/" + space.MirrorFolder(mirror) + "/" + f.Path,
				Detail: f.What + "; mirrord help space says how it is made again",
			})
		}
	}
	return err
}

// siteCheck checks a site, and fills in how much it looked at.
type siteCheck func(ctx context.Context, s *store.Site, out *Verified, found func(upkeep.Problem)) error

// verifyAll is the check of all that is kept.
func verifyAll(ctx context.Context, s *store.Site, out *Verified, found func(upkeep.Problem)) error {
	var urls []string
	stats, err := report.Verify(ctx, s, func(p upkeep.Problem) {
		urls = appendBody(urls, p)
		found(p)
	})
	if (err == nil) && len(urls) > 0 {
		var h upkeep.BodyRepairs
		h, err = s.Heal(ctx, urls, nil)
		out.Damaged = h.Lost
	}
	out.Kept, out.Files, out.Bytes, out.Linked = &stats.Stats, stats.Files, stats.Size, stats.Linked
	return err
}

// verifyView checks a view of a site; stale says that something was committed meanwhile.
func verifyView(
	ctx context.Context, st *store.State, name string, check siteCheck,
) (out *Verified, stale bool, err error) {
	s, err := st.ViewSite(name)
	if err != nil {
		return nil, false, err
	}
	defer env.Close(&err, s)
	if vs, err := s.Versions.List(); err == nil && len(vs) == 0 {
		return nil, false, fmt.Errorf("site %s: %w", name, record.ErrNoVersion)
	}
	out = &Verified{Report: new(phm.Report), Running: s.DB.Busy}
	err = check(ctx, s, out, func(p upkeep.Problem) {
		if len(out.KeptProblems) < maxKeptProblems {
			out.KeptProblems = append(out.KeptProblems, p)
		}
	})
	return out, s.DB.Stale(), err
}

// keepCommon drops the problems that another check has not found. A list that was cut is left as it is: the
// site is ruined.
func (r *Verified) keepCommon(other *Verified) {
	if len(r.KeptProblems) < r.Kept.Problems || len(other.KeptProblems) < other.Kept.Problems {
		return
	}
	r.KeptProblems = commonProblems(r.KeptProblems, other.KeptProblems)
	r.Kept.Problems = len(r.KeptProblems)
}
