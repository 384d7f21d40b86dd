// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"mirrord/job"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/store"
)

// Replicas is what FindReplicas found.
type Replicas struct {
	Pages    int                 `json:"pages"`
	Kept     int                 `json:"kept"`    // of these, whose digests were kept: they were not read again
	Skipped  int                 `json:"skipped"` // files that are no pages
	Bad      int                 `json:"bad"`     // files that could not be read
	Hosts    []ReplicaHosts      `json:"hosts"`
	Clusters []ReplicaCollection `json:"clusters"`

	all []collections.DirCluster
}

// ReplicaHosts is a pair of hosts and what the tests of it came to.
type ReplicaHosts struct {
	Host1      string   `json:"host1"`
	Host2      string   `json:"host2"`
	Score      float64  `json:"score"`
	Level      string   `json:"level"`
	Confident  bool     `json:"confident"`
	RootOnly   bool     `json:"root_only,omitempty"`
	Good       float64  `json:"good"` // share of the tests in which both have the same, or nearly
	Tests      []string `json:"tests"`
	Suggestion string   `json:"suggestion"`
}

// ReplicaCollection is a collection and its copies.
type ReplicaCollection struct {
	Cardinality int           `json:"cardinality"`
	Size        int           `json:"size"`
	Copies      []ReplicaCopy `json:"copies"`
	Suggestion  string        `json:"suggestion"`
}

// ReplicaCopy is one place of a collection.
type ReplicaCopy struct {
	At    string  `json:"at"`
	Pages int     `json:"pages"`
	Share float64 `json:"share"`
}

// FindReplicas finds replicas among the pages of directories; without directories among those of all mirrors
// of the state. It reads every page whose digest is not kept, and changes nothing but kept digests.
func FindReplicas(ctx context.Context, a *App, dirs []string, o ReplicaOptions) (_ *Replicas, err error) {
	r := &replicaPages{note: a.note}
	defer func() { err = errors.Join(err, r.close()) }()
	r.warn = func(s string) {
		if r.bad <= maxBadShown {
			a.warn(s)
		}
	}
	room, err := openReplicaTrees(a, r, dirs)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(room)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	last := ""
	progress := func(phase string, n, of int) error {
		if phase != last {
			last = phase
			runtime.GC() // what the phase before held is free
		}
		a.note(fmt.Sprintf("%d pages read; %s: %d of %d", r.pages, phase, n, of))
		return ctx.Err()
	}
	options := collections.FinderOptions{Memory: o.Memory, Progress: progress}
	f := collections.NewFinder(&fileSpill{root: root}, options)
	defer func() { err = errors.Join(err, f.Close()) }()
	v := hosts.NewInventory(o.ofPages())
	err = r.digests(ctx, func(at collections.Address, d text.ContentDigest) error {
		v.Add([]byte(at.Host), []byte(at.Path))
		return f.Add(at, d)
	})
	if err != nil {
		return nil, err
	}
	_, pairs, err := f.Find()
	if err != nil {
		return nil, err
	}
	out := &Replicas{
		Pages:    r.pages,
		Kept:     r.known,
		Skipped:  r.skipped,
		Bad:      r.bad,
		Hosts:    []ReplicaHosts{},
		Clusters: []ReplicaCollection{},
		all:      collections.Clusters(pairs),
	}
	if err := r.hostLevels(ctx, v, o, out); err != nil {
		return nil, err
	}
	for _, c := range out.all[:shown(len(out.all), o.Limit)] {
		out.Clusters = append(out.Clusters, clusterOf(&c))
	}
	return out, nil
}

// Collections is how many collections were found; Clusters has the largest.
func (r *Replicas) Collections() int { return len(r.all) }

// Plot draws the number of copies against the size of all collections, as SVG.
func (r *Replicas) Plot(w io.Writer) error { return collections.Plot(w, collections.Marks(r.all)) }

// PlotCollection draws the copies of the collection number n, counted from 1, as SVG.
func (r *Replicas) PlotCollection(w io.Writer, n int) error {
	if n > len(r.all) {
		return fmt.Errorf("collection %d: there are %d", n, len(r.all))
	}
	return collections.PlotCluster(w, r.all[n-1])
}

// openReplicaTrees opens the directories named, or all mirrors of the state. It returns where there is room
// for files.
func openReplicaTrees(a *App, r *replicaPages, dirs []string) (room string, err error) {
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return "", notTree(a, dir, err)
		}
		r.trees = append(r.trees, replicaTree{name: dir, root: &store.HeldTree{Root: root}})
	}
	if len(dirs) > 0 {
		return os.TempDir(), nil
	}
	st, err := a.MustState()
	if err != nil {
		return "", err
	}
	r.state = st
	return st.Dir, r.openMirrors(st)
}

// notTree adds to an error that a directory cannot be opened where the mirror of that name is, or of the one
// that was probably meant.
func notTree(a *App, dir string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || !job.ValidName(dir) {
		return err
	}
	st, ok, serr := a.OpenState()
	if (serr != nil) || !ok {
		return err
	}
	defer st.Close() // read only: nothing can be lost
	names, serr := st.Sites()
	if serr != nil {
		return err
	}
	name := dir
	if !slices.Contains(names, dir) {
		name = job.Nearest(dir, names)
	}
	if name == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean the mirror %s?", err, filepath.Join(st.Dir, "sites", name, "current"))
}

// pairsAtOnce is how many pairs of hosts are tested after looking the trees through for their pages.
const pairsAtOnce = 2000

// hostLevels tests the candidate pairs of hosts on the pages that were read.
func (r *replicaPages) hostLevels(
	ctx context.Context, v *hosts.Inventory, o ReplicaOptions, report *Replicas,
) error {
	samples := map[string]hosts.HostSample{}
	for _, s := range v.Samples() {
		samples[s.Host] = s
	}
	for some := range slices.Chunk(v.Pairs(), pairsAtOnce) {
		files := map[hosts.TestRequest]replicaFile{}
		for _, p := range some {
			_, needed := planOf(samples[p.Host1], samples[p.Host2])
			for _, ask := range needed {
				files[ask] = replicaFile{}
			}
		}
		if err := r.find(ctx, files); err != nil {
			return err
		}
		for _, p := range some {
			if o.Limit > 0 && len(report.Hosts) == o.Limit {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			tests, needed := planOf(samples[p.Host1], samples[p.Host2])
			verdict, err := testHosts(tests, needed, files, o.Paper)
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

// planOf returns the tests of two hosts, and what is needed of them: also pages around those that are tested.
func planOf(a, b hosts.HostSample) (tests []hosts.Test, needed []hosts.TestRequest) {
	tests = hosts.StageTwo{}.Plan(a, b)
	needed = append(hosts.Asks(tests), hosts.Around(a, tests)...)
	return tests, append(needed, hosts.Around(b, tests)...)
}

// testHosts answers the tests of two hosts from files; what has none fails.
func testHosts(
	tests []hosts.Test, needed []hosts.TestRequest, files map[hosts.TestRequest]replicaFile, paper bool,
) (hosts.PairVerdict, error) {
	answers := map[hosts.TestRequest]hosts.TestAnswer{}
	for _, ask := range needed {
		answers[ask] = hosts.TestAnswer{Kind: hosts.GotFailure}
		file := files[ask]
		if file.fsys == nil {
			continue
		}
		body, err := file.read()
		if err != nil {
			return hosts.PairVerdict{}, err
		}
		if file.isPage(body) {
			answers[ask] = hosts.TestAnswer{Kind: hosts.GotPage, Body: hosts.NewBody(body, true, file.html, 0)}
		}
	}
	return hosts.StageTwo{Paper: paper}.Decide(tests, answers), nil
}

func hostsOf(p hosts.HostPair, verdict *hosts.PairVerdict) ReplicaHosts {
	h := ReplicaHosts{
		Host1:      p.Host1,
		Host2:      p.Host2,
		Score:      p.Score,
		Level:      verdict.Level.String(),
		Confident:  verdict.Confident,
		RootOnly:   verdict.RootOnly,
		Good:       verdict.Good,
		Suggestion: suggestHosts(verdict),
	}
	for _, t := range verdict.Tests {
		h.Tests = append(h.Tests, t.Outcome.String()+" "+t.Source+" "+t.Path)
	}
	return h
}

// suggestHosts says what may be done with what is known of two hosts.
func suggestHosts(v *hosts.PairVerdict) string {
	switch {
	case v.Alias:
		return "one leads to the other: one host by two names"
	case v.RootOnly:
		return "only the first page is the same: do nothing"
	case !v.Confident:
		return "too few pages were had: look again"
	case v.Interchangeable():
		return "either may stand for the other"
	case v.Level == hosts.Level5:
		return "the same paths, some of the same words: translations, or one template: keep both"
	case v.Cut[0]+v.Cut[1] > 0:
		return cutPages(v) + ": use single paths after looking"
	case v.Good >= 0.5:
		return "much is the same: use single paths after looking"
	}
	return "little is the same: see the collections"
}

// cutPages says of which host pages lack a part of what the other's say.
func cutPages(v *hosts.PairVerdict) string {
	host, n := v.Host1, v.Cut[0]
	if v.Cut[1] > n {
		host, n = v.Host2, v.Cut[1]
	}
	const form = "%d of %d pages that were compared lack a part on %s, or are cut off"
	return fmt.Sprintf(form, n, v.Answered, host)
}

func clusterOf(c *collections.DirCluster) ReplicaCollection {
	out := ReplicaCollection{Cardinality: c.Cardinality(), Size: c.Size()}
	var whole []string
	for _, cp := range c.Copies {
		out.Copies = append(out.Copies, ReplicaCopy{cp.String(), cp.Pages, cp.Share})
		if cp.Share >= 0.9 {
			whole = append(whole, cp.String())
		}
	}
	if len(whole) > 1 {
		others := "1 other place has"
		if n := len(whole) - 1; n > 1 {
			others = fmt.Sprintf("%d other places have", n)
		}
		out.Suggestion = fmt.Sprintf("mirror %s once; %s the same", whole[0], others)
	} else {
		out.Suggestion = fmt.Sprintf("%s is the fullest; the others are in part", whole[0])
	}
	return out
}
