// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"fmt"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/replay"
)

func TuneCommand(a *cli.CLI) *cobra.Command {
	var requests float64
	var late string
	cmd := a.Command("tune", cli.Flags{
		"requests": &requests,
		"late":     &late,
	}, func(cmd *cobra.Command, args []string) error {
		g, err := tuneGoal(cmd, requests, late)
		if err != nil {
			return err
		}
		x, done := a.AppWithNote()
		r, err := runs.Tune(cmd.Context(), x, args[0], g)
		done()
		if err != nil {
			return err
		}
		if a.JSON {
			return a.PrintJSON(r)
		}
		printTuned(a, r, late)
		return nil
	})
	cmd.MarkFlagsOneRequired("requests", "late")
	return cmd
}

func tuneGoal(cmd *cobra.Command, requests float64, late string) (g replay.Goal, err error) {
	if cmd.Flags().Changed("requests") {
		if !(requests > 0) || math.IsInf(requests, 0) {
			return g, env.Usagef("--requests %v: want a number above 0", requests)
		}
		g.Requests = requests
		return g, nil
	}
	g.Late, err = cli.LateGoal(late)
	return g, err
}

// printTuned writes what was found; late is the goal as it was given, "" for one of requests.
func printTuned(a *cli.CLI, r *runs.TuneReport, late string) {
	price := priceText(r.Price)
	goal := "at most " + strconv.FormatFloat(r.Goal, 'f', -1, 64) + " requests a run"
	if r.LateHours > 0 {
		goal = "changes found at most " + lateText(&r.LateHours) + " late"
	}
	if r.Met {
		a.Printf("%s: price %s for %s\n", r.Job, price, goal)
	} else {
		a.Printf("%s: no price gives %s; %s comes nearest\n", r.Job, goal, price)
	}
	a.Printf("  in the last %d of its %s: %s\n", r.Whole.Steps, count.Of(r.Runs, "run"), stretchText(&r.Whole))
	if t := r.Trial; t != nil {
		with := ""
		switch {
		case r.MaxRequests > 0:
			with = " and its limit"
		case late != "":
			with = " and this goal"
		}
		a.Printf("  tried on the later half, with the price %s of the first%s: %s\n", priceText(t.Price), with,
			stretchText(&t.Late))
	}
	a.Printf("  the job has %s; to change it:\n\n[adaptive]\nprice = %s\n", priceText(r.InForce), price)
	if late != "" {
		a.Printf("late = %q\n", late)
	}
	if r.MaxRequests > 0 {
		a.Printf("\n[limits]\nmax_requests = %d\n", r.MaxRequests)
	}
}

// printPrices writes what prices would have come to.
func printPrices(a *cli.CLI, r *runs.PriceReport) error {
	steps := r.Runs - r.Train
	a.Printf("%s: what prices would have come to in the last %d of its %d runs\n", r.Job, steps, r.Runs)
	w := tabwriter.NewWriter(a.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	row := func(price float64, p *replay.Priced, inForce bool) {
		found, here := "-", ""
		if p.Whole.Found != nil {
			found = percent(*p.Whole.Found)
		}
		if inForce {
			here = " in force"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%s\t%.1f\t%s\t%s\t%s\t%s\n", priceText(price), p.Whole.Requests,
			percent(p.Whole.OfFull), p.Whole.MB, percent(p.Whole.OfFullMB), found, lateText(p.Whole.Late), here)
	}
	const heads = "\tREQUESTS A RUN\tOF FULL\tMB A RUN\tOF FULL\tFOUND AT ONCE\tLATE BY\t"
	fmt.Fprintln(w, "PRICE"+heads)
	for i := range r.Prices {
		row(r.Prices[i].Price, &r.Prices[i], r.Prices[i].Price == r.InForce)
	}
	fmt.Fprintln(w, "PRICE OF A MB"+heads)
	for i := range r.Megabytes {
		row(r.Megabytes[i].PriceMB, &r.Megabytes[i], r.Megabytes[i].PriceMB == r.InForceMB)
	}
	return w.Flush()
}

func stretchText(s *replay.Stretch) string {
	text := fmt.Sprintf("%.0f requests a run, %s of all", s.Requests, percent(s.OfFull))
	if s.Found != nil {
		text += fmt.Sprintf("; %s of the changes found at once, the mean change %s late", percent(*s.Found),
			lateText(s.Late))
	}
	return text
}

// lateText is a number of hours for people.
func lateText(hours *float64) string {
	switch {
	case hours == nil:
		return "-"
	case *hours < 1:
		return fmt.Sprintf("%.0f min", *hours*60)
	case *hours < 72:
		return fmt.Sprintf("%.0f h", *hours)
	}
	return fmt.Sprintf("%.0f days", *hours/24)
}

// priceText is a price with two digits that count.
func priceText(p float64) string { return strconv.FormatFloat(round2(p), 'f', -1, 64) }

func round2(p float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(p, 'g', 2, 64), 64)
	if err != nil {
		return p
	}
	return v
}

func percent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
