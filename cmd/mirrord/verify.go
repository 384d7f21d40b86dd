package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/mirror"
	"mirrord/phm"
)

func (a *app) verifyCommand() *cobra.Command {
	var noLinks bool
	cmd := &cobra.Command{
		Use:   "verify JOB|PATH",
		Short: "Check that a mirror is whole and what it says it is",
		Long: `Check a published mirror, a PHM directory or a PHM archive: every file is there with the size and digest that phm.files says, nothing else
is, names are safe on every system, and every relative link of every page leads to a file. What exists as a file or directory is a PATH, all
else a JOB; write ./NAME for a path that is also a job's name. Exit code 1 when something is wrong.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob,
		RunE: func(_ *cobra.Command, args []string) error {
			o := phm.VerifyOptions{Links: checkLinks()}
			if noLinks {
				o.Links = nil
			}
			return a.verify(args[0], o)
		},
	}
	cmd.Flags().BoolVar(&noLinks, "no-links", false, "do not read the links of pages")
	return cmd
}

func (a *app) verify(what string, o phm.VerifyOptions) error {
	var report *phm.Report
	fi, err := os.Stat(what)
	switch {
	case err == nil && fi.IsDir():
		report, err = verifyDir(what, o)
	case err == nil:
		report, err = verifyFile(what, o)
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(what, os.PathSeparator):
		report, err = a.verifySite(what, o)
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
		if report.More > 0 {
			a.printf("%d more problems are not shown\n", report.More)
		}
		a.printf("%s: %s\n", what, verifySummary(report))
	}
	if len(report.Problems) > 0 {
		return &exitErr{code: exitError}
	}
	return nil
}

func verifySummary(r *phm.Report) string {
	s := fmt.Sprintf("%d files, %s; links of %d read; ", r.Files, mirror.Bytes(r.Bytes), r.Linked)
	switch n := len(r.Problems) + r.More; n {
	case 0:
		return s + "all is well"
	case 1:
		return s + "1 problem"
	default:
		return fmt.Sprintf("%s%d problems", s, n)
	}
}

func verifyDir(dir string, o phm.VerifyOptions) (*phm.Report, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return phm.Verify(root.FS(), o)
}

func verifyFile(name string, o phm.VerifyOptions) (*phm.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return phm.VerifyArchive(f, fi.Size(), phm.Limits{}, o)
}

// verifySite checks the published tree of a job.
func (a *app) verifySite(name string, o phm.VerifyOptions) (*phm.Report, error) {
	st, err := a.mustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	root, err := openTree(st, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return phm.Verify(root.FS(), o)
}
