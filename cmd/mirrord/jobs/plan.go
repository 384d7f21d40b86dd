// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	return a.Command("plan", cli.Flags{
		"all":   &all,
		"price": &price,
	}, func(cmd *cobra.Command, args []string) error {
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
	})
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
	f := evolutionFlags{sort: "path"}
	return a.Command("evolution", cli.Flags{
		"min-doc":    &f.minDoC,
		"structural": &f.structural,
		"sort":       &f.sort,
		"top":        &f.top,
	}, func(_ *cobra.Command, args []string) error {
		return evolution(a, args[0], f)
	})
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
	w := a.Tabs()
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
	format, correlated := "text", false
	return a.Command("rules", cli.Flags{
		"format":     &format,
		"correlated": &correlated,
		"together":   &correlated,
	}, func(_ *cobra.Command, args []string) error {
		if correlated {
			if format != "text" && format != "json" {
				return env.Usagef("--format %s: lists have no place for what --correlated finds", format)
			}
			return rulesTogether(a, args[0], format)
		}
		return rules(a, args[0], format)
	})
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
	w := a.Tabs()
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
	w := a.Tabs()
	fmt.Fprintln(w, "DIRECTORY\tCHANGES WITH\tIN RUNS\tCONFIDENCE\tSUPPORT\tCORRELATION")
	for _, x := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.2f\t%s\t%s\n", strings.TrimSuffix(x.Directory, "/")+"/",
			strings.TrimSuffix(x.With, "/")+"/", x.Both, x.Confidence, x.Estimate.SupportText(),
			x.Estimate.CorrelationText())
	}
	return w.Flush()
}
