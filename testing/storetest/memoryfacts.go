// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"mirrord/fetch/robots"
	"mirrord/store/shared"
)

// Facts has what a state knows beside its sites, in memory: the run log, tested pairs, robots.txt of hosts
// and records of jobs. Safe for concurrent use. The zero value is empty. What it returns is the caller's.
type Facts struct {
	mu    sync.Mutex
	runs  map[string][]shared.RunRecord
	pairs map[[2]string]shared.PairRecord
	hosts map[string]robots.FileCopy
	jobs  map[string][]byte
}

// AddRun appends to the run log.
func (f *Facts) AddRun(r shared.RunRecord) error {
	data, err := json.Marshal(r) // as a state does: times lose their clock, and an invalid summary is an error
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs == nil {
		f.runs = map[string][]shared.RunRecord{}
	}
	f.runs[r.Site] = append(f.runs[r.Site], r)
	return nil
}

// Runs returns the last n runs of a site, newest first.
func (f *Facts) Runs(site string, n int) ([]shared.RunRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []shared.RunRecord
	for _, r := range slices.Backward(f.runs[site]) {
		if len(out) == n {
			break
		}
		out = append(out, copyRun(r))
	}
	return out, nil
}

func copyRun(r shared.RunRecord) shared.RunRecord {
	r.Reasons, r.Summary = slices.Clone(r.Reasons), slices.Clone(r.Summary)
	return r
}

// LastRuns returns the last run of every site.
func (f *Facts) LastRuns() (map[string]shared.RunRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]shared.RunRecord{}
	for site, runs := range f.runs {
		out[site] = copyRun(runs[len(runs)-1])
	}
	return out, nil
}

// SavePair keeps what a test of a pair came to.
func (f *Facts) SavePair(p shared.PairRecord) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pairs == nil {
		f.pairs = map[[2]string]shared.PairRecord{}
	}
	f.pairs[[2]string{p.Base1, p.Base2}] = p
	return nil
}

// LoadPair returns the last test of two base URLs, in this order.
func (f *Facts) LoadPair(base1, base2 string) (p shared.PairRecord, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok = f.pairs[[2]string{base1, base2}]
	return p, ok, nil
}

// Pairs lists the pairs that were tested, by base URLs.
func (f *Facts) Pairs() ([]shared.PairRecord, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.pairs), func(a, b shared.PairRecord) int {
		return cmp.Or(cmp.Compare(a.Base1, b.Base1), cmp.Compare(a.Base2, b.Base2))
	}), nil
}

// LoadHost returns the record of an origin.
func (f *Facts) LoadHost(origin string) (h robots.FileCopy, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, ok = f.hosts[origin]
	h.Body = slices.Clone(h.Body)
	return h, ok, nil
}

// SaveHost stores the record of an origin.
func (f *Facts) SaveHost(origin string, h robots.FileCopy) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts == nil {
		f.hosts = map[string]robots.FileCopy{}
	}
	h.Body = slices.Clone(h.Body)
	f.hosts[origin] = h
	return nil
}

// JobRecords returns the records of all jobs.
func (f *Facts) JobRecords() (map[string][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string][]byte{}
	for name, v := range f.jobs {
		out[name] = slices.Clone(v)
	}
	return out, nil
}

// SaveJobRecords writes records of jobs; nil removes one.
func (f *Facts) SaveJobRecords(records map[string][]byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.jobs == nil {
		f.jobs = map[string][]byte{}
	}
	for name, v := range records {
		if v == nil {
			delete(f.jobs, name)
			continue
		}
		f.jobs[name] = append([]byte{}, v...)
	}
	return nil
}
