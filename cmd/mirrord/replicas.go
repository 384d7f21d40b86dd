// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"mirrord/app"
	"mirrord/internal/count"
	"mirrord/job"
)

// replicaFlags are the flags of replicas.
type replicaFlags struct {
	app.ReplicaOptions
	urls        bool
	verify      bool
	registry    bool
	plot, graph string
	cluster     int
	set         []string
	links       bool
}

func replicasCommand(a *cli) *cobra.Command {
	var o replicaFlags
	var memory, method string
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
			if o.Limit < 0 || o.MinURLs < 0 || o.cluster < 1 {
				return app.Usagef("--limit and --min-urls are at least 0, --cluster at least 1")
			}
			size, err := job.ParseSize(memory)
			if err != nil || size <= 0 {
				return app.Usagef("--memory %s: want a size above 0, as 1GiB", memory)
			}
			o.Memory = int64(size)
			if o.links, err = isByLinks(method); err != nil {
				return err
			}
			if o.links && (o.urls || o.verify || o.registry || o.plot != "" || o.graph != "") {
				return app.Usagef("--method links goes with --memory and --limit only")
			}
			if o.registry && (o.urls || o.verify) {
				return app.Usagef("--registry goes with neither --urls nor --verify")
			}
			if len(o.set) > 0 && (!o.urls || !o.verify) {
				return app.Usagef("--set is for --urls --verify: other tests go by the rules of jobs")
			}
			if (o.verify || o.registry) && (o.plot != "" || o.graph != "") {
				return app.Usagef("--plot and --graph go with neither --verify nor --registry")
			}
			switch {
			case o.verify && !o.urls:
				return replicaVerify(cmd.Context(), a, args, o)
			case o.registry && len(args) > 0:
				return app.Usagef("--registry takes no arguments")
			case o.registry:
				return replicaRegistry(cmd.Context(), a)
			}
			if o.urls {
				if o.plot != "" || o.graph != "" {
					return app.Usagef(
						"--plot and --graph show collections, which addresses alone do not tell: leave out --urls")
				}
				if len(args) == 0 {
					return app.Usagef("--urls needs at least one list, - for standard input")
				}
				if o.verify {
					return replicaStudy(cmd.Context(), a, args, o)
				}
				return replicaHosts(cmd.Context(), a, args, o)
			}
			if o.links {
				return replicaLinks(cmd.Context(), a, args, o)
			}
			return replicaFind(cmd.Context(), a, args, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.urls, "urls", false, "the arguments are lists of URLs")
	f.BoolVar(&o.verify, "verify", false, "test alternates and candidate pairs")
	f.BoolVar(&o.registry, "registry", false, "list known mirrors and equivalents")
	f.BoolVar(&o.Paper, "paper", false, "the paper's rule to the letter")
	f.IntVar(&o.MinURLs, "min-urls", 0, "least URLs of a host (default 100 with --urls, else 10)")
	f.StringVar(&memory, "memory", "1GiB", "memory for page comparison before it spills to disk")
	f.IntVar(&o.Limit, "limit", 50, "table lines; 0: all")
	f.StringVar(&o.plot, "plot", "", "draw sizes and copies into this SVG `FILE`")
	f.StringVar(&o.graph, "graph", "", "draw one collection into this SVG `FILE`")
	setFlag(cmd, &o.set)
	f.StringVar(&method, "method", "text", "find collections by text or along links")
	f.IntVar(&o.cluster, "cluster", 1, "collection that --graph draws")
	return cmd
}

// replicaFind prints the replicas among the pages of mirrors or directories.
func replicaFind(ctx context.Context, a *cli, dirs []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	if len(dirs) == 0 {
		app.GatherReplicas(ctx, x)
	}
	found, err := app.FindReplicas(ctx, x, dirs, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if o.plot != "" {
		if err := writeSVG(o.plot, found.Plot); err != nil {
			return err
		}
	}
	if o.graph != "" {
		if o.cluster > found.Collections() {
			return found.PlotCollection(io.Discard, o.cluster) // says how many there are, and leaves the file alone
		}
		if err := writeSVG(o.graph, func(w io.Writer) error {
			return found.PlotCollection(w, o.cluster)
		}); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(found)
	}
	printReplicas(a, found)
	return nil
}

func printReplicas(a *cli, r *app.Replicas) {
	a.printf("%s, of which %s read again; %s, %d could not be read\n", count.Of(r.Pages, "page"),
		count.Of(r.Pages-r.Kept, "was", "were"),
		count.Of(r.Skipped, "file is no page", "files are not pages"), r.Bad)
	for _, n := range r.Elsewhere {
		a.printf("%s\n", n.Line())
	}
	a.printf("\n%s\n", count.Of(len(r.Hosts), "pair of hosts that mirror each other",
		"pairs of hosts that mirror each other"))
	for _, h := range r.Hosts {
		level := h.Level
		if !h.Confident {
			level += "?"
		}
		a.printf("  level %-2s %3.0f%% good  %s %s: %s\n", level, 100*h.Good, h.Host1, h.Host2, h.Suggestion)
		if h.Level == "4" && !h.RootOnly {
			for _, path := range h.Equal {
				a.printf("             equal: %s\n", path)
			}
		}
	}
	a.printf("\n%s\n", count.Of(r.Collections(), "collection in several places",
		"collections in several places"))
	for i, c := range r.Clusters {
		a.printf("%3d  %d copies of %s: %s\n", i+1, c.Cardinality, count.Of(c.Size, "page"), c.Suggestion)
		for _, cp := range c.Copies {
			common := ""
			if 10*cp.Shared < 9*cp.Pages {
				common = fmt.Sprintf(": at least %d of them in common with the first", cp.Shared)
			}
			a.printf("     %6d %3.0f%%  %s%s\n", cp.Pages, 100*cp.Share, strings.TrimSpace(cp.At), common)
		}
	}
	printRelated(a, r)
	printJoined(a, r)
}

// printJoined prints the directories whose pages are joined elsewhere.
func printJoined(a *cli, r *app.Replicas) {
	if len(r.Joined) == 0 {
		return
	}
	a.printf("\n%s\n", count.Of(len(r.Joined), "collection joined on fewer pages elsewhere",
		"collections joined on fewer pages elsewhere"))
	for _, j := range r.Joined {
		on := "one page"
		if j.On > 1 {
			on = fmt.Sprintf("%d pages", j.On)
		}
		a.printf("  %s: what its %s is on %s at %s (%.0f%% of what stands there is from them)\n", j.Parts,
			count.Of(j.Pages, "page says", "pages say"), on, j.At, 100*j.Share)
	}
}

// printRelated prints the directories that are no copies of one another, though they share many pages.
func printRelated(a *cli, r *app.Replicas) {
	if len(r.Related) == 0 {
		return
	}
	a.printf("\n%s\n", count.Of(len(r.Related), "pair of directories with the same names and other pages",
		"pairs of directories with the same names and other pages"))
	for _, p := range r.Related {
		a.printf("  %s %s: %s in common; at %d of %d places they say something else, as translations do\n",
			p.At[0], p.At[1], count.Of(p.Shared, "page"), p.Differ, p.Places)
	}
}

// replicaHosts prints candidate pairs of hosts from lists of addresses.
func replicaHosts(ctx context.Context, a *cli, lists []string, o replicaFlags) error {
	x, done := a.appWithNote()
	defer done()
	found, err := app.CandidateHosts(ctx, x, lists, a.stdin, o.ReplicaOptions)
	if err != nil {
		return err
	}
	done()
	if a.json {
		return a.printJSON(found)
	}
	a.printf("%s of %s, %s; %s\n", count.Of(found.URLs, "address", "addresses"), count.Of(found.Hosts, "host"),
		count.Of(found.Bad, "bad line"), count.Of(found.Found, "candidate pair"))
	printSkipped(a, found.Skipped)
	if found.Found > 0 {
		a.printf("\n%8s %8s %8s  %s\n", "score", "features", "overlap", "hosts")
	}
	for _, p := range found.Pairs {
		typo := ""
		if p.Typo {
			typo = " (typo of a host name)"
		}
		a.printf("%8.3f %8d %7.0f%%  %s %s%s\n", p.Score, p.Shared, 100*p.Overlap, p.Host1, p.Host2, typo)
	}
	return nil
}

// appWithNote is app with a line of progress on the terminal; done takes the line away.
func (a *cli) appWithNote() (x *app.App, done func()) {
	x = a.app()
	x.Note, done = a.noteLine()
	return x, done
}

// noteLine returns what shows one line of progress on a terminal, and what takes it away.
func (a *cli) noteLine() (note func(string), done func()) {
	if !a.screen.drawn {
		return func(string) {}, func() {}
	}
	drawn := false
	return func(s string) {
			fmt.Fprintf(a.stderr, "\r\x1b[K%.*s", a.screen.width(), s)
			drawn = true
		}, func() {
			if drawn {
				fmt.Fprint(a.stderr, "\r\x1b[K")
				drawn = false
			}
		}
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
