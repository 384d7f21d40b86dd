// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/near"
)

func PlanCommand(a *cli.CLI) *cobra.Command {
	var all, price bool
	cmd := &cobra.Command{
		Use: "plan JOB|URL",
		Long: `Show for every directory of a mirror what the next run would request, what it would skip, and why: by the job's policy
and what its runs observed. The plan is for the next scheduled time. No site is contacted.

For a URL, or a job without a mirror, up to 20 requests preview a first run: what robots.txt says, the entry page, what the
scope takes in, and how much that is at least. Exit code 1 when there is nothing to mirror.

The plan is a run in which nothing has changed, without its requests. A change that is found makes the run request more.
Requests of replicas, what reuse saves and guesses from scripts are not in it; jobs that have them say so.

Reasons to request: rate, probe, hub, new, max_skip, audit, entry point, source of evidence, failed before, named (by a page,
but not in the mirror). Reasons to skip: price, evidence, rule, budget. Guide: docs/skipping.md.

--price shows what prices, also of bytes, would have asked and missed in the runs so far.`,
		Example: `  mirrord plan samba
  mirrord plan samba --all
  mirrord plan https://www.samba.org/
  mirrord plan samba --price
  mirrord plan samba --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(cmd *cobra.Command, args []string) error {
			if price {
				return prices(cmd.Context(), a, args[0])
			}
			p, first, err := runs.PlanOrPreview(cmd.Context(), a.App(), args[0], time.Now())
			if err != nil {
				return err
			}
			if first != nil {
				return printPreview(a, first)
			}
			if a.JSON {
				return a.PrintJSON(p)
			}
			return p.WriteText(a.Stdout, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list every directory")
	cmd.Flags().BoolVar(&price, "price", false, "what prices would have come to")
	cli.MovedFlags(cmd, "plot")
	return cmd
}

// prices shows what prices would have come to.
func prices(ctx context.Context, a *cli.CLI, name string) error {
	x, done := a.AppWithNote()
	r, err := runs.Prices(ctx, x, name)
	done()
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	return printPrices(a, r)
}

// evolutionFlags are the flags of evolution.
type evolutionFlags struct {
	minDoC     float64
	structural bool
	sort       string
	top        int
}

func EvolutionCommand(a *cli.CLI) *cobra.Command {
	var f evolutionFlags
	cmd := &cobra.Command{
		Use: "evolution JOB",
		Long: `Show for every directory of a mirror, with all below it, how often and how much it changed from run to run:
  FOC    share of the runs in which it changed: estimated, and between which values with a chance of 90 %
  SEEN   runs of which it is known whether it changed
  DOC    degree of change in the runs in which anything changed, mean and maximum
  EDITS  files and directories that came, went or changed

What a run skipped is unobserved, not unchanged: what later runs find of it says when it may have changed. No site is
contacted. docs/skipping.md defines the figures,
docs/json.md the JSON.`,
		Example: `  mirrord evolution samba
  mirrord evolution samba --sort foc --top 20
  mirrord evolution samba --min-doc 0.05 --json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(_ *cobra.Command, args []string) error {
			return evolution(a, args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.Float64Var(&f.minDoC, "min-doc", 0, "a change counts from this degree of change on, 0 to 1")
	fl.BoolVar(&f.structural, "structural", false,
		"files with other contents are no change, only files that come and go")
	fl.StringVar(&f.sort, "sort", "path", "order: path, foc, doc or edits, the largest first")
	fl.IntVar(&f.top, "top", 0, "only so many directories; 0 is all")
	cli.OldFlags(cmd, "--json gives all figures", "min-doc", "structural", "sort")
	cmd.Aliases = []string{"history"}
	return cmd
}

func evolution(a *cli.CLI, name string, f evolutionFlags) error {
	by := look.EvolutionOrder(f.sort)
	if !slices.Contains(look.EvolutionOrders(), by) {
		return env.Usagef("--sort %s: want path, foc, doc or edits", f.sort)
	}
	if !(f.minDoC >= 0 && f.minDoC <= 1) {
		return env.Usagef("--min-doc %v: want a degree of change from 0 to 1", f.minDoC)
	}
	if f.top < 0 {
		return env.Usagef("--top %d: want a number of directories, or 0 for all", f.top)
	}
	e, err := look.Evolution(a.App(), look.EvolutionRequest{
		Job:        name,
		MinDoC:     f.minDoC,
		Structural: f.structural,
		By:         by,
		Top:        f.top,
	})
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(e)
	}
	if e.Runs == 0 {
		a.Printf("%s: changes are counted from one run to the next, and there was one run at most\n", e.Job)
		return nil
	}
	a.Printf("%s: changes in %s since %s\n", e.Job, count.Of(e.Runs, "run"), cli.TimeText(&e.First))
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "DIRECTORY\tFILES\tFOC\t90 %\tSEEN\tMEAN DOC\tMOST\tEDITS\tLAST CHANGE")
	for _, d := range e.Dirs {
		last := "never"
		if !d.LastChange.IsZero() {
			last = cli.TimeText(&d.LastChange)
		}
		foc := "-"
		if d.Known > 0 || d.FoCLow != nil {
			foc = fmt.Sprintf("%.2f", d.FoC)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%d of %d\t%.3f\t%.3f\t%d\t%s\n", strings.TrimSuffix(d.Path, "/")+"/",
			d.Files, foc, interval(d.FoCLow, d.FoCHigh), d.Seen, e.Runs, d.MeanDoC, d.MaxDoC, d.Edits, last)
	}
	return w.Flush()
}

// interval writes between which values something lies.
func interval(low, high *float64) string {
	switch {
	case low == nil || high == nil:
		return "-"
	case *low == *high:
		return "known"
	}
	return fmt.Sprintf("%.2f to %.2f", *low, *high)
}

func RulesCommand(a *cli.CLI) *cobra.Command {
	var format string
	var together bool
	cmd := &cobra.Command{
		Use: "rules JOB",
		Long: `List the negative evolution association rules (NEAR) of a mirror: directories that rarely changed when those above them
did. They are mined from what the job's runs observed, with the thresholds of its table [near]; policy near skips these
directories. Support and correlation are estimated for the runs that skipped, with the interval of 90 %. --format writes
exclusion lists of other programs. --together lists what changes with what instead. No site is contacted. docs/json.md
describes the JSON.`,
		Example: `  mirrord rules samba
  mirrord rules samba --together
  mirrord rules samba --json
  mirrord rules samba --format rsync > skip && rsync -a --exclude-from=skip rsync://www.samba.org/docs/ docs/
  mirrord rules samba --format wget > skip && wget --config=skip -m https://www.samba.org/
  mirrord rules samba --format lftp > skip && lftp -c 'mirror --exclude-rx-from=skip https://www.samba.org/'`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.CompleteJob,
		RunE: func(_ *cobra.Command, args []string) error {
			if together {
				if format != "text" && format != "json" {
					return env.Usagef("--format %s: lists have no place for what --together finds", format)
				}
				return rulesTogether(a, args[0], format)
			}
			return rules(a, args[0], format)
		},
	}
	cmd.Flags().BoolVar(&together, "together", false, "list directories that change with others")
	cmd.Flags().StringVar(&format, "format", "text", "text, json, rsync, wget or lftp")
	return cmd
}

func rules(a *cli.CLI, name, format string) error {
	if format != "text" && format != "json" && !slices.Contains(near.Formats(), near.SkipFormat(format)) {
		return env.Usagef("--format %s: want text, json, rsync, wget or lftp", format)
	}
	r, err := look.Rules(a.App(), name)
	if err != nil {
		return err
	}
	switch {
	case a.JSON || format == "json":
		return a.PrintJSON(r)
	case format != "text":
		for line, err := range r.Exclude(near.SkipFormat(format)) {
			if err != nil {
				fmt.Fprintf(a.Stderr, "mirrord: %v\n", err)
				continue
			}
			a.Printf("%s\n", line)
		}
		return nil
	}
	a.Printf("%s: %s from %s\n", r.Job, count.Of(len(r.Rules), "rule"), count.Of(r.Runs, "run"))
	if r.Truncated {
		a.Printf("there was too much to look at: some rules may be missing\n")
	}
	if len(r.Rules) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SKIP\tCONFIDENCE\tSUPPORT\tCORRELATION\tWHY")
	for _, x := range r.Rules {
		skip := strings.TrimSuffix(x.Directory, "/") + "/"
		if !x.Skipped {
			skip = "(" + skip + ")" // with one above it
		}
		support, phi := fmt.Sprintf("%.2f", x.Support), "none"
		if x.Correlation != nil {
			phi = fmt.Sprintf("%.2f", *x.Correlation)
		}
		if e := x.Estimate; e != nil {
			support, phi = e.SupportText(), e.CorrelationText()
		}
		fmt.Fprintf(w, "%s\t%.2f\t%s\t%s\t%s\n", skip, x.Confidence, support, phi, x.Why)
	}
	return w.Flush()
}

func rulesTogether(a *cli.CLI, name, format string) error {
	r, err := look.Together(a.App(), name)
	if err != nil {
		return err
	}
	if a.JSON || format == "json" {
		return a.PrintJSON(r)
	}
	a.Printf("%s: %s with others, in %s\n", r.Job,
		count.Of(len(r.Rules), "directory that changes", "directories that change"), count.Of(r.Runs, "run"))
	if len(r.Rules) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "DIRECTORY\tCHANGES WITH\tIN RUNS\tCONFIDENCE\tSUPPORT\tCORRELATION")
	for _, x := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.2f\t%s\t%s\n", strings.TrimSuffix(x.Directory, "/")+"/",
			strings.TrimSuffix(x.With, "/")+"/", x.Both, x.Confidence, x.Estimate.SupportText(),
			x.Estimate.CorrelationText())
	}
	return w.Flush()
}
