// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/store/trees"
)

// Replicas is what FindReplicas found.
type Replicas struct {
	Pages    int                 `json:"pages"`
	Kept     int                 `json:"kept"`    // of these, whose digests were kept: they were not read again
	Skipped  int                 `json:"skipped"` // files that are no pages
	Bad      int                 `json:"bad"`     // files that could not be read
	Hosts    []ReplicaHosts      `json:"hosts"`
	Clusters []ReplicaCollection `json:"clusters"`
	Related  []RelatedCopies     `json:"related"`
	// Elsewhere is what other nodes of the cluster have said: their mirrors are compared too, by digests
	Elsewhere []ReplicaNode `json:"elsewhere,omitempty"`

	All []collections.DirCluster `json:"-"` // of which Clusters has the first
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
	Equal      []string `json:"equal"` // paths of the tests whose pages have the same bytes or words
	Suggestion string   `json:"suggestion"`
	// ByDigests says that another node has one of the hosts: the tests compare digests of pages
	ByDigests bool `json:"by_digests,omitempty"`
}

// ReplicaCollection is a collection and its copies.
type ReplicaCollection struct {
	Cardinality int           `json:"cardinality"`
	Size        int           `json:"size"`
	Copies      []ReplicaCopy `json:"copies"` // the fullest and freshest first
	Suggestion  string        `json:"suggestion"`
}

// RelatedCopies are two directories that have the same places, and say something else at many of them, as a
// manual and a translation of it do.
type RelatedCopies struct {
	At     [2]string `json:"at"`
	Shared int       `json:"shared"` // pages in common
	Places int       `json:"places"` // that both have, of a sample
	Differ int       `json:"differ"` // of these, where they say something else
}

// ReplicaCopy is one place of a collection. Its figures compare it with the first copy.
type ReplicaCopy struct {
	At       string    `json:"at"`
	Pages    int       `json:"pages"`
	Share    float64   `json:"share"`
	Shared   int       `json:"shared"`            // pages in common with the first copy, at least
	Compared int       `json:"compared"`          // pages that were read of all whole copies
	Words    int       `json:"words"`             // that these have here
	Modified time.Time `json:"modified,omitzero"` // the latest change that a page says
}

// Partial reports whether the copy lacks much of what the first one has.
func (c ReplicaCopy) Partial() bool { return 10*c.Shared < 9*c.Pages }

// FindReplicas finds replicas among the pages of directories; without directories among those of all mirrors
// of the state. It reads every page whose digest is not kept, and changes nothing but kept digests.
func FindReplicas(ctx context.Context, a *env.App, dirs []string, o ReplicaOptions) (_ *Replicas, err error) {
	r := &replicaPages{note: a.Progress}
	defer func() { err = errors.Join(err, r.close()) }()
	r.warn = func(s string) {
		if r.bad <= maxBadShown {
			a.Warning(s)
		}
	}
	room, err := openReplicaTrees(a, r, dirs)
	if err != nil {
		return nil, err
	}
	var versions map[string]int
	var others []ReplicaNode
	if r.state != nil {
		if others, err = r.addElsewhere(); err != nil {
			return nil, err
		}
		if versions, err = ComparedVersions(r.state); err != nil {
			return nil, err
		}
	}
	root, err := regular.OpenRoot(room)
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
		a.Progress(fmt.Sprintf("%d pages read; %s: %d of %d", r.pages, phase, n, of))
		return ctx.Err()
	}
	options := collections.FinderOptions{Memory: o.Memory, Progress: progress}
	f := collections.NewFinder(&files.FileSpill{Root: root.Root}, options)
	defer env.Close(&err, f)
	v := hosts.NewInventory(o.ofPages())
	err = r.digests(ctx, func(p *replicaPage) error {
		v.Add([]byte(p.at.Host), []byte(p.at.Path))
		return f.Add(p.at, p.digest.Digest)
	})
	if err != nil {
		return nil, err
	}
	_, found, err := f.Find()
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
		Related:  []RelatedCopies{},
		All:      collections.Clusters(found.Copies),

		Elsewhere: others,
	}
	if err := r.hostLevels(ctx, v, o, out); err != nil {
		return nil, err
	}
	for _, p := range found.Related[:shown(len(found.Related), o.Limit)] {
		at := [2]string{p.A.String(), p.B.String()}
		out.Related = append(out.Related, RelatedCopies{
			At:     at,
			Shared: p.Pages,
			Places: p.Places,
			Differ: p.Differ,
		})
	}
	some := out.All[:shown(len(out.All), o.Limit)]
	facts, err := r.copyFacts(ctx, some)
	if err != nil {
		return nil, err
	}
	for i := range some {
		out.Clusters = append(out.Clusters, clusterOf(&some[i], facts))
	}
	if r.state != nil {
		// without the right to write the state nothing is stored
		if err := SaveReplicas(r.state.Dir, r.state.Now(), out, versions); err != nil {
			a.Log.Info("what was found is not kept", "err", err)
		}
	}
	return out, nil
}

// openReplicaTrees opens the directories named, or all mirrors of the state. It returns where there is room
// for files.
func openReplicaTrees(a *env.App, r *replicaPages, dirs []string) (room string, err error) {
	for _, dir := range dirs {
		root, err := regular.OpenRoot(dir)
		if err != nil {
			return "", notTree(a, dir, err)
		}
		r.trees = append(r.trees, replicaTree{name: dir, root: &trees.HeldTree{Root: root}})
	}
	if len(dirs) > 0 {
		return os.TempDir(), nil
	}
	if _, err := a.OwnState(); err != nil { // sketches of pages and what was found are kept in the state
		return "", err
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
func notTree(a *env.App, dir string, err error) error {
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
	samples := samplesOf(v)
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
			known := [2]int{samples[p.Host1].URLs, samples[p.Host2].URLs}
			if saidOnly(needed, files) {
				if h, ok, err := hostsByDigests(p, tests, files, known); err != nil {
					return err
				} else if ok {
					report.Hosts = append(report.Hosts, h)
				}
				continue
			}
			verdict, err := testHosts(tests, needed, files, o.Paper)
			if err != nil {
				return err
			}
			if verdict.Level.Mirrors() {
				report.Hosts = append(report.Hosts, hostsOf(p, &verdict, known))
			}
		}
	}
	return nil
}

// samplesOf are the samples of an inventory, by host.
func samplesOf(v *hosts.Inventory) map[string]hosts.HostSample {
	out := map[string]hosts.HostSample{}
	for _, s := range v.Samples() {
		out[s.Host] = s
	}
	return out
}

// planOf returns the tests of two hosts, and the pages they need: also pages around those that are tested.
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

func hostsOf(p hosts.HostPair, verdict *hosts.PairVerdict, known [2]int) ReplicaHosts {
	h := ReplicaHosts{
		Host1:      p.Host1,
		Host2:      p.Host2,
		Score:      p.Score,
		Level:      verdict.Level.String(),
		Confident:  verdict.Confident,
		RootOnly:   verdict.RootOnly,
		Good:       verdict.Good,
		Equal:      verdict.Equal(),
		Suggestion: suggestHosts(verdict, known),
	}
	h.Tests = outcomesOf(verdict)
	return h
}

// outcomesOf says what came of each test.
func outcomesOf(v *hosts.PairVerdict) (out []string) {
	for _, t := range v.Tests {
		out = append(out, t.Outcome.String()+" "+t.Source+" "+t.Path)
	}
	return out
}
