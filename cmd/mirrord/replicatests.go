// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"mirrord/app"
	"mirrord/internal/count"
	"mirrord/replica/hosts"
)

// replicaVerify prints what the tests of alternates and candidates came to.
func replicaVerify(ctx context.Context, a *cli, names []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	pairs, err := app.VerifyReplicas(ctx, x, names, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.json {
		return a.printJSON(pairs)
	}
	if len(pairs) == 0 && len(names) > 0 {
		a.printf(
			"nothing to test: there are no alternates of %s; without names the mirrors are compared with one "+
				"another too\n", strings.Join(names, ", "))
		return nil
	}
	printPairs(a, pairs)
	return nil
}

func printPairs(a *cli, pairs []app.ReplicaPair) {
	if len(pairs) == 0 {
		a.printf("nothing to test: no job names alternates, and no two mirrors look alike by their addresses\n")
	}
	for _, p := range pairs {
		printPair(a, p)
	}
}

func printPair(a *cli, p app.ReplicaPair) {
	if p.Untested != "" {
		a.printf("%s %s\n  not tested: %s\n", p.Base1, p.Base2, p.Untested)
		return
	}
	level := p.Level
	if p.Mirrors {
		level = "level " + level
		if !p.Confident {
			level += "?"
		}
	}
	a.printf("%s %s\n  %s, %.0f%% of %s good: %s\n", p.Base1, p.Base2, level, 100*p.Good,
		count.Of(p.Answered, "answered test"), p.Suggestion)
	for _, path := range p.SamePaths {
		if p.Level != "4" {
			break
		}
		a.printf("    equal: %s\n", path)
	}
}

// replicaRegistry prints the registry.
func replicaRegistry(ctx context.Context, a *cli) error {
	reg, err := app.CurrentRegistry(ctx, a.app())
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
	found, err := app.StudyHosts(ctx, x, app.StudyRequest{
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
	a.printf("%s of %s, %s; %s, of which %s tested before\n", count.Of(found.URLs, "address", "addresses"),
		count.Of(found.Hosts, "host"), count.Of(found.Bad, "bad line"),
		count.Of(found.Candidates, "candidate pair"),
		count.Of(found.Kept, "was", "were"))
	printSkipped(a, found.Skipped)
	for i := range found.Pairs {
		p := &found.Pairs[i]
		printPair(a, p.ReplicaPair)
		if len(p.Motives) > 0 {
			a.printf("  motive: %s\n", joined(p.Motives))
		}
	}
	printTables(a, found.Tables)
	return nil
}

// printSkipped says how many lines of logs of proxies count for nothing.
func printSkipped(a *cli, n int) {
	if n > 0 {
		a.printf("%s brought no page\n", count.Of(n, "request in the log", "requests in the logs"))
	}
}

func joined(motives []hosts.Motive) string {
	var out []string
	for _, m := range motives {
		out = append(out, string(m))
	}
	return strings.Join(out, ", ")
}

// printTables prints tables 2 and 3 and figure 1 of Bharat and Broder.
func printTables(a *cli, t hosts.StudyTables) {
	if len(t.Levels) == 0 {
		return
	}
	a.printf("\n%-16s %6s %6s\n", "level", "pairs", "share")
	for _, l := range t.Levels {
		a.printf("%-16s %6d %5.1f%%\n", l.Level, l.Pairs, 100*l.Share)
	}
	if len(t.Domains) > 0 {
		a.printf("\n%-16s %6s %6s\n", "mirrors in", "pairs", "share")
	}
	for _, d := range t.Domains {
		a.printf("%-16s %6d %5.1f%%\n", d.Domain1+" "+d.Domain2, d.Pairs, 100*d.Share)
	}
	a.printf("\n%-16s %6s %6s %9s\n", "rank", "known", "mirrors", "precision")
	for _, r := range t.Ranks {
		a.printf("%-16s %6d %7d %8.1f%%\n", fmt.Sprint("1 to ", r.Rank), r.Known, r.Mirrors, 100*r.Precision)
	}
}
