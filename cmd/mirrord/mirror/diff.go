// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/mirror/result"
	"mirrord/phm"
	"mirrord/phm/diff"
	"mirrord/scheduler"
)

// diffFlags are the flags of diff.
type diffFlags struct {
	html  bool
	files bool
	held  bool
	all   bool
	since string
}

func DiffCommand(a *cli.CLI) *cobra.Command {
	var f diffFlags
	return a.Command("diff", cli.Flags{
		"html":  &f.html,
		"held":  &f.held,
		"all":   &f.all,
		"since": &f.since,
		"files": &f.files,
	}, func(_ *cobra.Command, args []string) error {
		return runDiff(a, args, f)
	})
}

// diffArgs takes the arguments apart: numbers first; 0 is the default.
func diffArgs(args []string) (name string, a, b int, path string, err error) {
	name = strings.TrimSuffix(args[0], scheduler.Suffix)
	args = args[1:]
	for _, n := range []*int{&a, &b} {
		if len(args) > 0 && args[0] != "" && strings.Trim(args[0], "0123456789") == "" {
			if *n, err = versionArg(args[0]); err != nil {
				return name, a, b, path, err
			}
			args = args[1:]
		}
	}
	if len(args) > 1 {
		return name, a, b, path, env.Usagef("%q: versions are numbers, and one PATH comes after them", args[0])
	}
	if len(args) == 1 {
		path = args[0]
	}
	return name, a, b, path, nil
}

func runDiff(a *cli.CLI, args []string, f diffFlags) error {
	name, from, to, path, err := diffArgs(args)
	if err != nil {
		return err
	}
	r := look.DiffRequest{
		Job:   name,
		From:  from,
		To:    to,
		Path:  path,
		Page:  f.html,
		Files: f.files,
		Held:  f.held || len(args) == 1,
		All:   f.all,
	}
	if f.since != "" {
		if r.Held = f.held; (from != 0) || f.held {
			return env.Usagef("--since names the older version: give no numbers and no --held with it")
		}
		if r.Since, err = dateArg(f.since); err != nil {
			return err
		}
	}
	if f.held && ((from != 0) || f.html) {
		return env.Usagef("--held compares with the current version: no numbers and no --html go with it")
	}
	c, err := look.Diff(a.App(), r)
	hidden := errors.Is(err, fs.ErrPermission)                   // notes of runs are the owner's
	if !f.held && (hidden || errors.Is(err, look.ErrNoneHeld)) { // the default is the last two versions
		r.Held = false
		if c, err = look.Diff(a.App(), r); hidden && (err == nil) {
			fmt.Fprintf(a.Stderr, "mirrord: these are published versions; a run held for review only the owner "+
				"of the state may read, and mirrord status %s shows it\n", name)
		}
	}
	switch {
	case errors.Is(err, look.ErrNoPage):
		return env.Usagef("--html is for one page: give its PATH")
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(c)
	case f.html:
		return printPage(a, c, f)
	}
	if err := printDifference(a, c, f); err != nil || !f.all {
		return err
	}
	return a.Say("noise", c)
}

func printDifference(a *cli.CLI, c *look.Difference, f diffFlags) error {
	if c.What != "" {
		return printPage(a, c, f)
	}
	return c.WriteText(a.Stdout, f.since)
}

// dateArg reads a date: a day or a month begins at midnight of this machine's time zone.
func dateArg(arg string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, "2006-01", time.RFC3339} {
		if t, err := time.ParseInLocation(layout, arg, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, env.Usagef("--since %s: want a date such as 2026-03-01", arg)
}

func printPage(a *cli.CLI, c *look.Difference, f diffFlags) error {
	title := func(version int, f *phm.File) string {
		if f == nil {
			return fmt.Sprintf("version %d: not there", version)
		}
		return fmt.Sprintf("version %d: %s, %s", version, f.Path, result.Bytes(f.Size))
	}
	titles := diff.Titles{Old: title(c.A, c.Before), New: title(c.B, c.After)}
	switch {
	case f.html:
		return c.Diff.WriteHTML(a.Stdout, fmt.Sprintf("%s: %s", c.Job, c.Path), titles)
	case c.What == "same":
		a.Printf("%s: %s is the same in versions %d and %d\n", c.Job, c.Path, c.A, c.B)
		return nil
	}
	return c.Diff.WriteText(a.Stdout, titles)
}
