// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"strings"

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
	if a.JSON {
		return a.PrintJSON(pairs)
	}
	replicas.WritePairs(a.Stdout, pairs, names)
	return nil
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
	if len(reg.Mirrors) == 0 {
		a.Printf("no mirror is published yet\n")
	}
	for _, m := range reg.Mirrors {
		where := m.Tree
		if m.Node != "" {
			where = m.Node + ":" + m.Tree
		}
		a.Printf("%s\n  mirror %s, version %d of %s: %s\n", strings.Join(m.Prefixes, " "), m.Job, m.Version,
			cli.TimeText(&m.Retrieved), where)
		for _, e := range m.Equivalents {
			use := "in part"
			if e.Interchangeable {
				use = "interchangeable"
			}
			if e.Job != "" {
				use += ", mirrored by " + e.Job
			}
			a.Printf("  %s at %s: level %s, %s, tested %s\n", e.Of, e.At, e.Level, use, cli.TimeText(&e.Tested))
		}
	}
	return nil
}
