// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"mirrord/app/replicas"
)

// replicaVerify prints what the tests of alternates and candidates came to.
func replicaVerify(ctx context.Context, a *cli, names []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	pairs, err := replicas.VerifyReplicas(ctx, x, names, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.json {
		return a.printJSON(pairs)
	}
	replicas.WritePairs(a.stdout, pairs, names)
	return nil
}

// replicaRegistry prints the registry.
func replicaRegistry(ctx context.Context, a *cli) error {
	reg, err := replicas.CurrentRegistry(ctx, a.app())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reg)
	}
	for _, p := range reg.Problems {
		fmt.Fprintf(a.stderr, "mirrord: the mirror of %s is left out: %s\n", p.Job, p.Problem)
	}
	for _, n := range reg.Nodes {
		if n.Away != "" {
			fmt.Fprintf(a.stderr, "mirrord: node %s: %s; its mirrors %s\n", n.Node, n.Away, n.Known())
		}
	}
	if len(reg.Mirrors) == 0 {
		a.printf("no mirror is published yet\n")
	}
	for _, m := range reg.Mirrors {
		where := m.Tree
		if m.Node != "" {
			where = m.Node + ":" + m.Tree
		}
		a.printf("%s\n  mirror %s, version %d of %s: %s\n", strings.Join(m.Prefixes, " "), m.Job, m.Version,
			timeText(&m.Retrieved), where)
		for _, e := range m.Equivalents {
			use := "in part"
			if e.Interchangeable {
				use = "interchangeable"
			}
			if e.Job != "" {
				use += ", mirrored by " + e.Job
			}
			a.printf("  %s at %s: level %s, %s, tested %s\n", e.Of, e.At, e.Level, use, timeText(&e.Tested))
		}
	}
	return nil
}

// replicaStudy prints what the tests of the candidates of lists came to, and the tables of the paper.
func replicaStudy(ctx context.Context, a *cli, lists []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	found, err := replicas.StudyHosts(ctx, x, replicas.StudyRequest{
		ReplicaOptions: o.ReplicaOptions,
		Lists:          lists,
		Stdin:          a.stdin,
		Set:            o.set,
	})
	if err != nil {
		return err
	}
	done()
	if a.json {
		return a.printJSON(found)
	}
	found.WriteText(a.stdout)
	return nil
}
