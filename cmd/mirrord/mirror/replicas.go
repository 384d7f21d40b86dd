// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
)

// replicaFlags are the flags of replicas.
type replicaFlags struct {
	replicas.ReplicaOptions
	urls     bool
	verify   bool
	registry bool
	set      []string
}

func ReplicasCommand(a *cli.CLI) *cobra.Command {
	var o replicaFlags
	var memory string
	cmd := &cobra.Command{
		Use: "replicas [DIR…|LIST…|JOB…]",
		Long: `Find hosts that mirror one another and directories that hold the same pages: among all mirrors, or in the
directories named (a PHM, or files at HOST/PATH).

Levels of hosts: 1 same paths and bytes; 2 same words; 3 nearly the same; 4 partly; 5 related, as translations.

Only --verify contacts hosts: at most 40 requests a pair; fallbacks go by its results. With --urls the arguments are
lists of URLs, proxy logs, CDX or WARC files ("-": standard input); with both, the best
candidates are tested. Details: docs/replicas.md.`,
		Example: `  mirrord replicas
  mirrord replicas --urls crawl.cdx.gz --limit 20
  mirrord replicas --urls access.log --verify
  mirrord replicas --registry --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Limit < 0 || o.MinURLs < 0 {
				return env.Usagef("--limit and --min-urls are at least 0")
			}
			size, err := job.ParseSize(memory)
			if err != nil || size <= 0 {
				return env.Usagef("--memory %s: want a size above 0, as 1GiB", memory)
			}
			o.Memory = int64(size)
			if o.registry && (o.urls || o.verify) {
				return env.Usagef("--registry goes with neither --urls nor --verify")
			}
			if len(o.set) > 0 && (!o.urls || !o.verify) {
				return env.Usagef("--set is for --urls --verify: other tests go by the rules of jobs")
			}
			switch {
			case o.verify && !o.urls:
				return replicaVerify(cmd.Context(), a, args, o)
			case o.registry && len(args) > 0:
				return env.Usagef("--registry takes no arguments")
			case o.registry:
				return replicaRegistry(cmd.Context(), a)
			}
			if o.urls {
				if len(args) == 0 {
					return env.Usagef("--urls needs at least one list, - for standard input")
				}
				if o.verify {
					return replicaStudy(cmd.Context(), a, args, o)
				}
				return replicaHosts(cmd.Context(), a, args, o)
			}
			return replicaFind(cmd.Context(), a, args, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.urls, "urls", false, "the arguments are lists of URLs")
	f.BoolVar(&o.verify, "verify", false, "test alternates and candidate pairs")
	f.BoolVar(&o.registry, "registry", false, "list known mirrors and equivalents")
	f.IntVar(&o.MinURLs, "min-urls", 0, "least URLs of a host (default 100 with --urls, else 10)")
	f.StringVar(&memory, "memory", "1GiB", "memory for page comparison before it spills to disk")
	f.IntVar(&o.Limit, "limit", 50, "table lines; 0: all")
	cli.SetFlag(cmd, &o.set)
	cli.OldFlag(cmd, "memory", "more pages are compared through files")
	cli.MovedFlags(cmd, "method", "paper", "plot", "graph", "cluster")
	return cmd
}

// replicaFind prints the replicas among the pages of mirrors or directories.
func replicaFind(ctx context.Context, a *cli.CLI, dirs []string, o replicaFlags) error {
	x, done := a.AppWithNote()
	defer done()
	if len(dirs) == 0 {
		replicas.GatherReplicas(ctx, x)
	}
	found, err := replicas.FindReplicas(ctx, x, dirs, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.JSON {
		return a.PrintJSON(found)
	}
	found.WriteText(a.Stdout)
	return nil
}

// replicaHosts prints candidate pairs of hosts from lists of addresses.
func replicaHosts(ctx context.Context, a *cli.CLI, lists []string, o replicaFlags) error {
	x, done := a.AppWithNote()
	defer done()
	found, err := replicas.CandidateHosts(ctx, x, lists, a.Stdin, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.JSON {
		return a.PrintJSON(found)
	}
	found.WriteText(a.Stdout)
	return nil
}
