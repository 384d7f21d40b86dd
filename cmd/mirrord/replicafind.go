package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"mirrord/replica"
)

// replicaReport is what replicas says.
type replicaReport struct {
	Pages    int              `json:"pages"`
	Kept     int              `json:"kept"`    // of these, whose digests were kept: they were not read again
	Skipped  int              `json:"skipped"` // files that are no pages
	Bad      int              `json:"bad"`     // files that could not be read
	Hosts    []replicaHosts   `json:"hosts"`
	Clusters []replicaCluster `json:"clusters"`
}

// replicaHosts is a pair of hosts and what the tests of it came to.
type replicaHosts struct {
	Host1      string   `json:"host1"`
	Host2      string   `json:"host2"`
	Score      float64  `json:"score"`
	Level      string   `json:"level"`
	Confident  bool     `json:"confident"`
	RootOnly   bool     `json:"rootOnly,omitempty"`
	Good       float64  `json:"good"` // share of the tests in which both have the same, or nearly
	Tests      []string `json:"tests"`
	Suggestion string   `json:"suggestion"`
}

// replicaCluster is a collection and its copies.
type replicaCluster struct {
	Cardinality int           `json:"cardinality"`
	Size        int           `json:"size"`
	Copies      []replicaCopy `json:"copies"`
	Suggestion  string        `json:"suggestion"`
}

type replicaCopy struct {
	At    string  `json:"at"`
	Pages int     `json:"pages"`
	Share float64 `json:"share"`
}

// replicaFind finds replicas among the pages of mirrors or directories.
func (a *app) replicaFind(ctx context.Context, dirs []string, o replicaOptions) (err error) {
	note, done := a.noteLine()
	defer done()
	r := &replicaPages{note: note}
	defer func() { err = errors.Join(err, r.close()) }()
	r.warn = func(s string) {
		if r.bad <= maxBadShown {
			fmt.Fprintln(a.stderr, s)
		}
	}
	room, err := a.openReplicaTrees(r, dirs)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(room)
	if err != nil {
		return err
	}
	defer root.Close()
	last := ""
	f := replica.NewFinder(&fileSpill{root: root}, replica.FinderOptions{Memory: o.memory, Progress: func(phase string, n, of int) error {
		if phase != last {
			last = phase
			runtime.GC() // what the phase before held is free
		}
		note(fmt.Sprintf("%d pages read; %s: %d of %d", r.pages, phase, n, of))
		return ctx.Err()
	}})
	defer func() { err = errors.Join(err, f.Close()) }()
	if o.minURLs == 0 {
		o.minURLs = 10
	}
	v := replica.NewInventory(replica.StageOne{Paper: o.paper, MinURLs: o.minURLs})
	err = r.digests(ctx, func(at replica.Address, d replica.Digest) error {
		v.Add([]byte(at.Host), []byte(at.Path))
		return f.Add(at, d)
	})
	if err != nil {
		return err
	}
	_, pairs, err := f.Find()
	if err != nil {
		return err
	}
	clusters := replica.Clusters(pairs)
	report := replicaReport{Pages: r.pages, Kept: r.known, Skipped: r.skipped, Bad: r.bad, Hosts: []replicaHosts{}, Clusters: []replicaCluster{}}
	if err := r.hostLevels(ctx, v, o, &report); err != nil {
		return err
	}
	for _, c := range clusters[:shown(len(clusters), o.limit)] {
		report.Clusters = append(report.Clusters, clusterOf(&c))
	}
	done()
	if o.plot != "" {
		if err := writeSVG(o.plot, func(w io.Writer) error { return replica.Plot(w, replica.Marks(clusters)) }); err != nil {
			return err
		}
	}
	if o.graph != "" {
		if o.cluster > len(clusters) {
			return fmt.Errorf("collection %d: there are %d", o.cluster, len(clusters))
		}
		if err := writeSVG(o.graph, func(w io.Writer) error { return replica.PlotCluster(w, clusters[o.cluster-1]) }); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	a.printReplicas(&report, len(clusters))
	return nil
}

// openReplicaTrees opens the directories named, or all mirrors of the state. It returns where there is room for files.
func (a *app) openReplicaTrees(r *replicaPages, dirs []string) (room string, err error) {
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", err
		}
		r.trees = append(r.trees, replicaTree{name: dir, root: root})
	}
	if len(dirs) > 0 {
		return os.TempDir(), nil
	}
	st, err := a.mustState()
	if err != nil {
		return "", err
	}
	r.state = st
	return st.Dir, r.openMirrors(st)
}

// pairsAtOnce is how many pairs of hosts are tested after looking the trees through for their pages.
const pairsAtOnce = 2000

// hostLevels tests the candidate pairs of hosts on the pages that were read.
func (r *replicaPages) hostLevels(ctx context.Context, v *replica.Inventory, o replicaOptions, report *replicaReport) error {
	samples := map[string]replica.HostSample{}
	for _, s := range v.Samples() {
		samples[s.Host] = s
	}
	for some := range slices.Chunk(v.Pairs(), pairsAtOnce) {
		files := map[replica.Ask]replicaFile{}
		for _, p := range some {
			for _, ask := range replica.Asks(replica.StageTwo{}.Plan(samples[p.Host1], samples[p.Host2])) {
				files[ask] = replicaFile{}
			}
		}
		if err := r.find(ctx, files); err != nil {
			return err
		}
		for _, p := range some {
			if o.limit > 0 && len(report.Hosts) == o.limit {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			tests := replica.StageTwo{}.Plan(samples[p.Host1], samples[p.Host2])
			verdict, err := testHosts(tests, files, o.paper)
			if err != nil {
				return err
			}
			if verdict.Level.Mirrors() {
				report.Hosts = append(report.Hosts, hostsOf(p, &verdict))
			}
		}
	}
	return nil
}

// testHosts answers the tests of two hosts from files; what has none fails.
func testHosts(tests []replica.Test, files map[replica.Ask]replicaFile, paper bool) (replica.Verdict, error) {
	answers := map[replica.Ask]replica.Answer{}
	for _, ask := range replica.Asks(tests) {
		answers[ask] = replica.Answer{Kind: replica.GotFailure}
		file := files[ask]
		if file.fsys == nil {
			continue
		}
		body, err := file.read()
		if err != nil {
			return replica.Verdict{}, err
		}
		if file.isPage(body) {
			answers[ask] = replica.Answer{Kind: replica.GotPage, Body: replica.NewBody(body, true, file.html, 0)}
		}
	}
	return replica.StageTwo{Paper: paper}.Decide(tests, answers), nil
}

func hostsOf(p replica.HostPair, verdict *replica.Verdict) replicaHosts {
	h := replicaHosts{Host1: p.Host1, Host2: p.Host2, Score: p.Score, Level: verdict.Level.String(), Confident: verdict.Confident, RootOnly: verdict.RootOnly, Good: verdict.Good, Suggestion: suggestHosts(verdict)}
	for _, t := range verdict.Tests {
		h.Tests = append(h.Tests, t.Outcome.String()+" "+t.Source+" "+t.Path)
	}
	return h
}

// suggestHosts says what may be done with what is known of two hosts.
func suggestHosts(v *replica.Verdict) string {
	switch {
	case v.Alias:
		return "one leads to the other: one host by two names"
	case v.RootOnly:
		return "only the first page is the same: do nothing"
	case !v.Confident:
		return "too few pages were had: look again"
	case v.Interchangeable():
		return "either may stand for the other"
	case v.Level == replica.Level5:
		return "related, as translations are: keep both"
	case v.Good >= 0.5:
		return "much is the same: use single paths after looking"
	}
	return "little is the same: see the collections"
}

func clusterOf(c *replica.DirCluster) replicaCluster {
	out := replicaCluster{Cardinality: c.Cardinality(), Size: c.Size()}
	var whole []string
	for _, cp := range c.Copies {
		out.Copies = append(out.Copies, replicaCopy{cp.String(), cp.Pages, cp.Share})
		if cp.Share >= 0.9 {
			whole = append(whole, cp.String())
		}
	}
	if len(whole) > 1 {
		out.Suggestion = fmt.Sprintf("mirror %s once; %s the same", whole[0], plural(len(whole)-1, "other place has", "other places have"))
	} else {
		out.Suggestion = fmt.Sprintf("%s is the fullest; the others are in part", whole[0])
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (a *app) printReplicas(r *replicaReport, clusters int) {
	a.printf("%d pages, of which %d were read anew; %d files are no pages, %d could not be read\n", r.Pages, r.Pages-r.Kept, r.Skipped, r.Bad)
	a.printf("\n%s\n", plural(len(r.Hosts), "pair of hosts that mirror each other", "pairs of hosts that mirror each other"))
	for _, h := range r.Hosts {
		level := h.Level
		if !h.Confident {
			level += "?"
		}
		a.printf("  level %-2s %3.0f%% good  %s %s: %s\n", level, 100*h.Good, h.Host1, h.Host2, h.Suggestion)
	}
	a.printf("\n%s\n", plural(clusters, "collection in several places", "collections in several places"))
	for i, c := range r.Clusters {
		a.printf("%3d  %d copies of %d pages: %s\n", i+1, c.Cardinality, c.Size, c.Suggestion)
		for _, cp := range c.Copies {
			a.printf("     %6d %3.0f%%  %s\n", cp.Pages, 100*cp.Share, strings.TrimSpace(cp.At))
		}
	}
}
