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
	o, memory := replicaFlags{ReplicaOptions: replicas.ReplicaOptions{Limit: 50}}, "1GiB"
	cmd := a.Command("replicas", cli.Flags{
		"memory":   &memory,
		"limit":    &o.Limit,
		"urls":     &o.urls,
		"verify":   &o.verify,
		"registry": &o.registry,
		"min-urls": &o.MinURLs,
	}, func(cmd *cobra.Command, args []string) error {
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
		return replicaFind(cmd.Context(), a, args, o)
	})
	cli.SetFlag(cmd, &o.set)
	return cmd
}

// replicaFind prints the replicas among the pages of mirrors or directories; with --urls the candidate pairs
// of hosts from lists of addresses, or what the tests of these came to.
func replicaFind(ctx context.Context, a *cli.CLI, args []string, o replicaFlags) (err error) {
	x, done := a.AppWithNote()
	defer done()
	var found any
	text := "replicas"
	switch {
	case o.urls && len(args) == 0:
		return env.Usagef("--urls needs at least one list, - for standard input")
	case o.urls && o.verify:
		text = "study"
		found, err = replicas.StudyHosts(ctx, x, replicas.StudyRequest{
			ReplicaOptions: o.ReplicaOptions,
			Lists:          args,
			Stdin:          a.Stdin,
			Set:            o.set,
		})
	case o.urls:
		text = "candidates"
		found, err = replicas.CandidateHosts(ctx, x, args, a.Stdin, o.ReplicaOptions)
	default:
		if len(args) == 0 {
			replicas.GatherReplicas(ctx, x)
		}
		found, err = replicas.FindReplicas(ctx, x, args, o.ReplicaOptions)
	}
	if err != nil {
		return err
	}
	done()
	return a.Show(text, found)
}
