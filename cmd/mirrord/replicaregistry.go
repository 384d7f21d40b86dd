package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/control"
	"mirrord/job"
	"mirrord/phm"
	"mirrord/store"
)

// registryFormat is the version of the registry's form. Fields may be added without a new one.
const registryFormat = 1

// registry says which mirrors and which equivalents exist of which parts of the web: what a smart proxy or a load balancer needs to know.
type registry struct {
	Format  int              `json:"registry"`
	Made    time.Time        `json:"made"`
	Mirrors []registryMirror `json:"mirrors"`
	Pairs   []registryPair   `json:"pairs"`
}

// registryMirror is a published mirror of this state.
type registryMirror struct {
	Prefixes  []string  `json:"prefixes"` // of the URLs that it has
	Job       string    `json:"job"`
	Tree      string    `json:"tree"`  // directory of the published version
	Table     string    `json:"table"` // JSON lines: which URL lies at which path
	Primary   string    `json:"primary"`
	Entry     string    `json:"entry"` // path of the first page
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
	Files     int       `json:"files"`
	Verdict   string    `json:"verdict,omitempty"` // of the last run
	Ended     time.Time `json:"ended,omitzero"`    // of the last run
	// Equivalents are replicas, here and elsewhere, of which a test said something. What lies under "of" lies under "at" at the same relative path.
	Equivalents []registryEquivalent `json:"equivalents,omitempty"`
}

type registryEquivalent struct {
	Of              string    `json:"of"`
	At              string    `json:"at"`
	Level           string    `json:"level"`
	Confident       bool      `json:"confident"`
	Interchangeable bool      `json:"interchangeable"`
	Good            float64   `json:"good"`
	Tested          time.Time `json:"tested"`
	Job             string    `json:"job,omitempty"` // that mirrors it here too
}

// registryPair is a pair that was tested, replicas or not.
type registryPair = store.PairRecord

// readRegistry makes the registry of a state. jobs are those in force; a site without a job is listed with what its mirror says of itself.
func readRegistry(st *store.State, jobs []*job.Job, now time.Time) (*registry, error) {
	out := &registry{Format: registryFormat, Made: now.UTC().Truncate(time.Second), Mirrors: []registryMirror{}, Pairs: []registryPair{}}
	pairs, err := st.Pairs()
	if err != nil {
		return nil, err
	}
	out.Pairs = append(out.Pairs, pairs...)
	sites, err := st.Sites()
	if err != nil {
		return nil, err
	}
	for _, name := range sites {
		m, err := readRegistryMirror(st, name, jobs)
		switch {
		case errors.Is(err, store.ErrNoVersion) || errors.Is(err, store.ErrNoSite):
			continue
		case err != nil:
			return nil, err
		}
		out.Mirrors = append(out.Mirrors, *m)
	}
	for i := range out.Mirrors {
		m := &out.Mirrors[i]
		for _, p := range pairs {
			if !p.Mirrors {
				continue
			}
			for _, side := range [][2]string{{p.Base1, p.Base2}, {p.Base2, p.Base1}} {
				if !slices.ContainsFunc(m.Prefixes, func(prefix string) bool {
					return strings.HasPrefix(side[0], prefix) || strings.HasPrefix(prefix, side[0])
				}) {
					continue
				}
				e := registryEquivalent{Of: side[0], At: side[1], Level: p.Level, Confident: p.Confident, Interchangeable: p.Equal, Good: p.Good, Tested: p.Tested}
				for _, other := range out.Mirrors {
					if slices.ContainsFunc(other.Prefixes, func(prefix string) bool { return strings.HasPrefix(side[1], prefix) }) {
						e.Job = other.Job
					}
				}
				m.Equivalents = append(m.Equivalents, e)
			}
		}
	}
	return out, nil
}

func readRegistryMirror(st *store.State, name string, jobs []*job.Job) (*registryMirror, error) {
	root, err := openTree(st, name)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	meta, err := phm.OpenMeta(root.FS())
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(st.Dir, "sites", name, "current")
	m := &registryMirror{Job: name, Tree: tree, Table: filepath.Join(tree, phm.FilesName), Primary: meta.Primary, Entry: meta.Entry, Version: meta.Version,
		Retrieved: meta.Retrieved, Files: meta.Files, Prefixes: meta.Origins}
	if i := slices.IndexFunc(jobs, func(j *job.Job) bool { return j.Name == name }); i >= 0 {
		m.Prefixes = prefixesOf(jobs[i])
	}
	runs, err := st.Runs(name, 1)
	if err != nil {
		return nil, err
	}
	if len(runs) > 0 {
		m.Verdict, m.Ended = runs[0].Verdict, runs[0].Ended.UTC()
	}
	return m, nil
}

// prefixesOf lists the prefixes of URLs that a job's scope covers: of kind domain, only those of the hosts that the job names.
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

// replicaRegistry prints the registry.
func (a *app) replicaRegistry() (err error) {
	st, err := a.mustState()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	var jobs []*job.Job
	if _, err := jobFiles(a.jobsDir()); err == nil {
		if jobs, err = a.namedJobs(nil); err != nil {
			return err
		}
	}
	reg, err := readRegistry(st, jobs, time.Now())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(reg)
	}
	for _, m := range reg.Mirrors {
		a.printf("%s\n  mirror %s, version %d of %s: %s\n", strings.Join(m.Prefixes, " "), m.Job, m.Version, timeText(&m.Retrieved), m.Tree)
		for _, e := range m.Equivalents {
			use := "in part"
			if e.Interchangeable {
				use = "interchangeable"
			}
			a.printf("  %s at %s: level %s, %s, tested %s\n", e.Of, e.At, e.Level, use, timeText(&e.Tested))
		}
	}
	return nil
}

// Registry is the registry by the jobs in force.
func (d *daemonAPI) Registry() (any, error) {
	var jobs []*job.Job
	for _, e := range d.sched.Config() {
		if e.Job != nil {
			jobs = append(jobs, e.Job)
		}
	}
	return readRegistry(d.st, jobs, time.Now())
}

var _ control.Registrar = (*daemonAPI)(nil)
