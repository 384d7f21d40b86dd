package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/replica"
)

// replicaOptions are the flags of replicas.
type replicaOptions struct {
	urls, paper bool
	verify      bool
	registry    bool
	minURLs     int
	limit       int
	memory      int64 // bytes
	plot, graph string
	cluster     int
}

func (a *app) replicasCommand() *cobra.Command {
	var o replicaOptions
	var memory string
	cmd := &cobra.Command{
		Use:   "replicas [DIR…|LIST…|JOB…]",
		Short: "Find hosts that mirror one another, and collections that lie in several places",
		Long: `Find which hosts mirror one another, and which directories hold the same pages: among all mirrors of the state, or in the directories
named. A directory is a PHM (it has a phm.json), or holds files at HOST/PATH. Pages are compared by what they say and not by their bytes, so
that reformatted copies, copies under other names, and partial copies are found.

Of two hosts it says a level. 1: the same paths with the same bytes; 2: the same words; 3: nearly the same words; 4: only part of it is the
same; 5: the same paths with related words, as of translations. A level is confident when at least five tests had an answer. Of a
collection it says where it lies, how many pages are there, and what share that is of the largest copy.

With --urls the arguments are lists of addresses, one a line, or CDX or WARC files, plain or packed by gzip or zstd ("-" is standard input), and
pairs of hosts are found from their addresses alone: candidates, which have not been compared.

With --verify the network is asked, as politely as a run asks it and by each host's robots.txt: the alternates of the jobs named, or of all jobs and then also
the pairs of hosts among the mirrors that look like replicas by their addresses. Each pair costs up to 40 requests. The levels are kept, and say whether a
job's alternate is asked when its origin fails.

With --registry it lists, from what is known, which mirrors and which equivalents there are of which parts of the web; with --json for a proxy or a load balancer.

Without --verify nothing is fetched, and nothing is changed. Of millions of pages, what does not fit into --memory goes to files without names in the state
directory, or, when directories are named, where the environment's TMPDIR says: up to a kilobyte a page.`,
		Example: `  mirrord replicas
  mirrord replicas crawl/ --plot clusters.svg
  mirrord replicas crawl/ --graph largest.svg --cluster 1
  mirrord replicas --memory 256MiB
  mirrord replicas --urls urls.txt.gz --limit 20
  mirrord replicas --urls crawl.cdx.gz --json
  mirrord replicas --verify samba
  mirrord replicas --registry --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 0 || o.minURLs < 0 || o.cluster < 1 {
				return usagef("--limit and --min-urls are at least 0, --cluster at least 1")
			}
			size, err := job.ParseSize(memory)
			if err != nil || size <= 0 {
				return usagef("--memory %s: want a size above 0, as 1GiB", memory)
			}
			o.memory = int64(size)
			if n := chosen(o.urls, o.verify, o.registry); n > 1 {
				return usagef("--urls, --verify and --registry go one at a time")
			}
			if (o.verify || o.registry) && (o.plot != "" || o.graph != "") {
				return usagef("--plot and --graph go with neither --verify nor --registry")
			}
			switch {
			case o.verify:
				return a.replicaVerify(cmd.Context(), args, o)
			case o.registry && len(args) > 0:
				return usagef("--registry takes no arguments")
			case o.registry:
				return a.replicaRegistry()
			}
			if o.urls {
				if o.plot != "" || o.graph != "" {
					return usagef("--plot and --graph show collections, which addresses alone do not tell: leave out --urls")
				}
				if len(args) == 0 {
					return usagef("--urls needs at least one list, - for standard input")
				}
				return a.replicaHosts(cmd.Context(), args, o)
			}
			return a.replicaFind(cmd.Context(), args, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.urls, "urls", false, "the arguments are lists of addresses: find pairs of hosts from these alone")
	f.BoolVar(&o.verify, "verify", false, "ask the hosts: test the alternates of the jobs named, or of all jobs, and candidate pairs")
	f.BoolVar(&o.registry, "registry", false, "list mirrors and equivalents by the prefixes of their URLs")
	f.BoolVar(&o.paper, "paper", false, "find pairs of hosts by the rule of Bharat and Broder (1999) to the letter")
	f.IntVar(&o.minURLs, "min-urls", 0, "addresses that a host must have to be compared (default 100 with --urls, else 10)")
	f.StringVar(&memory, "memory", "1GiB", "what the comparison of pages holds in memory before it uses files; beside it 5 bytes a page and 40 a directory of ten pages or more")
	f.IntVar(&o.limit, "limit", 50, "lines of each table, 0 for all")
	f.StringVar(&o.plot, "plot", "", "draw the number of copies against the size of collections into this SVG file")
	f.StringVar(&o.graph, "graph", "", "draw the copies of one collection into this SVG file")
	f.IntVar(&o.cluster, "cluster", 1, "which collection --graph draws, by its place in the list")
	return cmd
}

// replicaHosts lists candidate pairs of hosts from lists of addresses.
func (a *app) replicaHosts(ctx context.Context, lists []string, o replicaOptions) error {
	v := replica.NewInventory(replica.StageOne{Paper: o.paper, MinURLs: o.minURLs})
	note, done := a.noteLine()
	defer done()
	bad, urls := 0, 0
	for _, name := range lists {
		count, err := a.readURLList(ctx, name, v, note)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		bad, urls = bad+count.Bad, urls+count.URLs
	}
	done()
	pairs := v.Pairs()
	if a.json {
		out := struct {
			URLs  int                `json:"urls"`
			Bad   int                `json:"badLines"`
			Hosts int                `json:"hosts"`
			Found int                `json:"candidates"` // of which pairs has the best
			Pairs []replica.HostPair `json:"pairs"`
		}{urls, bad, v.Hosts(), len(pairs), pairs[:shown(len(pairs), o.limit)]}
		return a.printJSON(out)
	}
	a.printf("%d addresses of %d hosts, %d bad lines; %d candidate pairs\n", urls, v.Hosts(), bad, len(pairs))
	if len(pairs) > 0 {
		a.printf("\n%8s %8s %8s  %s\n", "score", "features", "overlap", "hosts")
	}
	for _, p := range pairs[:shown(len(pairs), o.limit)] {
		a.printf("%8.3f %8d %7.0f%%  %s %s\n", p.Score, p.Shared, 100*p.Overlap, p.Host1, p.Host2)
	}
	return nil
}

// chosen says how many of its arguments are true.
func chosen(all ...bool) (n int) {
	for _, x := range all {
		if x {
			n++
		}
	}
	return n
}

// shown is how many of n lines are shown.
func shown(n, limit int) int {
	if limit == 0 {
		return n
	}
	return min(n, limit)
}

// maxBadShown bounds the lines that are said to be bad.
const maxBadShown = 10

func (a *app) readURLList(ctx context.Context, name string, v *replica.Inventory, note func(string)) (replica.ListCount, error) {
	var in io.Reader = a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return replica.ListCount{}, err
		}
		defer f.Close()
		in = f
	}
	n, bad := 0, 0
	return replica.ReadURLs(untilDone{ctx, in}, func(url []byte) error {
		if n++; n%100_000 == 0 {
			note(fmt.Sprintf("%d addresses of %d hosts", n, v.Hosts()))
		}
		return v.AddURL(url)
	}, func(line int, text string, err error) error {
		if bad++; bad <= maxBadShown {
			fmt.Fprintf(a.stderr, "%s:%d: %v: %.80q\n", name, line, err, text)
		} else if bad == maxBadShown+1 {
			fmt.Fprintf(a.stderr, "%s: more bad lines are only counted\n", name)
		}
		return nil
	})
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// noteLine returns what shows one line of progress on a terminal, and what takes it away.
func (a *app) noteLine() (note func(string), done func()) {
	if !a.terminal {
		return func(string) {}, func() {}
	}
	drawn := false
	return func(s string) {
			fmt.Fprintf(a.stderr, "\r\x1b[K%.79s", s)
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
