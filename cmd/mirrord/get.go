package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

func (a *app) getCommand() *cobra.Command {
	var set []string
	var out string
	cmd := &cobra.Command{
		Use:   "get URL…",
		Short: "Mirror a site once, without a job file",
		Long: `Mirror a site into a directory, or into one portable archive when PATH ends in .phm. The first URL is the entry point.

Without --state the work lies in a hidden folder beside PATH until the mirror is complete; a get that was interrupted is resumed by the same
command. With --state the mirror is kept there under the name of its host and brought up to date by the same command; PATH is then only
written when -o is given, and an existing mirror at PATH is brought up to date file by file.`,
		Example: `  mirrord get https://www.samba.org/samba/docs/
  mirrord get https://example.org/ -o example.phm --set polite.delay=1s
  mirrord get http://intranet.example/ --set polite.connections=16 --set polite.delay=0s --set polite.factor=0`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			j := job.Default(args...)
			if err := applySets(j, set); err != nil {
				return err
			}
			j.Name = job.NameFor(j.Seeds()[0])
			if a.stateFlag != "" {
				return a.getKept(cmd.Context(), j, out)
			}
			return a.getOnce(cmd.Context(), j, out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`PATH` of the mirror: NAME.phm is an archive, else a directory (default: the host's name)")
	setFlag(cmd, &set)
	return cmd
}

// getKept mirrors into the state directory and, when out is given, exports the published version to it.
func (a *app) getKept(ctx context.Context, j *job.Job, out string) error {
	if out != "" {
		if err := checkOutput(out); err != nil {
			return err
		}
	}
	if err := a.runJob(ctx, j, engineOptions{}); err != nil || out == "" {
		return err
	}
	st, err := a.mustState()
	if err != nil {
		return err
	}
	defer st.Close()
	root, err := openTree(st, j.Name)
	if err != nil {
		return err
	}
	defer root.Close()
	return exportTree(root.FS(), out, formatOf(out))
}

// finishedFor is how long a complete mirror that could not be moved to its place is taken for what was asked.
const finishedFor = time.Hour

// getOnce mirrors into a hidden folder beside out and moves the result into its place. The folder lies on the same file system, so that
// the move is one rename; it stays when the run does not complete, and the same command goes on from it.
func (a *app) getOnce(ctx context.Context, j *job.Job, out string) error {
	if out == "" {
		out = j.Name
	}
	if err := checkOutput(out); err != nil {
		return err
	}
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	work := filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".mirrord")
	// Without a sync: a loss of power costs this run, kill -9 does not.
	st, err := store.OpenState(work, store.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer st.Close()
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return err
	}
	defer s.Close()
	sum, err := a.finished(s)
	if sum == nil && err == nil {
		sum, err = a.runSite(ctx, j, st, s, engineOptions{})
	}
	if sum == nil {
		return err
	}
	if err == nil && sum.Verdict == mirror.Complete {
		if err = place(s, out); err == nil {
			sum.Path = out
			s.Close() // before its folder goes; closing twice is harmless
			st.Close()
			err = os.RemoveAll(work)
		}
	}
	if rerr := a.report(ctx, sum, err); rerr != nil {
		return rerr
	}
	if !a.json {
		a.printf("  open: %s\n", openHint(out, sum.Entry))
	}
	return nil
}

// finished returns the summary of a complete run that was cut off before its result was moved to its place; nil when there is none.
func (a *app) finished(s *store.Site) (*mirror.Summary, error) {
	run, err := s.Run()
	if err != nil || run != nil {
		return nil, err
	}
	vs, err := s.Versions()
	if err != nil || len(vs) == 0 {
		return nil, err
	}
	v := vs[len(vs)-1]
	if age := time.Since(v.Time); age < 0 || age > finishedFor {
		return nil, nil
	}
	sum := &mirror.Summary{Job: s.Name, Started: v.Time, Ended: v.Time, Resumed: true, Published: true, Version: v.Number, Files: v.Files, Size: v.Bytes, Added: v.Added}
	sum.Notes = []mirror.Note{{What: "the run was complete already and only had to be moved to its place", Count: 1}}
	return sum, nil
}

// openHint is what a person opens to see the mirror.
func openHint(out, entry string) string {
	if formatOf(out) != formatDir {
		return out
	}
	return filepath.Join(out, filepath.FromSlash(entry))
}

// checkOutput refuses a place where something else stands than a mirror.
func checkOutput(out string) error {
	if strings.HasSuffix(out, string(filepath.Separator)) && formatOf(strings.TrimRight(out, "/")) != formatDir {
		return usagef("-o %s: an archive's name has no slash at its end", out)
	}
	abs, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if filepath.Dir(abs) == abs {
		return usagef("-o %s: that is the root of the file system", out)
	}
	fi, err := os.Stat(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(filepath.Dir(abs), 0o755)
	}
	if err != nil {
		return err
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(fi, here) {
		return usagef("-o %s: the mirror cannot replace the directory that you are in; name a new one", out)
	}
	if format := formatOf(abs); format != formatDir {
		return replaceable(out, format)
	}
	if !fi.IsDir() {
		return fmt.Errorf("-o %s: a file stands there; name a directory, or a file that ends in .phm", out)
	}
	entries, err := os.ReadDir(abs)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(abs, "phm.json")); err != nil {
		return fmt.Errorf("-o %s: the directory is not empty and holds no mirror; choose another one or empty it", out)
	}
	return nil
}
