// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/internal/count"
	"mirrord/near"
	"mirrord/replay"
	"mirrord/testing/lab/experiments"
)

// replayFlags are the settings of a replay as the command line has them.
type replayFlags struct {
	policy  string
	price   float64
	priceMB float64
	late    string
	budget  float64
	train   int
	maxSkip int
	near    near.Options
	zero    string
	expire  int
	steps   bool

	experiments bool
	plot        string
}

func replayCommand(l *lab) *cobra.Command {
	f := replayFlags{near: near.Third()}
	c := &cobra.Command{
		Use:   "replay FILE…|JOB",
		Short: "Try a policy on recorded history",
		Long: `Replay the recorded history of sites as mirrord replay does, with all settings of the policies, the experiments of the
paper on NEAR, the worth of each idea of adaptive, and drawings. FILE is a site history; of a JOB it is what its runs
observed.

docs/replay.md defines the figures, costs, policies and the file format, docs/json.md the JSON.`,
		Example: `  lab replay kafka.history.tsv.gz --policy near --alpha 0.1 --zero strict --json
  lab replay kafka.history.tsv.gz --policy full --experiments
  lab replay samba --state /var/lib/mirrord --train 5 --plot samba.svg`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(l, cmd, &f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.policy, "policy", string(policy.Adaptive), env.Joined(known.All().Names(), "or")+
		"; nothing, never, roundrobin")
	fl.Float64Var(&f.price, "price", policy.DefaultPrice, "adaptive: price of a request")
	fl.Float64Var(&f.priceMB, "price-mb", 0, "adaptive: price of a megabyte")
	fl.StringVar(&f.late, "late", "", "`TIME` of adaptive.late")
	fl.Float64Var(&f.budget, "budget", 0, "adaptive, roundrobin: share of URLs a step")
	fl.IntVar(&f.train, "train", replay.DefaultTrain, "full syncs first")
	fl.IntVar(&f.maxSkip, "max-skip", 0, "adaptive: most steps without a request")
	fl.Float64Var(&f.near.MinDoC, "alpha", f.near.MinDoC, "near: least significant degree of change")
	fl.Float64Var(&f.near.MinFoC, "beta", f.near.MinFoC, "near: least frequency of change")
	fl.Float64Var(&f.near.MinCoC, "gamma", f.near.MinCoC, "near: least negative correlation")
	fl.Float64Var(&f.near.MinConfidence, "min-conf", f.near.MinConfidence, "near: least confidence")
	fl.StringVar(&f.zero, "zero", f.near.Zero.String(), "near: undefined correlation: strict, zero or never")
	fl.BoolVar(&f.near.Structural, "structural", false, "near: ignore changed contents")
	fl.IntVar(&f.expire, "expire", 0, "near: request the skipped every `K` steps")
	fl.BoolVar(&f.steps, "steps", false, "print all steps")
	fl.BoolVar(&f.experiments, "experiments", false, "add the NEAR paper's experiments")
	fl.StringVar(&f.plot, "plot", "", "draw into this SVG `FILE`")
	return c
}

func runReplay(l *lab, cmd *cobra.Command, f *replayFlags, args []string) error {
	o, settings, err := f.options(cmd.Flags().Changed)
	if err != nil {
		return err
	}
	report := replayReport{PolicyReport: replay.PolicyReport{Policy: o.Policy, Settings: settings}}
	var hs []*replay.History
	report.Sites, err = look.Replays(cmd.Context(), l.app(), args, &o, func(h *replay.History) {
		if f.plot != "" || f.experiments {
			hs = append(hs, h)
		}
	})
	if err != nil {
		return err
	}
	if f.experiments {
		if err := report.experiment(hs); err != nil {
			return err
		}
	}
	if f.plot != "" {
		if err := plot(l, cmd, f.plot, hs, o); err != nil {
			return err
		}
	}
	report.Mean = replay.Mean(report.Sites)
	if l.json {
		return l.printJSON(report)
	}
	return report.write(l.stdout, f.steps || len(args) == 1)
}

// plot writes the trade-off of the histories, and the picture of a single one.
func plot(l *lab, cmd *cobra.Command, name string, hs []*replay.History, o replay.Options) error {
	log := l.log()
	curves, err := experiments.TradeOff(hs, o, func(setting string) error {
		log.Debug("replay", "policy", setting)
		return cmd.Context().Err()
	})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d sites: savings and costs", len(hs))
	var p *experiments.Picture
	if len(hs) == 1 {
		h := hs[0]
		first, last := h.Versions[0].Time, h.Versions[len(h.Versions)-1].Time
		title = fmt.Sprintf("%s, %s, %s to %s", h.Site, count.Of(len(h.Versions), "version"),
			first.Format("2006-01-02"), last.Format("2006-01-02"))
		if p, err = experiments.NewPicture(h, o); err != nil {
			return err
		}
	}
	return writeSVG(name, func(w io.Writer) error { return experiments.Plot(w, title, curves, p) })
}
