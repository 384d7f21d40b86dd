// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/json"
	"slices"
	"sync"

	"mirrord/store/record"
	"mirrord/store/shared"
)

// MemoryNotes has what runs and checks of a site leave for the next one, in memory. Safe for concurrent use.
// The zero value is empty. What it returns is the caller's.
type MemoryNotes struct {
	mu      sync.Mutex
	runs    int // begun
	run     *record.Run
	last    []byte
	rules   string
	facts   map[string][]byte
	damaged []string
	wrong   []string
}

// Run returns the unfinished run, nil without one.
func (m *MemoryNotes) Run() (*record.Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copyOf(m.run), nil
}

func copyOf(r *record.Run) *record.Run {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

// BeginRun gives a run that begins its number and keeps it as the unfinished one.
func (m *MemoryNotes) BeginRun(r *record.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs++
	r.Number = m.runs
	m.run = copyOf(r)
	return nil
}

// CountRun gives a run a number that no other run has.
func (m *MemoryNotes) CountRun(r *record.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs++
	r.Number = m.runs
	return nil
}

// Runs returns the number of the run that was begun last, 0 before the first.
func (m *MemoryNotes) Runs() (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.runs, nil
}

// SetRun stores the unfinished run; nil ends it.
func (m *MemoryNotes) SetRun(r *record.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run = copyOf(r)
	return nil
}

// KeepRun keeps the record of the last run.
func (m *MemoryNotes) KeepRun(r shared.RunRecord) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = v
	return nil
}

// Fingerprint returns the fingerprint of the rules under which stored documents were scanned.
func (m *MemoryNotes) Fingerprint() (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rules, nil
}

// SetFingerprint keeps it.
func (m *MemoryNotes) SetFingerprint(fp string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = fp
	return nil
}

// Fact returns what SetFact kept under a name, nil when there is nothing.
func (m *MemoryNotes) Fact(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.facts[name]), nil
}

// SetFact keeps a small fact; nil forgets it.
func (m *MemoryNotes) SetFact(name string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.facts == nil {
		m.facts = map[string][]byte{}
	}
	if v == nil {
		delete(m.facts, name)
	} else {
		m.facts[name] = slices.Clone(v)
	}
	return nil
}

// Damaged returns the URLs whose stored bodies NoteDamaged named.
func (m *MemoryNotes) Damaged() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.damaged), nil
}

// NoteDamaged keeps URLs in place of those of the last call.
func (m *MemoryNotes) NoteDamaged(urls []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.damaged = eachOnce(urls)
	return nil
}

// WrongFiles returns the paths that NoteWrongFiles named.
func (m *MemoryNotes) WrongFiles() ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.wrong), nil
}

// NoteWrongFiles keeps paths in place of those of the last call.
func (m *MemoryNotes) NoteWrongFiles(paths []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = eachOnce(paths)
	return nil
}

func eachOnce(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
