// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
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
	s, err := a.Text("prices", r)
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, s)
	return errors.Join(err, w.Flush())
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
	return a.Show("evolution", e)
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
	return a.Say("rules", r)
}

func rulesTogether(a *cli.CLI, name, format string) error {
	r, err := look.Together(a.App(), name)
	if err != nil {
		return err
	}
	if a.JSON || format == "json" {
		return a.PrintJSON(r)
	}
	return a.Say("together", r)
}
