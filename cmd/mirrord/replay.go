// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mirrord/app"
	"mirrord/evolution/policy"
	"mirrord/evolution/policy/known"
	"mirrord/internal/count"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/near"
	"mirrord/replay"
	"mirrord/scheduler"
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
	ablation    bool
	plot        string
}

// replayReport is what mirrord replay --json writes.
type replayReport struct {
	Policy   policy.Name      `json:"policy"`
	Settings replaySettings   `json:"settings"`
	Sites    []*replay.Result `json:"sites"`
	Mean     replay.Total     `json:"mean"` // over the sites, each counted the same

	Experiments *experiments     `json:"experiments,omitempty"`
	Ablation    []replay.IdeaRow `json:"ablation,omitempty"`
}

// experiments are the tables of --experiments.
type experiments struct {
	VaryK     []replay.ExperimentRow `json:"vary_k"`
	VaryTrain []replay.ExperimentRow `json:"vary_train"`
	BySite    []replay.SiteRow       `json:"by_site"`
}

// replaySettings are those that the policy goes by; the others are left out.
type replaySettings struct {
	Train   int        `json:"train"`
	Price   *float64   `json:"price,omitempty"`
	PriceMB float64    `json:"price_mb,omitempty"`
	Late    float64    `json:"late_hours,omitempty"`
	Budget  float64    `json:"budget,omitempty"`
	MaxSkip int        `json:"max_skip,omitempty"`
	Alpha   *float64   `json:"alpha,omitempty"`
	Beta    *float64   `json:"beta,omitempty"`
	Gamma   *float64   `json:"gamma,omitempty"`
	MinConf *float64   `json:"min_conf,omitempty"`
	Zero    *near.Zero `json:"zero,omitempty"`
	Expire  int        `json:"expire,omitempty"`

	Structural bool `json:"structural,omitempty"`
}

func replayCommand(a *cli) *cobra.Command {
	f := replayFlags{near: near.Third()}
	c := &cobra.Command{
		Use:   "replay FILE…|JOB",
		Short: "Try a policy on recorded history",
		Long: `Replay the recorded history of sites under a policy, and report what it would have requested and found. FILE is a
site history; of a JOB it is what its runs observed. No site is contacted. The first --train versions are
full syncs; each later one is a step.

docs/evolution.md defines the figures, costs, policies and the file format, docs/json.md the JSON.`,
		Example: `  mirrord replay kafka.history.tsv.gz
  mirrord replay kafka.history.tsv.gz --policy near --alpha 0.1 --zero strict --json
  mirrord replay samba --train 5 --plot samba.svg`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplay(a, cmd, &f, args)
		},
	}
	c.ValidArgsFunction = func(
		cmd *cobra.Command, args []string, part string,
	) ([]string, cobra.ShellCompDirective) {
		names, _ := a.completeJob(cmd, nil, part)
		return names, cobra.ShellCompDirectiveDefault
	}
	fl := c.Flags()
	fl.StringVar(&f.policy, "policy", string(policy.Adaptive), app.Joined(known.All().Names(), "or")+
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
	fl.BoolVar(&f.ablation, "ablation", false, "adaptive: worth of each idea")
	fl.StringVar(&f.plot, "plot", "", "draw into this SVG `FILE`")
	return c
}

// options turns the flags into what a replay takes.
func (f *replayFlags) options(cmd *cobra.Command) (o replay.Options, s replaySettings, err error) {
	set := cmd.Flags().Changed
	o = replay.Options{
		Policy: policy.Name(f.policy),
		Train:  f.train,
		Near:   f.near,
		Expire: f.expire,
	}
	s.Train = f.train
	if f.train < 1 {
		return o, s, app.Usagef("--train %d: at least one full sync comes first", f.train)
	}
	all := known.All()
	of, registered := all.Find(o.Policy)
	switch {
	case o.Policy == replay.Nothing, o.Policy == replay.Never:
	case o.Policy == replay.RoundRobin:
		if !(f.budget > 0 && f.budget <= 1) {
			return o, s, app.Usagef("--budget %v: asking in turn needs a share above 0 and at most 1", f.budget)
		}
		o.Budget, s.Budget = f.budget, f.budget
	case !registered:
		return o, s, app.Usagef("--policy %q: want %s", f.policy, app.Joined(all.Names(), "or"))
	case of.Rules:
		if err := o.Near.Zero.UnmarshalText([]byte(f.zero)); err != nil {
			return o, s, app.Usagef("--zero: %v", err)
		}
		if err := o.Near.Validate(); err != nil {
			return o, s, app.Usagef("%w", err)
		}
		if f.expire < 0 {
			return o, s, app.Usagef("--expire %d: want a number of steps, or 0 for never", f.expire)
		}
		n := &o.Near
		s.Alpha, s.Beta, s.Gamma, s.MinConf, s.Zero = &n.MinDoC, &n.MinFoC, &n.MinCoC, &n.MinConfidence, &n.Zero
		s.Expire, s.Structural = f.expire, n.Structural
	case of.Weighs:
		if !(f.price >= 0 && f.price <= 1) {
			return o, s, app.Usagef("--price %v: want changed pages for a request, 0 to 1", f.price)
		}
		if set("budget") && !(f.budget > 0 && f.budget <= 1) {
			return o, s, app.Usagef("--budget %v: want a share above 0 and at most 1", f.budget)
		}
		if f.maxSkip < 0 {
			return o, s, app.Usagef("--max-skip %d: want a number of steps, or 0 for no bound", f.maxSkip)
		}
		if !(f.priceMB >= 0 && f.priceMB <= policy.MostPriceMB) {
			return o, s, app.Usagef("--price-mb %v: want changed pages for a megabyte, 0 to %v", f.priceMB,
				policy.MostPriceMB)
		}
		if set("late") {
			if o.Late, err = lateGoal(f.late); err != nil {
				return o, s, err
			}
			s.Late = o.Late.Hours()
		}
		o.Price, o.Budget, o.MaxSkip = f.price, f.budget, f.maxSkip
		o.PriceMB, s.PriceMB = f.priceMB, f.priceMB
		switch {
		case set("budget") && !set("price"):
			o.Price = -1
		case f.price == 0:
			o.Price, s.Price = -1, &f.price
		default:
			s.Price = &f.price
		}
		s.Budget, s.MaxSkip = f.budget, f.maxSkip
	}
	weighs, rules := func(p policy.Definition) bool {
		return p.Weighs
	}, func(p policy.Definition) bool { return p.Rules }
	for _, x := range []struct {
		can   func(policy.Definition) bool
		flags []string
	}{
		{weighs, []string{"price", "price-mb", "late", "max-skip", "ablation"}},
		{rules, []string{"alpha", "beta", "gamma", "min-conf", "zero", "structural", "expire"}},
	} {
		for _, flag := range x.flags {
			if set(flag) && !x.can(of) {
				return o, s, app.Usagef("--%s is for --policy %s", flag, app.Joined(thatCan(all, x.can), "or"))
			}
		}
	}
	if set("budget") && !of.Weighs && (o.Policy != replay.RoundRobin) {
		return o, s, app.Usagef("--budget is for --policy %s and %s", app.Joined(thatCan(all, weighs), "or"),
			replay.RoundRobin)
	}
	return o, s, nil
}

// thatCan returns the names of the policies that have a capability.
func thatCan(all policy.Registry, can func(policy.Definition) bool) (names []string) {
	for _, p := range all {
		if can(p) {
			names = append(names, string(p.Name))
		}
	}
	return names
}

func runReplay(a *cli, cmd *cobra.Command, f *replayFlags, args []string) error {
	o, settings, err := f.options(cmd)
	if err != nil {
		return err
	}
	report := replayReport{Policy: o.Policy, Settings: settings}
	var hs []*replay.History
	for _, arg := range args {
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		h, err := history(cmd.Context(), a, arg)
		if err != nil {
			return err
		}
		o.Relearn = h.Linked() // it is a job's own
		r, err := replay.Run(h, o)
		if errors.Is(err, replay.ErrTooShort) && len(h.Versions) > 1 {
			return fmt.Errorf("%s: %w: use --train %d or less", arg, err, len(h.Versions)-1)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		report.Sites = append(report.Sites, r)
		if f.plot != "" || f.experiments || f.ablation {
			hs = append(hs, h)
		}
	}
	if f.experiments {
		x := &experiments{}
		var err1, err2, err3 error
		x.VaryK, err1 = replay.ExperimentK(hs)
		x.VaryTrain, err2 = replay.ExperimentTrain(hs)
		x.BySite, err3 = replay.ExperimentSites(hs)
		if err := errors.Join(err1, err2, err3); err != nil {
			return err
		}
		report.Experiments = x
	}
	if f.ablation {
		log := a.log()
		rows, err := replay.Ablation(hs, o, func(without policy.Idea) error {
			log.Debug("replay", "without", without)
			return cmd.Context().Err()
		})
		if err != nil {
			return err
		}
		report.Ablation = rows
	}
	if f.plot != "" {
		if err := plot(a, cmd, f.plot, hs, o); err != nil {
			return err
		}
	}
	report.Mean = replay.Mean(report.Sites)
	if a.json {
		return a.printJSON(report)
	}
	return printReplay(a, &report, f.steps || len(args) == 1)
}

// plot writes the trade-off of the histories, and the picture of a single one.
func plot(a *cli, cmd *cobra.Command, name string, hs []*replay.History, o replay.Options) (err error) {
	log := a.log()
	curves, err := replay.TradeOff(hs, o, func(setting string) error {
		log.Debug("replay", "policy", setting)
		return cmd.Context().Err()
	})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("%d sites: what is saved, and what it costs", len(hs))
	var p *replay.Picture
	if len(hs) == 1 {
		h := hs[0]
		first, last := h.Versions[0].Time, h.Versions[len(h.Versions)-1].Time
		title = fmt.Sprintf("%s, %s, %s to %s", h.Site, count.Of(len(h.Versions), "version"),
			first.Format("2006-01-02"),
			last.Format("2006-01-02"))
		if p, err = replay.NewPicture(h, o); err != nil {
			return err
		}
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return replay.Plot(file, title, curves, p)
}

// history reads a recorded history: a file's, or that of a job's own runs.
func history(ctx context.Context, a *cli, arg string) (*replay.History, error) {
	name := strings.TrimSuffix(arg, scheduler.Suffix)
	if job.ValidName(name) && !app.IsFile(a.app(), arg) {
		return app.OwnHistory(a.app(), name)
	}
	file, err := regular.Open(arg)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if st, err := file.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("history %s: a directory: want a file, or the name of a job", arg)
	}
	text := regular.UntilReader(ctx, file)
	defer text.Close()
	h, err := replay.Read(text)
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", arg, err)
	}
	if h.Site == "" {
		h.Site = arg
	}
	return h, nil
}

func printReplay(a *cli, report *replayReport, steps bool) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	if steps {
		for _, r := range report.Sites {
			fmt.Fprintf(w, "%s: %s after %s\n", r.Site, r.Policy, count.Of(r.Train, "full sync"))
			fmt.Fprintln(w, "VERSION\tDATE\tFILES\tASKED\tOF FULL\tBR\tOP\tOR\tCHANGES\tFOUND\tCR\tSTALE\t")
			for _, s := range r.Steps {
				fmt.Fprintf(w, "%d\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t\n", s.Version,
					s.Time.Format("2006-01-02"), s.Files, s.Requests,
					percent(float64(s.Requests)/float64(max(1, s.Full))), measure(&s.BR), measure(s.OP), measure(s.OR),
					s.Changes, s.Found, measure(s.CR), percent(s.Stale))
			}
			if err := w.Flush(); err != nil {
				return err
			}
			a.printf("\n")
		}
	}
	fmt.Fprintln(w, "SITE\tSTEPS\tASKED\tOF FULL\tBYTES\tQUIET\tBR\tOP\tOR\tCHANGES\tFOUND\tCR\tPOOLED\tSTALE\t")
	row := func(name, steps string, t *replay.Total) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t\n", name, steps, t.Requests,
			percent(t.Req), percent(t.Moved), percentOr(t.Quiet),
			measure(&t.BR), measure(t.OP), measure(t.OR), t.Changes, t.Found, measure(t.CR), measure(t.CRMicro),
			percent(t.Stale))
	}
	for _, r := range report.Sites {
		row(r.Site, fmt.Sprint(len(r.Steps)), &r.Total)
	}
	if len(report.Sites) > 1 {
		row("mean", "", &report.Mean)
	}
	if x := report.Experiments; x != nil {
		for _, t := range []struct {
			title string
			rows  []replay.ExperimentRow
		}{
			{"(i) rules of 20 versions, K versions later", x.VaryK},
			{"(ii) rules of TRAIN versions, the next version", x.VaryTrain},
		} {
			fmt.Fprintf(w, "\n%s\n", t.title)
			fmt.Fprintln(w, "TRAIN\tK\tSETTING\tBR\tOP\tOR\tCR\tSITES\t")
			for _, r := range t.rows {
				fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t\n", r.Train, r.K, r.Setting, measure(r.BR),
					measure(r.OP), measure(r.OR), measure(r.CR), r.Sites)
			}
		}
		fmt.Fprintln(w, "\n(iii) sites by domain: rules of TRAIN versions, the next version")
		fmt.Fprintln(w, "SITE\tTRAIN\tSETTING\tBR\tOP\tOR\tCR\tDOMAIN\t")
		for _, r := range x.BySite {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", r.Site, r.Train, r.Setting, measure(r.BR),
				measure(r.OP), measure(r.OR), measure(r.CR), r.Kind)
		}
	}
	if len(report.Ablation) > 0 {
		fmt.Fprintln(w, "\nWITHOUT\tOF FULL\tQUIET\tCR\tPOOLED\tSTALE\t")
		for i := range report.Ablation {
			r := &report.Ablation[i]
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", cmp.Or(string(r.Without), "-"), percent(r.Total.Req),
				percentOr(r.Total.Quiet), measure(r.Total.CR), measure(r.Total.CRMicro), percent(r.Total.Stale))
		}
	}
	return w.Flush()
}

// measure writes a share to three places, - when it is undefined.
func measure(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// percentOr writes a share, - when it is undefined.
func percentOr(v *float64) string {
	if v == nil {
		return "-"
	}
	return percent(*v)
}

func percent(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) }
