// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"math"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/store/record"
)

// DirHistory is how the directories of a site changed: a step for each run that observed something, or in
// which something entered or left without a request. Its first run is the base.
type DirHistory struct {
	*evolution.History
	Runs   []int             // number of the run of each step; that of the base first
	Audits [][]evolution.Dir // of each of them: the directories of the files that it audited

	dirs *DirTable
	of   []evolution.Dir // by policy.Dir: the number in the history, where it is in it
}

// noDir is the number of a directory that the history does not know.
const noDir = evolution.Dir(math.MaxUint32)

// History makes the history of directories from what the runs have observed. It takes time in proportion to
// what all runs observed and to the directories for each run, and 9 bytes for each URL while it works.
// Doubtful runs are left out. When the clock was set back between two runs they have the same time.
func (k KnownSite) History(dirs *DirTable) (*DirHistory, error) {
	m, err := k.firstMembers(dirs)
	if err != nil {
		return nil, err
	}
	h := &DirHistory{
		History: new(evolution.History),
		dirs:    dirs,
		of:      make([]evolution.Dir, len(dirs.path)),
	}
	for i := range h.of {
		h.of[i] = noDir
	}
	h.of[policy.Root] = evolution.Root
	last := int64(0)
	err = k.Observed.Observations(func(o *record.Observation) error {
		if !observes(o) {
			return nil
		}
		last = max(last, o.Time)
		if err := h.step(m, o, last); err != nil {
			return fmt.Errorf("history of %s: run %d: %w", k.Name, o.Run, err)
		}
		h.Runs = append(h.Runs, o.Run)
		return nil
	})
	return h, err
}

// members are the URLs of a site by whether they are in the mirror, at one moment of its history.
type members struct {
	dir   []policy.Dir
	in    []bool
	files []int // by directory: those that are in
}

// firstMembers returns the members before the first run of the history. It goes back from the present
// mirror: what entered first was not in, what left first was.
func (k KnownSite) firstMembers(dirs *DirTable) (*members, error) {
	n := k.Table.Len()
	m := &members{dir: make([]policy.Dir, n), in: make([]bool, n)}
	urls := k.Table.Reader()
	for id, s := range k.Table.All() {
		if s.Given() {
			m.dir[id], m.in[id] = dirs.Of(urls.URL(id)), s.InSet()
		}
	}
	m.files = make([]int, len(dirs.path))
	const entered, left = 1, 2
	first := make([]uint8, n)
	note := func(ids record.IDs, what uint8) {
		m.known(ids, func(id uint32) {
			if first[id] == 0 {
				first[id] = what
			}
		})
	}
	err := k.Observed.Observations(func(o *record.Observation) error {
		if !o.Doubtful {
			note(o.Entered, entered)
			note(o.Left, left)
			note(o.Joined, left)
		}
		return nil
	})
	for id, what := range first {
		if what != 0 {
			m.in[id] = what == left
		}
		if m.in[id] {
			m.files[m.dir[id]]++
		}
	}
	return m, err
}

// set says whether a URL is in from now on, and reports whether that is a change.
func (m *members) set(id uint32, in bool) bool {
	if m.in[id] == in {
		return false
	}
	m.in[id] = in
	if in {
		m.files[m.dir[id]]++
	} else {
		m.files[m.dir[id]]--
	}
	return true
}

// known calls f for the numbers of a set that the site knows.
func (m *members) known(ids record.IDs, f func(id uint32)) {
	for id := range ids.All() {
		if int(id) >= len(m.in) {
			break
		}
		f(id)
	}
}

// step adds what a run observed to the history.
func (h *DirHistory) step(m *members, o *record.Observation, time int64) error {
	rec := h.Record(time)
	dir := func(id uint32) evolution.Dir {
		d := m.dir[id]
		if h.of[d] == noDir {
			h.of[d] = rec.Dir(h.dirs.path[d])
		}
		return h.of[d]
	}
	base := h.Len() == 0 && len(h.Runs) == 0
	if base { // what was there before the first run is part of the base too
		for id, in := range m.in {
			if in && !o.Left.Has(uint32(id)) && !o.Joined.Has(uint32(id)) {
				rec.Insert(dir(uint32(id)), 1)
			}
		}
	}
	m.known(o.Entered, func(id uint32) {
		if m.set(id, true) {
			rec.Insert(dir(id), 1)
		}
	})
	m.known(o.Left, func(id uint32) {
		if m.set(id, false) && !base {
			rec.Delete(dir(id), 1)
		}
	})
	m.known(o.Joined, func(id uint32) {
		if m.set(id, false) && !base {
			rec.Join(dir(id), 1)
		}
	})
	if !base {
		m.known(o.Changed, func(id uint32) {
			if m.in[id] {
				rec.Update(dir(id), 1)
			}
		})
	}
	for d, n := range m.missed(o) {
		if n > 0 && h.of[d] != noDir {
			rec.Miss(h.of[d], n)
		}
	}
	var audits []evolution.Dir
	m.known(o.Audited, func(id uint32) {
		if d := h.of[m.dir[id]]; m.in[id] && d != noDir {
			audits = append(audits, d)
		}
	})
	h.Audits = append(h.Audits, audits)
	return rec.Commit()
}

// missed counts, by directory, the files that a run did not look at.
func (m *members) missed(o *record.Observation) []int {
	n := make([]int, len(m.files))
	copy(n, m.files)
	for _, s := range [...]record.IDs{o.Asked, o.Spared} {
		m.known(s, func(id uint32) {
			if m.in[id] {
				n[m.dir[id]]--
			}
		})
	}
	return n
}
