// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// Records has what a site knows of its URLs, in memory. It keeps no history and no heads of answers. Safe for
// concurrent use; Commit and Fold want one caller at a time. The zero value is empty.
type Records struct {
	mu       sync.Mutex
	known    uint32
	journal  []batch
	records  map[string]record.Resource // by key
	targets  map[uint32][]byte
	observed map[int]record.Observation // by run
}

// batch is the content of one Commit.
type batch struct {
	first uint32
	news  []record.NewURL
	done  []result
}

type result struct {
	record.Resource
	targets []byte
	linked  bool
}

// Known returns how many URLs have a number.
func (m *Records) Known() (uint32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known, nil
}

// Commit appends a batch to the journal.
func (m *Records) Commit(first uint32, news []record.NewURL, done []*record.Done) error {
	for _, n := range news {
		if len(n.URL) > record.MaxURL {
			return fmt.Errorf("commit: %.80q: %w", n.URL, facts.ErrTooLong)
		}
	}
	b := batch{first: first, news: slices.Clone(news)}
	for _, d := range done {
		x := result{Resource: d.Resource, linked: d.Linked}
		x.Answer = nil
		if d.Linked {
			x.targets = record.AppendTargets(nil, d.Targets)
		}
		b.done = append(b.done, x)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = first + uint32(len(news))
	m.journal = append(m.journal, b)
	return nil
}

// Replay calls newURL and done for everything in the journal, in the order of the commits.
func (m *Records) Replay(
	newURL func(uint32, record.NewURL) error, done func(*record.Resource, []byte, bool) error,
) error {
	m.mu.Lock()
	batches := slices.Clone(m.journal)
	m.mu.Unlock()
	for _, b := range batches {
		for i, n := range b.news {
			if err := newURL(b.first+uint32(i), n); err != nil {
				return err
			}
		}
		for _, d := range b.done {
			if err := done(&d.Resource, d.targets, d.linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fold moves the journal into the records.
func (m *Records) Fold(o facts.Folding) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.Err != nil {
		if err := o.Err(); err != nil {
			return err
		}
	}
	if m.records == nil {
		m.records, m.targets = map[string]record.Resource{}, map[uint32][]byte{}
	}
	for _, b := range m.journal {
		for i, n := range b.news {
			id := b.first + uint32(i)
			u := site.Canonical(n.URL)
			key := string(u.Key(nil))
			if _, there := m.records[key]; there || !o.Pending(id) {
				continue
			}
			m.records[key] = record.Resource{
				ID:       id,
				URL:      u,
				Referrer: n.Referrer,
				Depth:    n.Depth,
				Requis:   n.Requis,
			}
		}
		for _, d := range b.done {
			if p := o.Path(&d.Resource); d.InSet && p != "" && p != d.Path {
				d.Path, d.Moved = p, o.Version
			}
			m.records[string(d.URL.Key(nil))] = d.Resource
			if d.linked {
				m.targets[d.ID] = d.targets
			}
		}
	}
	m.journal = nil
	return nil
}

// Get returns the record of a URL; ok is false without one.
func (m *Records) Get(u site.URL) (r record.Resource, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok = m.records[string(u.Key(nil))]
	return r, ok, nil
}

// Resources calls f for every record in key order.
func (m *Records) Resources(f func(*record.Resource) error) error { return m.under("", f) }

// ResourcesUnder is Resources for what lies below a directory.
func (m *Records) ResourcesUnder(dir site.URL, f func(*record.Resource) error) error {
	return m.under(string(dir.Key(nil)), f)
}

func (m *Records) under(prefix string, f func(*record.Resource) error) error {
	m.mu.Lock()
	records := maps.Clone(m.records)
	m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(records)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		r := records[key]
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

// Links calls f for every document with the numbers of the URLs it links to.
func (m *Records) Links(f func(id uint32, targets []byte) error) error {
	m.mu.Lock()
	targets := maps.Clone(m.targets)
	m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(targets)) {
		if err := f(id, targets[id]); err != nil {
			return err
		}
	}
	return nil
}

// TargetsOf returns the numbers of the URLs that a document links to.
func (m *Records) TargetsOf(id uint32) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return bytes.Clone(m.targets[id]), nil
}

// AddObservation keeps what a run has observed, instead of its earlier observation.
func (m *Records) AddObservation(o *record.Observation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.observed == nil {
		m.observed = map[int]record.Observation{}
	}
	m.observed[o.Run] = *o
	return nil
}

// Observations calls f for what every run has observed, oldest first.
func (m *Records) Observations(f func(*record.Observation) error) error {
	m.mu.Lock()
	observed := maps.Clone(m.observed)
	m.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(observed)) {
		o := observed[run]
		if err := f(&o); err != nil {
			return err
		}
	}
	return nil
}
