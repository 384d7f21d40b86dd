// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/scheduler/control"
)

// The study of a list is bounded: in all by Limit, for each host by the pairs that it is tested in, and by
// how many pairs are tested at a time.
const (
	studyPairsOfHost = 10
	studyAtOnce      = 8
	studyLookups     = 2000 // hosts whose addresses are looked up
	studySharing     = 5    // hosts that an address may have for their pairs to be candidates
	studyAgain       = 24 * time.Hour
)

// StudyRequest is what Study needs beside lists of addresses.
type StudyRequest struct {
	ReplicaOptions
	Lists []string
	Stdin io.Reader
	Set   []string // KEY=VALUE of the job by whose rules requests are made: politeness, robots, limits
}

// Study is candidates of lists of addresses, what the tests of them came to, and the paper's tables.
type Study struct {
	URLs       int               `json:"urls"`
	Bad        int               `json:"bad_lines"`
	Skipped    int               `json:"skipped_lines"` // of logs of proxies: requests that were no page views
	Hosts      int               `json:"hosts"`
	Candidates int               `json:"candidates"`
	Kept       int               `json:"kept"` // pairs that were tested before, and not again
	Pairs      []StudyPair       `json:"pairs"`
	Tables     hosts.StudyTables `json:"tables"`
}

// StudyPair is a candidate pair of a study.
type StudyPair struct {
	ReplicaPair
	Rank      int            `json:"rank"`
	Score     float64        `json:"score"` // 0: the pair was found by an address in common
	Motives   []hosts.Motive `json:"motives"`
	Addresses [2][]string    `json:"addresses"`

	of hosts.HostPair
}

// StudyHosts finds candidate pairs of hosts in lists of addresses, looks up the addresses of the hosts, tests
// the best candidates over the network, and counts the results. Each result is stored at once: a study that
// was interrupted continues, and a pair that was tested in the last 30 days is not tested again.
func StudyHosts(ctx context.Context, a *env.App, r StudyRequest) (_ *Study, err error) {
	j := job.Default("http://replicas.invalid/") // a job has a URL; this one is not requested
	j.Name = "replicas"
	if err := jobs.Apply(j, control.RunRequest{Set: r.Set}); err != nil {
		return nil, err
	}
	v := hosts.NewInventory(hosts.StageOne{Paper: r.Paper, MinURLs: r.MinURLs})
	count, err := readURLLists(ctx, a, r.Lists, r.Stdin, v)
	if err != nil {
		return nil, err
	}
	st, err := a.MakeState()
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, st)
	s := &study{
		replicaVerifier: replicaVerifier{
			App:   a,
			st:    st,
			hosts: new(fetch.Hosts),
			sides: map[*job.Job]*jobSide{},
		},
		job:     j,
		samples: samplesOf(v),
		addrs:   map[string][]netip.Addr{},
		none:    map[string]bool{},
		tests:   map[string]int{},
	}
	defer s.close()
	if err := s.lookUp(ctx); err != nil {
		return nil, err
	}
	candidates := s.candidates(v.Pairs())
	pairs, err := s.test(ctx, candidates[:shown(len(candidates), r.Limit)])
	if err != nil {
		return nil, err
	}
	return &Study{
		URLs:       count.URLs,
		Bad:        count.Bad,
		Skipped:    count.Skipped,
		Hosts:      v.Hosts(),
		Candidates: len(candidates),
		Kept:       s.kept,
		Pairs:      pairs,
		Tables:     studyTables(pairs),
	}, nil
}

func studyTables(pairs []StudyPair) hosts.StudyTables {
	var results []hosts.StudyResult
	for _, p := range pairs {
		if p.Untested == "" {
			results = append(results, hosts.StudyResult{
				Host1: p.of.Host1,
				Host2: p.of.Host2,
				Level: hosts.ParseLevel(p.Level),
			})
		}
	}
	return hosts.Tables(results)
}

// study tests candidate pairs of a list.
type study struct {
	replicaVerifier
	job     *job.Job
	samples map[string]hosts.HostSample
	addrs   map[string][]netip.Addr
	none    map[string]bool // names that have no address
	tests   map[string]int  // pairs by host that it is tested in
	kept    int
}

// lookUp looks up the addresses of the hosts that were considered, those of most URLs first. Behind a proxy
// nothing is looked up: the proxy does that.
func (s *study) lookUp(ctx context.Context) error {
	if s.job.Proxy != "" {
		return nil
	}
	names := slices.SortedFunc(maps.Keys(s.samples), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.samples[b].URLs, s.samples[a].URLs), strings.Compare(a, b))
	})
	names = names[:min(len(names), studyLookups)]
	var mu sync.Mutex
	done := 0
	return inParallel(ctx, names, func(name string) error {
		addrs, err := s.addresses(ctx, name)
		mu.Lock()
		defer mu.Unlock()
		if err == nil && len(addrs) > 0 {
			s.addrs[name] = addrs
		}
		if none := (*net.DNSError)(nil); errors.As(err, &none) && none.IsNotFound {
			s.none[name] = true
		}
		done++
		s.Progress(fmt.Sprintf("%d of %d hosts looked up", done, len(names)))
		return ctx.Err()
	})
}

// lookupTime bounds the lookup of one name.
const lookupTime = 10 * time.Second

func (s *study) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	network := s.Network
	if network == nil {
		network = fetch.System()
	}
	return network.Lookup(ctx, name)
}

// candidates are the pairs that stage I found, and after them those that have an address in common.
func (s *study) candidates(found []hosts.HostPair) []hosts.HostPair {
	known := map[[2]string]bool{}
	for _, p := range found {
		known[[2]string{p.Host1, p.Host2}] = true
	}
	for _, p := range hosts.AddressPairs(s.addrs, studySharing) {
		if !known[p] {
			found = append(found, hosts.HostPair{Host1: p[0], Host2: p[1], Typo: hosts.IsTypo(p[0], p[1])})
		}
	}
	return found
}

// test tests pairs, several at a time.
func (s *study) test(ctx context.Context, pairs []hosts.HostPair) ([]StudyPair, error) {
	out := make([]StudyPair, len(pairs))
	var todo []int
	for i, p := range pairs {
		known, err := s.begin(&out[i], i, p)
		if err != nil {
			return nil, err
		}
		if !known {
			todo = append(todo, i)
		}
	}
	if len(todo) > 0 { // the client of the job is made by one goroutine
		if _, err := s.side(s.job, "", nil); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	done := 0
	err := inParallel(ctx, todo, func(i int) error {
		p := &out[i]
		if err := s.testOne(ctx, p); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		s.Progress(fmt.Sprintf("%d of %d pairs tested; %s %s: %s", done, len(todo), p.Base1, p.Base2, p.Level))
		return nil
	})
	if err != nil {
		const form = "%d of %d pairs were tested and are kept, the same command continues from there: %w"
		return nil, fmt.Errorf(form, len(out)-len(todo)+done, len(out), err)
	}
	for i := range out {
		s.motives(&out[i])
	}
	return out, nil
}

// begin fills in the known result of a pair before it is tested; known says that it need not be.
func (s *study) begin(p *StudyPair, i int, pair hosts.HostPair) (known bool, err error) {
	p.Rank, p.Score, p.of = i+1, pair.Score, pair
	p.Base1, p.Base2 = s.base(pair.Host1), s.base(pair.Host2)
	last, ok, err := s.st.Shared.LoadPair(p.Base1, p.Base2)
	if err != nil {
		return false, err
	}
	valid := hosts.TestedFor
	if ok && !last.Mirrors && last.Level != hosts.Mismatch.String() {
		valid = studyAgain
	}
	if ok && s.Clock().Sub(last.Tested) <= valid {
		p.PairRecord = last
		p.Suggestion = suggestRecord(&last)
		s.kept++
		return true, nil
	}
	for _, host := range [2]string{pair.Host1, pair.Host2} {
		if s.none[host] {
			v := hosts.PairVerdict{Level: hosts.DNSFailure}
			p.take(&v, s.Clock())
			p.Suggestion = host + " has no address"
			return true, nil
		}
		if s.tests[host] >= studyPairsOfHost {
			p.Untested = fmt.Sprintf("%s is tested with %d other hosts already", host, studyPairsOfHost)
			return true, nil
		}
	}
	s.tests[pair.Host1]++
	s.tests[pair.Host2]++
	return false, nil
}

func (s *study) base(host string) string {
	if s.samples[host].HTTPS {
		return "https://" + host + "/"
	}
	return "http://" + host + "/"
}

func (s *study) testOne(ctx context.Context, p *StudyPair) error {
	one, two := p.of.Host1, p.of.Host2
	here, err := s.side(s.job, p.Base1, s.samples[one].Paths)
	if err != nil {
		return err
	}
	there, err := s.side(s.job, p.Base2, s.samples[two].Paths)
	if err != nil {
		return err
	}
	verdict, err := source.TestReplicas(ctx, here, there)
	if err != nil {
		return err
	}
	p.take(&verdict, s.Clock())
	known := [2]int{s.samples[one].URLs, s.samples[two].URLs}
	p.Suggestion = suggestTested(&verdict, known)
	return source.KeepPair(s.st.Shared, p.PairRecord)
}

// motives says why the two hosts of a pair may have the same pages.
func (s *study) motives(p *StudyPair) {
	e := hosts.PairEvidence{
		Host1:     p.of.Host1,
		Host2:     p.of.Host2,
		Level:     hosts.ParseLevel(p.Level),
		Alias:     p.Alias,
		Addresses: [2][]netip.Addr{s.addrs[p.of.Host1], s.addrs[p.of.Host2]},
	}
	p.Motives = e.Motives()
	for i, addrs := range e.Addresses {
		p.Addresses[i] = []string{}
		for _, a := range addrs {
			p.Addresses[i] = append(p.Addresses[i], a.Unmap().String())
		}
	}
}

// inParallel calls f for each of a list, several at a time, up to the first error.
func inParallel[T any](ctx context.Context, list []T, f func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	env.AtOnce(studyAtOnce, list, func(x T) {
		if ctx.Err() != nil {
			return
		}
		if err := f(x); err != nil {
			cancel(err)
		}
	})
	return context.Cause(ctx)
}
