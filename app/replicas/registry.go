// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/replica/hosts"
	"mirrord/scheduler/status"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// registryFormat is the version of the registry's form. Fields may be added without a new one.
const registryFormat = 1

// Registry says which mirrors and which equivalents exist of which parts of the web: what a smart proxy or a
// load balancer needs to know.
type Registry struct {
	Format  int                 `json:"registry"`
	Made    time.Time           `json:"made"`
	Mirrors []RegistryMirror    `json:"mirrors"`
	Pairs   []shared.PairRecord `json:"pairs"`
	// Problems are mirrors that are left out because they cannot be read.
	Problems []RegistryProblem `json:"problems,omitempty"`
	// Nodes are the other nodes of the cluster, whose mirrors are listed too.
	Nodes []RegistryNode `json:"nodes,omitempty"`
}

// RegistryNode is a node that was asked for its mirrors.
type RegistryNode struct {
	Node string     `json:"node"`
	AsOf *time.Time `json:"as_of,omitempty"` // when it last said which it has
	Away string     `json:"away,omitempty"`  // why it does not answer now
}

type RegistryProblem struct {
	Job     string `json:"job"`
	Problem string `json:"problem"`
}

// RegistryMirror is a published mirror of this state.
type RegistryMirror struct {
	Prefixes  []string  `json:"prefixes"` // of the URLs that it has
	Job       string    `json:"job"`
	Node      string    `json:"node,omitempty"` // of a cluster, that has it
	Tree      string    `json:"tree"`           // directory of the published version, on that machine
	Table     string    `json:"table"`          // JSON lines: which URL lies at which path
	Primary   string    `json:"primary"`
	Entry     string    `json:"entry"` // path of the first page
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
	Files     int       `json:"files"`
	Verdict   string    `json:"verdict,omitempty"` // of the last run
	Ended     time.Time `json:"ended,omitzero"`    // of the last run
	// Equivalents are replicas, here and elsewhere, of which a test said something. What lies under "of" lies
	// under "at" at the same relative path.
	Equivalents []RegistryEquivalent `json:"equivalents,omitempty"`
}

type RegistryEquivalent struct {
	Of              string    `json:"of"`
	At              string    `json:"at"`
	Level           string    `json:"level"`
	Confident       bool      `json:"confident"`
	Interchangeable bool      `json:"interchangeable"`
	Good            float64   `json:"good"`
	Tested          time.Time `json:"tested"`
	Job             string    `json:"job,omitempty"` // that mirrors it here too
	// of a pair that is not interchangeable the paths, below both, that were verified equal: only these stand
	// for one another
	Equal []string `json:"equal,omitempty"`
}

// ReadRegistry makes the registry of a state. jobs are those in force; a site without a job is listed with
// what its mirror says of itself.
func ReadRegistry(st *store.State, jobs []*job.Job, now time.Time) (*Registry, error) {
	out := &Registry{
		Format:  registryFormat,
		Made:    now.UTC().Truncate(time.Second),
		Mirrors: []RegistryMirror{},
		Pairs:   []shared.PairRecord{},
	}
	pairs, err := st.Shared.Pairs()
	if err != nil {
		return nil, err
	}
	out.Pairs = append(out.Pairs, pairs...)
	sites, err := st.Sites()
	if err != nil {
		return nil, err
	}
	runs, err := st.Shared.LastRuns()
	if err != nil {
		return nil, err
	}
	byName := map[string]*job.Job{}
	for _, j := range jobs {
		byName[j.Name] = j
	}
	for _, name := range sites {
		m, err := readRegistryMirror(st, name, byName[name], runs)
		switch {
		case errors.Is(err, record.ErrNoVersion):
			continue
		case err != nil:
			out.Problems = append(out.Problems, RegistryProblem{name, err.Error()})
			continue
		}
		out.Mirrors = append(out.Mirrors, *m)
	}
	out.Link(pairs)
	return out, nil
}

// Merge adds the mirrors and pairs of other nodes: of each job that of the first node that has it, of each
// pair the last test.
func (reg *Registry) Merge(others []*Registry) {
	have := map[string]bool{}
	for i := range reg.Mirrors {
		have[reg.Mirrors[i].Job] = true
	}
	pairs := map[[2]string]shared.PairRecord{}
	for _, p := range reg.Pairs {
		pairs[[2]string{p.Base1, p.Base2}] = p
	}
	for _, o := range others {
		for i := range o.Mirrors {
			if m := o.Mirrors[i]; !have[m.Job] {
				have[m.Job] = true
				reg.Mirrors = append(reg.Mirrors, m)
			}
		}
		for _, p := range o.Pairs {
			if had, ok := pairs[[2]string{p.Base1, p.Base2}]; !ok || p.Tested.After(had.Tested) {
				pairs[[2]string{p.Base1, p.Base2}] = p
			}
		}
		reg.Problems = append(reg.Problems, o.Problems...)
	}
	slices.SortFunc(reg.Mirrors, func(a, b RegistryMirror) int { return strings.Compare(a.Job, b.Job) })
	reg.Pairs = slices.SortedFunc(maps.Values(pairs), func(a, b shared.PairRecord) int {
		return cmp.Or(strings.Compare(a.Base1, b.Base1), strings.Compare(a.Base2, b.Base2))
	})
	for i := range reg.Mirrors {
		reg.Mirrors[i].Equivalents = nil
	}
	reg.Link(reg.Pairs)
}

// Link gives each mirror its equivalents. Both sides of a pair are looked up by their origins, so that many
// mirrors and pairs take linear time.
func (reg *Registry) Link(pairs []shared.PairRecord) {
	type place struct {
		mirror int
		prefix string
	}
	at := map[string][]place{} // by origin
	for i := range reg.Mirrors {
		for _, p := range reg.Mirrors[i].Prefixes {
			if u, _, err := site.Parse(p); err == nil {
				at[u.Origin()] = append(at[u.Origin()], place{i, p})
			}
		}
	}
	places := func(base string) []place {
		u, _, err := site.Parse(base)
		if err != nil {
			return nil
		}
		return at[u.Origin()]
	}
	for _, p := range pairs {
		if !p.Mirrors {
			continue
		}
		for _, side := range [][2]string{{p.Base1, p.Base2}, {p.Base2, p.Base1}} {
			e := RegistryEquivalent{
				Of:              side[0],
				At:              side[1],
				Level:           p.Level,
				Confident:       p.Confident,
				Interchangeable: p.Equal,
				Good:            p.Good,
				Tested:          p.Tested,
			}
			if !p.Equal && p.Confident && !p.Alias && !p.RootOnly && p.Level == hosts.Level4.String() {
				e.Equal = p.SamePaths
			}
			for _, x := range places(side[1]) {
				if strings.HasPrefix(side[1], x.prefix) {
					e.Job = reg.Mirrors[x.mirror].Job
				}
			}
			last := -1
			for _, x := range places(side[0]) {
				if x.mirror != last && (strings.HasPrefix(side[0], x.prefix) || strings.HasPrefix(x.prefix, side[0])) {
					last = x.mirror
					m := &reg.Mirrors[x.mirror]
					m.Equivalents = append(m.Equivalents, e)
				}
			}
		}
	}
}

// readRegistryMirror reads the published version of a site; j is nil when there is no job of its name.
func readRegistryMirror(
	st *store.State, name string, j *job.Job, runs map[string]shared.RunRecord,
) (*RegistryMirror, error) {
	meta, err := render.PublishedMeta(st, name)
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(st.Dir, "sites", name, "current")
	m := &RegistryMirror{
		Job:       name,
		Tree:      tree,
		Table:     filepath.Join(tree, phm.FilesName),
		Primary:   meta.Primary,
		Entry:     meta.Entry,
		Version:   meta.Version,
		Retrieved: meta.Retrieved,
		Files:     meta.Files,
		Prefixes:  meta.Origins,
	}
	if j != nil {
		m.Prefixes = prefixesOf(j)
		if j.Scope.Kind != "prefixes" { // the target of url, when that is another origin
			if p := primaryBase(j, meta.Primary); p != j.Base() {
				if j.Scope.Kind != "directory" {
					p = meta.Primary + "/"
				}
				if !slices.Contains(m.Prefixes, p) {
					m.Prefixes = append(m.Prefixes, p)
				}
			}
		}
	}
	if run, ok := runs[name]; ok {
		m.Verdict, m.Ended = run.Verdict, run.Ended.UTC()
	}
	return m, nil
}

// primaryBase is the base of a job at the origin to which its first url leads: another scheme or host.
func primaryBase(j *job.Job, primary string) string {
	seeds := j.Seeds()
	if len(seeds) == 0 || primary == "" || seeds[0].Origin() == primary {
		return j.Base()
	}
	base := primary + seeds[0].Dir()
	rule, err := j.ScopeRule()
	if u, _, perr := site.Parse(base); err != nil || perr != nil || !rule.Covers(u) {
		return j.Base()
	}
	return base
}

// prefixesOf lists the prefixes of URLs that a job's scope covers: of kind domain, only those of the hosts
// that the job names.
func prefixesOf(j *job.Job) (out []string) {
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	if j.Scope.Kind == "prefixes" {
		for _, p := range j.Scope.Prefixes {
			add(p)
		}
		return out
	}
	for _, u := range j.Seeds() {
		p := u.Origin() + "/"
		if j.Scope.Kind == "directory" {
			p = u.Origin() + u.Path()[:strings.LastIndexByte(u.Path(), '/')+1]
		}
		add(p)
	}
	return out
}

// Known describes the known state of the mirrors of a node.
func (n *RegistryNode) Known() string {
	if n.AsOf == nil {
		return "are not known"
	}
	return "are listed as of " + status.TimeText(n.AsOf.Local())
}

// CurrentRegistry is the registry of a cluster when a daemon of the state is one of its nodes, else that of
// the state, by the jobs of the jobs directory.
func CurrentRegistry(ctx context.Context, a *env.App) (*Registry, error) {
	if c := clusterDaemon(a); c != nil {
		reg := new(Registry)
		err := c.Registry(ctx, reg)
		if err == nil {
			return reg, nil
		}
		a.Warning(fmt.Sprintf("the daemon was not asked for the mirrors of other nodes: %v", err))
	}
	return ownRegistry(a)
}

func ownRegistry(a *env.App) (_ *Registry, err error) {
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	return RegistryIn(a, st)
}

// RegistryIn is the registry of a state with the jobs of an environment, if it has job files.
func RegistryIn(a *env.App, st *store.State) (*Registry, error) {
	var jobs []*job.Job
	if _, err := a.JobFiles(); err == nil {
		if jobs, err = a.NamedJobs(nil); err != nil {
			return nil, err
		}
	}
	return ReadRegistry(st, jobs, st.Now())
}

// EquivalentsOf is what the registry has of one mirror, published or not. Which mirrors hold the equivalents
// is left out: that takes a look at all mirrors.
func EquivalentsOf(a *env.App, name string) (_ *RegistryMirror, err error) {
	j, err := a.ReadJob(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	m, err := readRegistryMirror(st, name, j, nil)
	none := errors.Is(err, record.ErrNoVersion) || errors.Is(err, fs.ErrNotExist)
	switch {
	case none && j == nil:
		return nil, fmt.Errorf("%s: %w", name, home.ErrNoSite)
	case none: // another node of a cluster may have it
		m = &RegistryMirror{Job: name, Prefixes: prefixesOf(j)}
	case err != nil:
		return nil, err
	}
	pairs, err := st.Shared.Pairs()
	if err != nil {
		return nil, err
	}
	reg := Registry{Mirrors: []RegistryMirror{*m}}
	reg.Link(pairs)
	return &reg.Mirrors[0], nil
}
