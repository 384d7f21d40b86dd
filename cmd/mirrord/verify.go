package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/store"
)

func (a *app) verifyCommand() *cobra.Command {
	var noLinks, rebuild bool
	cmd := &cobra.Command{
		Use:   "verify JOB|PATH",
		Short: "Check that a mirror is whole and what it says it is",
		Long: `Check a published mirror, a PHM directory or a PHM archive: every file is there with the size and digest that phm.files says, nothing else
is, names are safe on every system, and every relative link of every page leads to a file. Of a JOB what is kept besides is checked too: the
database, every stored body, links and history. What exists as a file or as a directory with a phm.json is a PATH, all else a JOB; write ./NAME
for a path that is also a job's name. Exit code 1 when something is wrong.

The next run mends single bodies. A database (site.db) that cannot be read stops all runs: --rebuild then makes it anew from the published version,
which stays published. Older versions are lost, and the next run asks for every page once more. What was there is kept in the site's folder
"damaged". A database that can be read is left alone.`,
		Example: `  mirrord verify samba
  mirrord verify samba.phm
  mirrord verify --rebuild samba`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rebuild {
				return a.rebuild(cmd.Context(), args[0])
			}
			return a.verify(cmd.Context(), args[0], !noLinks)
		},
	}
	cmd.Flags().BoolVar(&noLinks, "no-links", false, "do not read the links of pages")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false, "of a JOB whose database cannot be read: make it anew from the published version")
	return cmd
}

// maxKeptProblems bounds what is said of a ruined site.
const maxKeptProblems = 1000

// verified is what was found: of the files, and of a job also of what is kept besides.
type verified struct {
	*phm.Report
	Kept         *store.Stats    `json:"kept,omitempty"`
	KeptProblems []store.Problem `json:"keptProblems,omitempty"`
	Running      bool            `json:"running,omitempty"` // a run is under way, so that only the files could be checked
}

func (a *app) verify(ctx context.Context, what string, links bool) error {
	report := new(verified)
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
		report, err = a.verifySite(ctx, what)
	}
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		for _, p := range report.Problems {
			a.printf("%s\n", p)
		}
		for _, p := range report.KeptProblems {
			a.printf("%s\n", p)
		}
		if report.More > 0 {
			a.printf("%d more problems are not shown\n", report.More)
		}
		a.printf("%s: %s\n", what, verifySummary(report))
	}
	if report.problems() > 0 {
		return &exitErr{code: exitError}
	}
	return nil
}

// problems counts those that are not shown too.
func (r *verified) problems() int {
	n := len(r.Problems) + r.More
	if r.Kept != nil {
		n += r.Kept.Problems
	}
	return n
}

func verifySummary(r *verified) string {
	s := fmt.Sprintf("%d files, %s; links of %d read; ", r.Files, mirror.Bytes(r.Bytes), r.Linked)
	switch {
	case r.Running:
		s += "a run is under way, so what is kept besides was not looked at; "
	case r.Kept != nil:
		s += fmt.Sprintf("%d records, %d stored bodies read; ", r.Kept.Records, r.Kept.Frames+r.Kept.Blobs)
	}
	switch n := r.problems(); n {
	case 0:
		return s + "all is well"
	case 1:
		return s + "1 problem"
	default:
		return fmt.Sprintf("%s%d problems", s, n)
	}
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
func (a *app) verifySite(ctx context.Context, name string) (*verified, error) {
	st, err := a.mustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	root, err := openTree(st, name)
	if err != nil {
		return nil, damagedHint(name, err)
	}
	defer root.Close()
	s, err := st.ReadSite(name)
	if errors.Is(err, store.ErrLocked) {
		report, err := verifyTree(ctx, root.FS(), true)
		return &verified{Report: report, Running: true}, err
	} else if err != nil {
		return nil, damagedHint(name, err)
	}
	out := &verified{Report: new(phm.Report)}
	stats, err := mirror.Verify(ctx, s, true, func(p store.Problem) {
		if len(out.KeptProblems) < maxKeptProblems {
			out.KeptProblems = append(out.KeptProblems, p)
		}
	})
	out.Kept, out.Files, out.Bytes, out.Linked = &stats.Stats, stats.Files, stats.Size, stats.Linked
	return out, errors.Join(err, s.Close())
}
