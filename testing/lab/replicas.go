// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
	"mirrord/testing/lab/drawings"
	"mirrord/testing/lab/linked"
)

type replicaFlags struct {
	replicas.ReplicaOptions
	urls, verify bool
	plot, graph  string
	cluster      int
	set          []string
	memory       string
	method       string
}

func replicasCommand(l *lab) *cobra.Command {
	var o replicaFlags
	c := &cobra.Command{
		Use:   "replicas [DIR…|LIST…|JOB…]",
		Short: "Find replicas by the paper's rule, and draw them",
		Long: `Find hosts that mirror one another and directories that hold the same pages, as mirrord replicas does: with --paper by
the rule of Bharat and Broder to the letter, with --method links the collections of Cho, Shivakumar and Garcia-Molina,
which hold all links in memory. --plot and --graph draw what was found, after Cho, Shivakumar and Garcia-Molina.

docs/engineering/replicas.md describes the figures, docs/json.md the JSON.`,
		Example: `  lab replicas --urls urls.txt.gz --paper --json
  lab replicas crawl/ --method links
  lab replicas crawl/ --plot clusters.svg
  lab replicas crawl/ --graph one.svg --cluster 1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			found, err := findReplicas(cmd.Context(), l, args, &o)
			if err != nil {
				return err
			}
			if l.json {
				return l.printJSON(found)
			}
			a := &cli.CLI{Environ: cli.Environ{Stdout: l.stdout}}
			switch found := found.(type) {
			case []replicas.ReplicaPair:
				return a.Say("pairs", cli.TestedPairs{Pairs: found, Of: args})
			case *replicas.Study:
				return a.Say("study", found)
			case *replicas.Candidates:
				return a.Say("candidates", found)
			case *replicas.Replicas:
				return a.Say("replicas", found)
			case *linked.LinkedReplicas:
				found.WriteText(l.stdout)
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&o.urls, "urls", false, "the arguments are lists of URLs")
	f.BoolVar(&o.verify, "verify", false, "test alternates and candidate pairs")
	f.StringVar(&o.method, "method", "text", "find collections by text or along links")
	f.BoolVar(&o.Paper, "paper", false, "the paper's rule to the letter")
	f.IntVar(&o.MinURLs, "min-urls", 0, "least URLs of a host (default 100 with --urls, else 10)")
	f.StringVar(&o.memory, "memory", "1GiB", "memory for page comparison before it spills to disk")
	f.IntVar(&o.Limit, "limit", 50, "table lines; 0: all")
	f.StringVar(&o.plot, "plot", "", "draw sizes and copies into this SVG `FILE`")
	f.StringVar(&o.graph, "graph", "", "draw one collection into this SVG `FILE`")
	f.StringArrayVar(&o.set, "set", nil, "set a key of the job: `KEY=VALUE` (repeatable)")
	f.IntVar(&o.cluster, "cluster", 1, "collection that --graph draws")
	return c
}

// check returns an error for invalid flags.
func (o *replicaFlags) check(args []string) error {
	if o.Limit < 0 || o.MinURLs < 0 || o.cluster < 1 {
		return env.Usagef("--limit and --min-urls are at least 0, --cluster at least 1")
	}
	size, err := job.ParseSize(o.memory)
	if err != nil || size <= 0 {
		return env.Usagef("--memory %s: want a size above 0, as 1GiB", o.memory)
	}
	o.Memory = int64(size)
	if o.method != "text" && o.method != "links" {
		return env.Usagef("--method %s: want text or links", o.method)
	}
	draws := o.plot != "" || o.graph != ""
	switch {
	case o.method == "links" && (o.urls || o.verify || draws):
		return env.Usagef("--method links goes with --limit only")
	case len(o.set) > 0 && (!o.urls || !o.verify):
		return env.Usagef("--set is for --urls --verify: other tests go by the rules of jobs")
	case o.verify && draws:
		return env.Usagef("--plot and --graph do not go with --verify")
	case o.urls && draws:
		return env.Usagef(
			"--plot and --graph show collections, which addresses alone do not tell: leave out --urls")
	case o.urls && len(args) == 0:
		return env.Usagef("--urls needs at least one list, - for standard input")
	}
	return nil
}

// findReplicas does what the flags ask for.
func findReplicas(ctx context.Context, l *lab, args []string, o *replicaFlags) (any, error) {
	x := l.app()
	switch {
	case o.urls && o.verify:
		return replicas.StudyHosts(ctx, x, replicas.StudyRequest{
			ReplicaOptions: o.ReplicaOptions,
			Lists:          args,
			Stdin:          l.stdin,
			Set:            o.set,
		})
	case o.urls:
		return replicas.CandidateHosts(ctx, x, args, l.stdin, o.ReplicaOptions)
	case o.verify:
		return replicas.VerifyReplicas(ctx, x, args, o.ReplicaOptions)
	case o.method == "links":
		return linked.Find(ctx, x, args, o.Limit)
	case len(args) == 0:
		replicas.GatherReplicas(ctx, x)
	}
	found, err := replicas.FindReplicas(ctx, x, args, o.ReplicaOptions)
	if err != nil {
		return nil, err
	}
	return found, drawReplicas(found, o)
}

func drawReplicas(found *replicas.Replicas, o *replicaFlags) error {
	if o.plot != "" {
		if err := writeSVG(o.plot, func(w io.Writer) error {
			return drawings.Plot(w, drawings.Marks(found.All))
		}); err != nil {
			return err
		}
	}
	if o.graph == "" {
		return nil
	}
	if o.cluster > len(found.All) {
		return fmt.Errorf("collection %d: there are %d", o.cluster, len(found.All))
	}
	return writeSVG(o.graph, func(w io.Writer) error {
		return drawings.PlotCluster(w, found.All[o.cluster-1])
	})
}

// writeSVG replaces a file by a drawing.
func writeSVG(name string, draw func(io.Writer) error) (err error) {
	f, err := renameio.NewPendingFile(name, renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Cleanup()) }()
	if err := draw(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
