// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/job"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store"
)

// maxKeptProblems bounds what is said of a ruined site.
const maxKeptProblems = 1000

// Verified is what Verify found: of the files, and of a job also of what is kept besides.
type Verified struct {
	*phm.Report
	Kept         *store.Stats    `json:"kept,omitempty"`
	KeptProblems []store.Problem `json:"kept_problems,omitempty"`
	Running      bool            `json:"running,omitempty"` // a run is under way, so that only the files could be checked
}

// Verify checks a mirror: a file, a directory, or that of a job, of which what is kept besides is checked too. links says whether the links of pages are read
// in files and directories; of a job they always are. What is wrong is in the report, and is no error.
func Verify(ctx context.Context, a *App, what string, links bool) (*Verified, error) {
	report := new(Verified)
	fi, err := os.Stat(what)
	if err == nil && fi.IsDir() && !strings.ContainsRune(what, os.PathSeparator) {
		if _, perr := os.Stat(filepath.Join(what, phm.MetaName)); errors.Is(perr, fs.ErrNotExist) {
			err = perr // some folder that happens to have a job's name
		}
	}
	switch {
	case err == nil && fi.IsDir():
		report.Report, err = verifyDir(ctx, what, links)
	case err == nil:
		report.Report, err = verifyFile(ctx, what, links)
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(what, os.PathSeparator):
		report, err = verifySite(ctx, a, what)
	}
	return report, err
}

// TreeIsWrong reports whether something is wrong with the published tree of a job, which is made of what is kept besides.
func (r *Verified) TreeIsWrong() bool {
	return slices.ContainsFunc(r.KeptProblems, func(p store.Problem) bool { return p.Kind == store.BadTree || p.Kind == store.BadCurrent })
}

// Count is how many problems there are, with those that are not listed.
func (r *Verified) Count() int {
	n := len(r.Problems) + r.More
	if r.Kept != nil {
		n += r.Kept.Problems
	}
	return n
}

// verifyTree checks a PHM directory, with the links of its documents or without.
func verifyTree(ctx context.Context, fsys fs.FS, links bool) (*phm.Report, error) {
	if links {
		return mirror.VerifyTree(ctx, fsys)
	}
	return phm.Verify(fsys, phm.VerifyOptions{})
}

func verifyDir(ctx context.Context, dir string, links bool) (*phm.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return verifyTree(ctx, root.FS(), links)
}

func verifyFile(ctx context.Context, name string, links bool) (*phm.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if links {
		return mirror.VerifyArchive(ctx, f, fi.Size())
	}
	return phm.VerifyArchive(f, fi.Size(), phm.Limits{}, phm.VerifyOptions{})
}

// verifySite checks a job's mirror: all that is kept of it, its published tree, and that the two agree. While a run is under way only the
// tree can be looked at.
func verifySite(ctx context.Context, a *App, name string) (*Verified, error) {
	if !job.ValidName(name) {
		return nil, Usagef("%q cannot name a job", name)
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.ReadSite(name)
	if errors.Is(err, store.ErrLocked) {
		root, err := OpenTree(st, name)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		report, err := verifyTree(ctx, root.FS(), true)
		return &Verified{Report: report, Running: true}, err
	} else if err != nil {
		return nil, err
	}
	if vs, err := s.Versions.List(); err == nil && len(vs) == 0 {
		return nil, errors.Join(fmt.Errorf("site %s: %w", name, store.ErrNoVersion), s.Close())
	}
	out := &Verified{Report: new(phm.Report)}
	stats, err := mirror.Verify(ctx, s, true, func(p store.Problem) {
		if len(out.KeptProblems) < maxKeptProblems {
			out.KeptProblems = append(out.KeptProblems, p)
		}
	})
	out.Kept, out.Files, out.Bytes, out.Linked = &stats.Stats, stats.Files, stats.Size, stats.Linked
	return out, errors.Join(err, s.Close())
}
