// SPDX-License-Identifier: Apache-2.0

package main

import (
	"mirrord/app/env"
	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/job"
	"mirrord/replay"
	"mirrord/testing/lab/experiments"
)

// options turns the flags into what a replay takes; set says which of them were given.
func (f *replayFlags) options(set func(string) bool) (o replay.Options, s replay.PolicySettings, err error) {
	o = replay.Options{
		Policy: policy.Name(f.policy),
		Train:  f.train,
		Near:   f.near,
		Expire: f.expire,
	}
	s.Train = f.train
	if f.train < 1 {
		return o, s, env.Usagef("--train %d: at least one full sync comes first", f.train)
	}
	all := known.All()
	of, registered := all.Find(o.Policy)
	switch {
	case o.Policy == replay.Nothing, o.Policy == replay.Never:
	case o.Policy == experiments.RoundRobin:
		if !isShare(f.budget) {
			err = env.Usagef("--budget %v: asking in turn needs a share above 0 and at most 1", f.budget)
		}
		o.Baseline, s.Budget = experiments.InTurn(f.budget), f.budget
	case !registered:
		err = env.Usagef("--policy %q: want %s", f.policy, env.Joined(all.Names(), "or"))
	case of.Rules:
		err = f.takeRules(&o, &s)
	case of.Weighs:
		err = f.takePrices(set, &o, &s)
	}
	if err != nil {
		return o, s, err
	}
	weighs := func(p policy.Definition) bool { return p.Weighs }
	rules := func(p policy.Definition) bool { return p.Rules }
	for _, x := range []struct {
		can   func(policy.Definition) bool
		flags []string
	}{
		{weighs, []string{"price", "price-mb", "late", "max-skip"}},
		{rules, []string{"alpha", "beta", "gamma", "min-conf", "zero", "structural", "expire"}},
	} {
		for _, flag := range x.flags {
			if set(flag) && !x.can(of) {
				return o, s, env.Usagef("--%s is for --policy %s", flag, env.Joined(all.That(x.can), "or"))
			}
		}
	}
	if set("budget") && !of.Weighs && o.Policy != experiments.RoundRobin {
		return o, s, env.Usagef("--budget is for --policy %s and %s", env.Joined(all.That(weighs), "or"),
			experiments.RoundRobin)
	}
	return o, s, nil
}

func isShare(v float64) bool { return v > 0 && v <= 1 }

// takeRules takes in the settings of a policy that follows rules.
func (f *replayFlags) takeRules(o *replay.Options, s *replay.PolicySettings) error {
	if err := o.Near.Zero.UnmarshalText([]byte(f.zero)); err != nil {
		return env.Usagef("--zero: %v", err)
	}
	if err := o.Near.Validate(); err != nil {
		return env.Usagef("%w", err)
	}
	if f.expire < 0 {
		return env.Usagef("--expire %d: want a number of steps, or 0 for never", f.expire)
	}
	s.TakeRules(&o.Near)
	s.Expire, s.Structural = f.expire, o.Near.Structural
	return nil
}

// takePrices takes in the settings of a policy that weighs requests.
func (f *replayFlags) takePrices(
	set func(string) bool, o *replay.Options, s *replay.PolicySettings,
) (err error) {
	switch {
	case !(f.price >= 0 && f.price <= 1):
		return env.Usagef("--price %v: want changed pages for a request, 0 to 1", f.price)
	case set("budget") && !isShare(f.budget):
		return env.Usagef("--budget %v: want a share above 0 and at most 1", f.budget)
	case f.maxSkip < 0:
		return env.Usagef("--max-skip %d: want a number of steps, or 0 for no bound", f.maxSkip)
	case !(f.priceMB >= 0 && f.priceMB <= policy.MostPriceMB):
		return env.Usagef("--price-mb %v: want changed pages for a megabyte, 0 to %v", f.priceMB,
			policy.MostPriceMB)
	}
	if set("late") {
		if o.Late, err = job.ParseDuration(f.late); err != nil {
			return env.Usagef("--late: %w", err)
		}
		if o.Late <= 0 {
			return env.Usagef("--late %s: want a time above 0", f.late)
		}
		s.Late = o.Late.Hours()
	}
	o.Price, o.Budget, o.MaxSkip, o.PriceMB = f.price, f.budget, f.maxSkip, f.priceMB
	s.Price, s.Budget, s.MaxSkip, s.PriceMB = &f.price, f.budget, f.maxSkip, f.priceMB
	if f.price == 0 {
		o.Price = -1
	}
	if set("budget") && !set("price") {
		o.Price, s.Price = -1, nil
	}
	return nil
}
