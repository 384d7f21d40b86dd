// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"mirrord/evolution"
	"mirrord/store/record"
)

// mostLooked bounds what an estimate is made from: directories times runs. Beyond it there is no estimate;
// it would take more than half a gigabyte.
const mostLooked = 32 << 20

// Looks are what the runs of a history of directories saw of single files; nil where that is too much for an
// estimate.
func (k KnownSite) Looks(h *DirHistory) (*evolution.Looks, error) {
	if h.Dirs().Len()*max(1, h.Len()) > mostLooked {
		return nil, nil
	}
	m, err := k.firstMembers(h.dirs)
	if err != nil {
		return nil, err
	}
	l := &evolution.Looks{}
	next := 0
	err = k.Observed.Observations(func(o *record.Observation) error {
		if next < len(h.Runs) && h.Runs[next] == o.Run && observes(o) {
			next++
			l.Step()
			h.look(l, k, m, o)
		}
		return nil
	})
	return l, err
}

// observes reports whether an observation is a step of a history of directories.
func observes(o *record.Observation) bool {
	return !o.Doubtful && len(o.Asked)+len(o.Spared)+len(o.Entered)+len(o.Left)+len(o.Joined) > 0
}

// look takes what one run saw.
func (h *DirHistory) look(l *evolution.Looks, k KnownSite, m *members, o *record.Observation) {
	saw := func(id uint32, what evolution.Sight, since int) {
		if d := h.of[m.dir[id]]; d != noDir {
			l.Saw(id, d, what, since)
		}
	}
	base := l.Len() == 0
	if base {
		for id, in := range m.in {
			if in && !o.Left.Has(uint32(id)) && !o.Joined.Has(uint32(id)) {
				saw(uint32(id), evolution.Came, -1)
			}
		}
	}
	// What came was not there when the page that names it was last looked at.
	since := map[uint32]int{}
	m.known(o.Entered, func(id uint32) {
		if ref := k.Table.State(id).Referrer(); ref > 0 && !m.in[id] {
			since[id] = l.Last(ref - 1)
		}
	})
	m.known(o.Entered, func(id uint32) {
		if m.set(id, true) {
			at, named := since[id]
			if !named {
				at = -1
			}
			saw(id, evolution.Came, at)
		}
	})
	m.known(o.Left, func(id uint32) {
		if m.set(id, false) && !base {
			saw(id, evolution.Went, -1)
		}
	})
	m.known(o.Joined, func(id uint32) {
		if m.set(id, false) && !base {
			l.Join(id)
		}
	})
	m.known(o.Changed, func(id uint32) {
		if m.in[id] && !base {
			saw(id, evolution.Other, -1)
		}
	})
	for _, s := range [...]record.IDs{o.Asked, o.Spared} {
		m.known(s, func(id uint32) {
			if m.in[id] && !o.Changed.Has(id) {
				saw(id, evolution.Same, -1)
			}
		})
	}
}
