package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mirrord/replica"
)

// replicaReport is what replicas says.
type replicaReport struct {
	Pages    int              `json:"pages"`
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
func (a *app) replicaFind(ctx context.Context, dirs []string, o replicaOptions) error {
	note, done := a.noteLine()
	defer done()
	r := &replicaPages{sketcher: replica.NewSketcher(replica.SketchOptions{}), note: note}
	r.warn = func(s string) {
		if r.bad <= maxBadShown {
			fmt.Fprintln(a.stderr, s)
		}
	}
	var roots []*os.Root
	defer func() {
		for _, root := range roots {
			root.Close()
		}
	}()
	keep := func(root *os.Root) { roots = append(roots, root) }
	if err := a.readReplicaPages(ctx, r, dirs, keep); err != nil {
		return err
	}
	note(fmt.Sprintf("%d pages read, comparing them", len(r.pages)))
	found := replica.Find(r.pages, r.digests, replica.FindOptions{})
	clusters := found.Clusters()
	report := replicaReport{Pages: len(r.pages), Skipped: r.skipped, Bad: r.bad, Hosts: []replicaHosts{}, Clusters: []replicaCluster{}}
	if err := a.hostLevels(ctx, r, o, &report); err != nil {
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

func (a *app) readReplicaPages(ctx context.Context, r *replicaPages, dirs []string, keep func(*os.Root)) error {
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return err
		}
		keep(root)
		if err := r.readDir(ctx, root.FS()); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	if len(dirs) > 0 {
		return nil
	}
	st, err := a.mustState()
	if err != nil {
		return err
	}
	return errors.Join(r.readMirrors(ctx, st, keep), st.Close())
}

// hostLevels tests the candidate pairs of hosts on the pages that were read.
func (a *app) hostLevels(ctx context.Context, r *replicaPages, o replicaOptions, report *replicaReport) error {
	if o.minURLs == 0 {
		o.minURLs = 10
	}
	v := replica.NewInventory(replica.StageOne{Paper: o.paper, MinURLs: o.minURLs})
	at := make(map[replica.Ask]int, len(r.pages))
	for i, p := range r.pages {
		v.Add([]byte(p.Host), []byte(p.Path))
		at[replica.Ask(p)] = i
	}
	samples := map[string]replica.HostSample{}
	for _, s := range v.Samples() {
		samples[s.Host] = s
	}
	for _, p := range v.Pairs() {
		if o.limit > 0 && len(report.Hosts) == o.limit {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		tests := replica.Plan(samples[p.Host1], samples[p.Host2])
		answers := map[replica.Ask]replica.Answer{}
		for _, ask := range replica.Asks(tests) {
			i, ok := at[ask]
			answers[ask] = replica.Answer{Kind: replica.GotFailure}
			if !ok {
				continue
			}
			body, err := r.files[i].read()
			if err != nil {
				return err
			}
			answers[ask] = replica.Answer{Kind: replica.GotPage, Body: replica.NewBody(body, true, r.files[i].html, 0)}
		}
		verdict := replica.StageTwo{Paper: o.paper}.Decide(tests, answers)
		if !verdict.Level.Mirrors() {
			continue
		}
		h := replicaHosts{Host1: p.Host1, Host2: p.Host2, Score: p.Score, Level: verdict.Level.String(), Confident: verdict.Confident, RootOnly: verdict.RootOnly, Good: verdict.Good, Suggestion: suggestHosts(&verdict)}
		for _, t := range verdict.Tests {
			h.Tests = append(h.Tests, t.Outcome.String()+" "+t.Source+" "+t.Path)
		}
		report.Hosts = append(report.Hosts, h)
	}
	return nil
}

// suggestHosts says what may be done with what is known of two hosts.
func suggestHosts(v *replica.Verdict) string {
	switch {
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
	a.printf("%d pages; %d files are no pages, %d could not be read\n", r.Pages, r.Skipped, r.Bad)
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
