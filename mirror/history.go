// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"math"
	"strings"

	"mirrord/evolution"
	"mirrord/near"
	"mirrord/policy"
	"mirrord/site"
	"mirrord/store"
)

// dirHistory is how the directories of a site changed: a step for each run that observed something, or in which something came or left without. Its first run is the base.
type dirHistory struct {
	*evolution.History
	dirs *dirTable
	runs []int           // number of the run of each step; that of the base first
	of   []evolution.Dir // by policy.Dir: the number in the history, where it is in it
}

// noDir is the number of a directory that the history does not know.
const noDir = evolution.Dir(math.MaxUint32)

// members are the URLs of a site by whether they are in the mirror, while its history is gone through.
type members struct {
	dir   []policy.Dir
	in    []bool
	files []int // by directory: those that are in
}

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

// dirHistory makes the history of directories from what the runs have observed. It takes time in proportion to what all runs observed and to the
// directories for each run, and 9 bytes for each URL while it works. A suspicious run is left out. When the clock stepped back between two runs they have the same time.
func (r *run) dirHistory(dirs *dirTable) (*dirHistory, error) {
	t := r.table.Settled()
	m := &members{dir: make([]policy.Dir, t.Len()), in: make([]bool, t.Len())}
	for id, s := range t.All() {
		if s.Given() {
			m.dir[id], m.in[id] = dirs.of(t.URL(id)), s.InSet()
		}
	}
	m.files = make([]int, len(dirs.path))
	if err := r.unwind(m); err != nil {
		return nil, err
	}
	h := &dirHistory{History: new(evolution.History), dirs: dirs, of: make([]evolution.Dir, len(dirs.path))}
	for i := range h.of {
		h.of[i] = noDir
	}
	h.of[policy.Root] = evolution.Root
	last := int64(0)
	err := r.site.Observations(func(o *store.Observation) error {
		if o.Doubtful || len(o.Asked)+len(o.Spared)+len(o.Entered)+len(o.Left) == 0 {
			return nil
		}
		last = max(last, o.Time)
		if err := h.step(m, o, last); err != nil {
			return fmt.Errorf("history of %s: run %d: %w", r.site.Name, o.Run, err)
		}
		h.runs = append(h.runs, o.Run)
		return nil
	})
	return h, err
}

// unwind makes m what it was before the first run of the history: now it is what came of all.
func (r *run) unwind(m *members) error {
	const entered, left = 1, 2
	first := make([]uint8, len(m.in))
	err := r.site.Observations(func(o *store.Observation) error {
		if o.Doubtful {
			return nil
		}
		for _, x := range [...]struct {
			ids  store.IDs
			what uint8
		}{{o.Entered, entered}, {o.Left, left}} {
			for id := range x.ids.All() {
				if int(id) < len(first) && first[id] == 0 {
					first[id] = x.what
				}
			}
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
	return err
}

// step adds what a run observed to the history.
func (h *dirHistory) step(m *members, o *store.Observation, time int64) error {
	rec := h.Record(time)
	dir := func(id uint32) evolution.Dir {
		d := m.dir[id]
		if h.of[d] == noDir {
			h.of[d] = rec.Dir(h.dirs.path[d])
		}
		return h.of[d]
	}
	known := func(ids store.IDs, f func(id uint32)) {
		for id := range ids.All() {
			if int(id) >= len(m.in) {
				break
			}
			f(id)
		}
	}
	base := h.Len() == 0 && len(h.runs) == 0
	if base { // what was there before the first run is part of the base too
		for id, in := range m.in {
			if in && !o.Left.Has(uint32(id)) {
				rec.Insert(dir(uint32(id)), 1)
			}
		}
	}
	known(o.Entered, func(id uint32) {
		if m.set(id, true) {
			rec.Insert(dir(id), 1)
		}
	})
	known(o.Left, func(id uint32) {
		if m.set(id, false) && !base {
			rec.Delete(dir(id), 1)
		}
	})
	if !base {
		known(o.Changed, func(id uint32) {
			if m.in[id] {
				rec.Update(dir(id), 1)
			}
		})
	}
	missed := make([]int, len(m.files))
	copy(missed, m.files)
	for _, s := range [...]store.IDs{o.Asked, o.Spared} {
		known(s, func(id uint32) {
			if m.in[id] {
				missed[m.dir[id]]--
			}
		})
	}
	for d, n := range missed {
		if n > 0 && h.of[d] != noDir {
			rec.Miss(h.of[d], n)
		}
	}
	return rec.Commit()
}

// siteRules are the rules mined from a site's history, and what they skip.
type siteRules struct {
	history *dirHistory
	rules   *near.Rules
	skips   []policy.Skip
	mined   []near.Rule // by Skip.Rule
}

// nearOptions are the thresholds of a job.
func (r *run) nearOptions() (near.Options, error) {
	n := &r.job.Near
	o := near.Options{MinDoC: float64(n.MinDoC), MinFoC: float64(n.MinFoC), MinCoC: float64(n.MinCoC), MinConfidence: float64(n.MinConfidence),
		MinSteps: leastSteps, Expire: int(n.Expire)}
	if err := o.Zero.UnmarshalText([]byte(n.Zero)); err != nil {
		return o, fmt.Errorf("near.zero: %w", err)
	}
	return o, nil
}

// leastSteps is in how many runs a directory and those above it must have been observed before a rule is believed.
const leastSteps = 5

// mine mines the rules of the job from the history.
func (r *run) mine(dirs *dirTable) (*siteRules, error) {
	h, err := r.dirHistory(dirs)
	if err != nil {
		return nil, err
	}
	o, err := r.nearOptions()
	if err != nil {
		return nil, err
	}
	s := &siteRules{history: h}
	if s.rules, err = near.Mine(h.History, o); err != nil {
		return nil, fmt.Errorf("rules of %s: %w", r.site.Name, err)
	}
	for d := range s.rules.Skips(nil).Top() {
		rule, ok := s.rules.For(d)
		n, known := dirs.num[h.Dirs().Path(d)]
		if ok && known {
			s.skips = append(s.skips, policy.Skip{Dir: n, Rule: len(s.mined)})
			s.mined = append(s.mined, rule)
		}
	}
	return s, nil
}

// text is a rule in words, by its Skip.Rule.
func (s *siteRules) text(n int) string {
	if n < 0 || n >= len(s.mined) {
		return ""
	}
	d := s.history.Dirs()
	return s.mined[n].Text(d) + " (" + s.mined[n].Why(d) + ")"
}

// over returns the number of the rule that skips the directory of a URL, -1 when none does.
func (s *siteRules) over(u site.URL) int {
	t := s.history.dirs
	path := dirPath(u, t.primary)
	for _, x := range s.skips {
		if top := t.path[x.Dir]; path == top || strings.HasPrefix(path, top+"/") {
			return x.Rule
		}
	}
	return -1
}
