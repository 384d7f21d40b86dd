package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/mirror"
	"mirrord/store"
)

// collected is the report of gc.
type collected struct {
	DryRun bool              `json:"dryRun,omitempty"`
	Sites  []collectedSite   `json:"sites"`
	Blobs  *store.BlobsFreed `json:"blobs,omitempty"`
	Busy   string            `json:"busy,omitempty"` // why blobs were left
}

type collectedSite struct {
	Name    string            `json:"job"`
	Dropped []int             `json:"dropped,omitempty"` // versions
	Packs   *store.Compaction `json:"packs,omitempty"`
	Parts   *store.PartsFreed `json:"parts,omitempty"`
	Problem string            `json:"problem,omitempty"`
	Locked  bool              `json:"locked,omitempty"`
}

func (a *app) gcCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc [JOB…]",
		Short: "Drop versions beyond the keep rules and free what nothing refers to",
		Long: `Drop the versions that a job's publish.keep does not want, and give back the space of stored documents that no version refers to any more: for
the jobs named, or for all. Then the stored bodies that no site refers to are deleted; for that nothing may be running, because they are
shared. A mirror without a job file keeps its versions. The beginning of a large file that was cut off is dropped when no run has gone on with it for
30 days.

A run applies publish.keep by itself after each version; gc frees the space. Exit code 5: something was left because a run is under way.`,
		Example: `  mirrord gc --dry-run
  mirrord gc samba`,
		ValidArgsFunction: a.completeJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.gc(cmd.Context(), args, dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would be done")
	return cmd
}

func (a *app) gc(ctx context.Context, names []string, dry bool) error {
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, jobSuffix)
		if !job.ValidName(names[i]) {
			return usagef("%q cannot name a job", name)
		}
	}
	st, err := a.mustWriteState()
	if err != nil {
		return err
	}
	defer st.Close()
	if len(names) == 0 {
		if names, err = st.Sites(); err != nil {
			return err
		}
	}
	c := collected{DryRun: dry, Sites: []collectedSite{}}
	bad, locked := false, false
	for _, name := range names {
		s := a.gcSite(ctx, st, name, dry)
		if err := ctx.Err(); err != nil {
			return err
		}
		bad, locked = bad || s.Problem != "" && !s.Locked, locked || s.Locked
		c.Sites = append(c.Sites, s)
	}
	if locked {
		c.Busy = "a run is under way"
	} else if blobs, err := st.CollectBlobs(ctx, dry); err == nil {
		c.Blobs = &blobs
	} else {
		c.Busy, locked = err.Error(), errors.Is(err, store.ErrLocked)
		bad = bad || !locked
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(c)
	} else {
		a.printCollected(c)
		err = nil
	}
	switch {
	case err != nil:
		return err
	case bad:
		return &exitErr{code: exitError}
	case locked:
		return &exitErr{code: exitLocked}
	}
	return nil
}

// gcSite does one site. What goes wrong is in the report: the others are done all the same.
func (a *app) gcSite(ctx context.Context, st *store.State, name string, dry bool) (c collectedSite) {
	c.Name = name
	fail := func(err error) collectedSite {
		c.Problem, c.Locked = err.Error(), errors.Is(err, store.ErrLocked)
		return c
	}
	j, err := readJob(filepath.Join(a.jobsDir(), name+jobSuffix))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	s, err := st.ReadSite(name) // a site that is not there is not to be made
	if err == nil && !dry {
		if err = s.Close(); err == nil {
			s, err = st.OpenSite(name)
		}
	}
	if errors.Is(err, store.ErrNoSite) && j != nil {
		return c // it has not run yet
	}
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := s.Close(); err != nil && c.Problem == "" {
			c.Problem = err.Error()
		}
	}()
	if j != nil {
		if c.Dropped, err = mirror.Thin(j, s, time.Now(), dry); err != nil {
			return fail(err)
		}
	}
	packs, err := s.Compact(ctx, dry)
	if err != nil {
		return fail(err)
	}
	c.Packs = &packs
	parts, err := s.CollectParts(dry, func(_ string, grown time.Time) bool { return time.Since(grown) > partLife })
	if err != nil {
		return fail(err)
	}
	if parts.Parts > 0 || parts.Kept > 0 {
		c.Parts = &parts
	}
	return c
}

// partLife is how long the beginning of a large file waits for a run that goes on with it.
const partLife = 30 * 24 * time.Hour

func (a *app) printCollected(c collected) {
	would := ""
	if c.DryRun {
		would = "would be "
	}
	for _, s := range c.Sites {
		if s.Problem != "" {
			a.printf("%s: left as it is: %s\n", s.Name, s.Problem)
			continue
		}
		var what []string
		if n := len(s.Dropped); n > 0 {
			what = append(what, fmt.Sprintf("%d versions %sdropped (%s)", n, would, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Dropped)), ", "), "[]")))
		}
		if s.Packs != nil && s.Packs.Packs > 0 {
			what = append(what, fmt.Sprintf("%s of documents %sfreed", bytesText(s.Packs.Freed), would))
		}
		if s.Packs != nil && len(s.Packs.Damaged) > 0 {
			what = append(what, fmt.Sprintf("left because they are damaged: %s (see mirrord verify %s)", strings.Join(s.Packs.Damaged, ", "), s.Name))
		}
		if s.Parts != nil && s.Parts.Parts > 0 {
			what = append(what, fmt.Sprintf("%s of %d files that were cut off %sfreed", bytesText(s.Parts.Freed), s.Parts.Parts, would))
		}
		if len(what) == 0 {
			what = []string{"nothing to do"}
		}
		a.printf("%s: %s\n", s.Name, strings.Join(what, "; "))
	}
	switch b := c.Blobs; {
	case b == nil:
		a.printf("other stored bodies are left as they are: %s\n", c.Busy)
	case b.Blobs > 0:
		a.printf("%d other stored bodies %sdeleted, %s freed\n", b.Blobs, would, bytesText(b.Freed))
	}
	if c.DryRun && slices.ContainsFunc(c.Sites, func(s collectedSite) bool { return len(s.Dropped) > 0 }) {
		a.printf("what dropping versions would free besides is known once they are dropped\n")
	}
}
