// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/cmd/mirrord/cli"
	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/near"
	"mirrord/replay"
)

// replayFlags are the settings of a replay as the command line has them.
type replayFlags struct {
	policy  string
	price   float64
	late    string
	train   int
	maxSkip int
	steps   bool
}

func ReplayCommand(a *cli.CLI) *cobra.Command {
	f := replayFlags{policy: string(policy.Adaptive), price: policy.DefaultPrice, train: replay.DefaultTrain}
	c := a.Command("replay", cli.Flags{
		"policy":   &f.policy,
		"price":    &f.price,
		"train":    &f.train,
		"late":     &f.late,
		"max-skip": &f.maxSkip,
		"steps":    &f.steps,
	}, func(cmd *cobra.Command, args []string) error {
		return runReplay(a, cmd, &f, args)
	})
	c.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, part string,
	) ([]string, cobra.ShellCompDirective) {
		names, _ := a.CompleteJob(cmd, nil, part)
		return names, cobra.ShellCompDirectiveDefault
	}
	c.Flag("policy").Usage = "the `POLICY`: " + env.Joined(known.All().Names(), "or") + "; nothing, never"
	return c
}

// options turns the flags into what a replay takes.
func (f *replayFlags) options(cmd *cobra.Command) (o replay.Options, s replay.PolicySettings, err error) {
	set := cmd.Flags().Changed
	o = replay.Options{Policy: policy.Name(f.policy), Train: f.train, Near: near.Third()}
	s.Train = f.train
	if f.train < 1 {
		return o, s, env.Usagef("--train %d: at least one full sync comes first", f.train)
	}
	all := known.All()
	of, registered := all.Find(o.Policy)
	switch {
	case o.Policy == replay.Nothing, o.Policy == replay.Never:
	case o.Policy == "roundrobin":
		return o, s, env.Usagef("--policy %s: %w", o.Policy, cli.Moved("replay"))
	case !registered:
		return o, s, env.Usagef("--policy %q: want %s", f.policy, env.Joined(all.Names(), "or"))
	case of.Rules:
		s.TakeRules(&o.Near)
	case of.Weighs:
		if !(f.price >= 0 && f.price <= 1) {
			return o, s, env.Usagef("--price %v: want changed pages for a request, 0 to 1", f.price)
		}
		if f.maxSkip < 0 {
			return o, s, env.Usagef("--max-skip %d: want a number of steps, or 0 for no bound", f.maxSkip)
		}
		if set("late") {
			if o.Late, err = cli.LateGoal(f.late); err != nil {
				return o, s, err
			}
			s.Late = o.Late.Hours()
		}
		o.Price, o.MaxSkip, s.Price, s.MaxSkip = f.price, f.maxSkip, &f.price, f.maxSkip
		if f.price == 0 {
			o.Price = -1
		}
	}
	for _, flag := range []string{"price", "late", "max-skip"} {
		if set(flag) && !of.Weighs {
			weigh := all.That(func(p policy.Definition) bool { return p.Weighs })
			return o, s, env.Usagef("--%s is for --policy %s", flag, env.Joined(weigh, "or"))
		}
	}
	return o, s, nil
}

func runReplay(a *cli.CLI, cmd *cobra.Command, f *replayFlags, args []string) error {
	o, settings, err := f.options(cmd)
	if err != nil {
		return err
	}
	report := replay.PolicyReport{Policy: o.Policy, Settings: settings}
	report.Sites, err = look.Replays(cmd.Context(), a.App(), args, &o, func(*replay.History) {})
	if err != nil {
		return err
	}
	report.Mean = replay.Mean(report.Sites)
	if a.JSON {
		return a.PrintJSON(report)
	}
	return report.WriteText(a.Stdout, f.steps || len(args) == 1)
}
