// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"

	"mirrord/app/replicas"
	"mirrord/cmd/mirrord/cli"
)

// replicaVerify prints what the tests of alternates and candidates came to.
func replicaVerify(ctx context.Context, a *cli.CLI, names []string, o replicaFlags) error {
	x, done := a.AppWithNote()
	defer done()
	pairs, err := replicas.VerifyReplicas(ctx, x, names, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	return a.Show("pairs", pairs, cli.TestedPairs{Pairs: pairs, Of: names})
}

// replicaRegistry prints the registry.
func replicaRegistry(ctx context.Context, a *cli.CLI) error {
	reg, err := replicas.CurrentRegistry(ctx, a.App())
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(reg)
	}
	for _, p := range reg.Problems {
		fmt.Fprintf(a.Stderr, "mirrord: the mirror of %s is left out: %s\n", p.Job, p.Problem)
	}
	for _, n := range reg.Nodes {
		if n.Away != "" {
			fmt.Fprintf(a.Stderr, "mirrord: node %s: %s; its mirrors %s\n", n.Node, n.Away, n.Known())
		}
	}
	return a.Say("registry", reg)
}
