// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/fetch"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/phm"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
)

// ReplicaPair is a pair that was tested, or why it was not.
type ReplicaPair struct {
	shared.PairRecord
	Job        string   `json:"job,omitempty"` // whose alternate the second one is
	Outcomes   []string `json:"tests,omitempty"`
	Suggestion string   `json:"suggestion"`
	Untested   string   `json:"untested,omitempty"`
}

// VerifyReplicas tests the alternates of jobs, all of them when no names are given, and then also the pairs
// of hosts among the mirrors that look like replicas by their addresses. It makes requests, as politely as
// runs do. What comes of it is kept in the state.
func VerifyReplicas(
	ctx context.Context, a *env.App, names []string, o ReplicaOptions,
) (_ []ReplicaPair, err error) {
	jobs, err := a.NamedJobs(names)
	if err != nil {
		return nil, err
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	v := &replicaVerifier{
		App:   a,
		st:    st,
		jobs:  jobs,
		hosts: new(fetch.Hosts),
		sides: map[*job.Job]*jobSide{},
		pairs: []ReplicaPair{},
	}
	defer v.close()
	for _, j := range jobs {
		for _, alt := range j.AlternateURLs() {
			if err := v.against(ctx, j, alt, j.Name); err != nil {
				return nil, err
			}
		}
	}
	if len(names) == 0 {
		if err := v.candidates(ctx, o); err != nil {
			return nil, err
		}
	}
	return v.pairs, nil
}

// replicaVerifier tests pairs through the polite fetchers of the jobs that they belong to.
type replicaVerifier struct {
	*env.App
	st    *store.State
	jobs  []*job.Job
	hosts *fetch.Hosts // the politeness of all tests
	sides map[*job.Job]*jobSide
	pairs []ReplicaPair
}

type jobSide struct {
	client *fetch.Client
	robots *fetch.RobotsCache
}

func (v *replicaVerifier) close() {
	for _, s := range v.sides {
		s.client.Close()
	}
}

// side is one side of a pair, requested by the rules of a job.
func (v *replicaVerifier) side(j *job.Job, base string, paths []string) (source.Side, error) {
	s := v.sides[j]
	if s == nil {
		c, err := source.NewClient(j, source.Surroundings{
			LookupEnv: v.LookupEnv,
			ReadFile:  regular.ReadSmall,
			Names:     v.st.PublicNames,
			Network:   v.Network,
		}, v.Log)
		if err != nil {
			return source.Side{}, fmt.Errorf("job %s: %w", j.Name, err)
		}
		s = &jobSide{c, source.NewRobots(j, c, runs.HostFacts(v.App, v.st))}
		v.sides[j] = s
	}
	turns, err := frontier.NewPacer(v.hosts, j, source.Politeness(j), v.Clock)
	if err != nil {
		return source.Side{}, fmt.Errorf("job %s: %w", j.Name, err)
	}
	o := source.AskerOptionsOf(j)
	o.Fetcher, o.Robots, o.Turns, o.Now = s.client, s.robots, turns, v.Clock
	return source.Side{Base: base, Paths: paths, Asker: source.NewAsker(o)}, nil
}

// against tests a place against the origin of a job, by the pages that the mirror has. named is the job when
// that names it as an alternate.
func (v *replicaVerifier) against(ctx context.Context, j *job.Job, alt site.URL, named string) error {
	var paths []string
	base, err := v.base(j)
	if err == nil {
		err = v.pages(ctx, j.Name, func(u string) {
			if rest, ok := strings.CutPrefix(u, base); ok {
				paths = append(paths, "/"+rest)
			}
		})
	}
	none := "the mirror has no page under " + base
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, home.ErrNoSite) || errors.Is(err, record.ErrNoVersion):
		none = "the job has no mirror yet that says what to compare: run it first"
	case err != nil: // the others are tested all the same
		paths, none = nil, "its mirror cannot be read: "+err.Error()
	}
	p := ReplicaPair{PairRecord: shared.PairRecord{Base1: base, Base2: alt.String()}, Job: named}
	if len(paths) == 0 {
		p.Untested = none
		v.pairs = append(v.pairs, p)
		return nil
	}
	here, err := v.side(j, base, paths)
	if err != nil {
		return err
	}
	there, err := v.side(j, alt.String(), nil)
	if err != nil {
		return err
	}
	return v.test(ctx, here, there, p)
}

// base is the directory of the web that a job's alternates stand for: where its url leads.
func (v *replicaVerifier) base(j *job.Job) (string, error) {
	root, err := env.OpenTree(v.st, j.Name)
	if err != nil {
		return j.Base(), err
	}
	defer root.Close()
	meta, err := phm.OpenMeta(root.FS())
	if err != nil {
		return j.Base(), err
	}
	return primaryBase(j, meta.Primary), nil
}

// pages calls f for the URL of each page that the published version of a site has.
func (v *replicaVerifier) pages(ctx context.Context, name string, f func(u string)) error {
	root, err := env.OpenTree(v.st, name)
	if err != nil {
		return err
	}
	defer root.Close()
	table, err := root.Open(phm.FilesName)
	if err != nil {
		return err
	}
	defer table.Close()
	for file, err := range phm.Files(table) {
		if line := (*phm.LineError)(nil); errors.As(err, &line) {
			continue
		} else if err != nil {
			return err
		}
		if file.Type == "text/html" || file.Type == "application/xhtml+xml" || file.Type == "text/plain" {
			f(file.URL)
		}
	}
	return ctx.Err()
}

func (v *replicaVerifier) test(ctx context.Context, here, there source.Side, p ReplicaPair) error {
	v.Progress(fmt.Sprintf("testing %s %s", here.Base, there.Base))
	verdict, err := source.TestReplicas(ctx, here, there)
	if err != nil {
		return err
	}
	p.Base1, p.Base2 = here.Base, there.Base
	p.take(&verdict, v.Clock())
	p.Named = p.Job != ""
	p.Suggestion = suggestTested(&verdict, [2]int{})
	if p.Job != "" && verdict.Interchangeable() {
		p.Suggestion = "it is used when the origin of " + p.Job + " fails"
	}
	v.pairs = append(v.pairs, p)
	return source.KeepPair(v.st.Shared, p.PairRecord)
}

// take fills in what a test of the pair came to.
func (p *ReplicaPair) take(v *hosts.PairVerdict, now time.Time) {
	p.PairRecord = source.PairOf(v, p.Base1, p.Base2, now)
	p.Outcomes = outcomesOf(v)
}

// candidates tests the pairs of hosts among the mirrors of the state that stage I finds.
func (v *replicaVerifier) candidates(ctx context.Context, o ReplicaOptions) error {
	inventory := hosts.NewInventory(o.ofPages())
	owner := map[string]*job.Job{} // by host
	origin := map[string]string{}
	for _, j := range v.jobs {
		own := func(u site.URL) {
			if host, _, err := hosts.SplitURL([]byte(u.String())); err == nil && owner[string(host)] == nil {
				owner[string(host)], origin[string(host)] = j, u.Origin()
			}
		}
		for _, u := range j.Seeds() {
			own(u)
		}
		if base, err := v.base(j); err == nil {
			if u, _, err := site.Parse(base); err == nil {
				own(u)
			}
		}
	}
	sites, err := v.st.Sites()
	if err != nil {
		return err
	}
	dir := map[string]string{} // above all pages of a host: the test compares that directory
	bad := map[string]bool{}
	read := func(name string, f func(host, path []byte)) error {
		err := v.pages(ctx, name, func(u string) {
			if host, path, err := hosts.SplitURL([]byte(u)); err == nil {
				f(host, path)
			}
		})
		switch {
		case errors.Is(err, record.ErrNoVersion):
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // the others are compared all the same
			if !bad[name] {
				v.Warning(fmt.Sprintf("mirrord: the mirror of %s is left out: %v", name, err))
			}
			bad[name] = true
		}
		return nil
	}
	for _, name := range sites {
		err := read(name, func(host, path []byte) {
			inventory.Add(host, path)
			dir[string(host)] = commonDir(dir[string(host)], string(path))
		})
		if err != nil {
			return err
		}
	}
	pairs := inventory.Pairs()
	if slices.ContainsFunc(slices.Collect(maps.Values(dir)), func(d string) bool { return d != "/" }) {
		// The same by what lies below these directories, which have any name.
		below := hosts.NewInventory(o.ofPages())
		for _, name := range sites {
			err := read(name, func(host, path []byte) {
				if rest, ok := belowDir(dir[string(host)], path); ok {
					below.Add(host, rest)
				}
			})
			if err != nil {
				return err
			}
		}
		known := map[[2]string]bool{}
		for _, p := range pairs {
			known[[2]string{p.Host1, p.Host2}] = true
		}
		for _, p := range below.Pairs() {
			if !known[[2]string{p.Host1, p.Host2}] { // the one before in the alphabet comes first
				pairs = append(pairs, p)
			}
		}
	}
	samples := samplesOf(inventory)
	side := func(host string) (source.Side, error) {
		paths := make([]string, len(samples[host].Paths))
		for i, p := range samples[host].Paths {
			paths[i] = p[len(dir[host])-1:]
		}
		return v.side(owner[host], origin[host]+dir[host], paths)
	}
	for _, p := range pairs[:shown(len(pairs), o.Limit)] {
		one, two := p.Host1, p.Host2
		base1, base2 := cmp.Or(origin[one], "host "+one)+dir[one], cmp.Or(origin[two], "host "+two)+dir[two]
		if owner[one] == nil || owner[two] == nil {
			host := one
			if owner[one] != nil {
				host = two
			}
			v.pairs = append(v.pairs, ReplicaPair{
				PairRecord: shared.PairRecord{Base1: base1, Base2: base2},
				Untested:   "no job has " + host + " for its url, whose rules would say how to ask it",
			})
			continue
		}
		if slices.ContainsFunc(v.pairs, func(q ReplicaPair) bool {
			return q.Untested == "" &&
				((q.Base1 == base1 && q.Base2 == base2) || (q.Base1 == base2 && q.Base2 == base1))
		}) {
			continue
		}
		here, err := side(one)
		if err != nil {
			return err
		}
		there, err := side(two)
		if err != nil {
			return err
		}
		if err := v.test(ctx, here, there, ReplicaPair{}); err != nil {
			return err
		}
	}
	return nil
}

// belowDir returns what of a path lies below a directory, with a slash before it. A mirror that was published
// since the directory was found may have more.
func belowDir(dir string, path []byte) (rest []byte, ok bool) {
	if dir == "" || !strings.HasPrefix(string(path), dir) {
		return nil, false
	}
	return path[len(dir)-1:], true
}

// commonDir is the deepest directory above both a directory and a path; "" is the directory above nothing
// yet.
func commonDir(dir, path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = path[:strings.LastIndexByte(path, '/')+1]
	if dir == "" {
		return path
	}
	n := 0
	for n < len(dir) && n < len(path) && dir[n] == path[n] {
		n++
	}
	return dir[:strings.LastIndexByte(dir[:n], '/')+1]
}
