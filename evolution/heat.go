// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"cmp"
	"slices"
	"strings"
)

// Shade is how a heat map shows one directory in one step.
type Shade uint8

// The shades. From Degrees on they are degrees of change: Degrees for the smallest, up to
// Degrees+MostDegrees.
const (
	Unchanged  Shade = iota // all of it was looked at, and nothing had changed
	Absent                  // it was not there
	Unseen                  // nothing of it was looked at
	PartlySeen              // nothing changed in what was looked at; the rest was not
	Degrees
)

// MostDegrees is the largest degree of change.
const MostDegrees = 4

// shadeOf is the shade of a degree of change above 0.
func shadeOf(doc float64) Shade {
	s := Degrees
	for _, bound := range []float64{0.02, 0.1, 0.3, 0.6} {
		if doc >= bound {
			s++
		}
	}
	return s
}

// HeatRow is a directory in a heat map, with all that lies below it.
type HeatRow struct {
	Dir     Dir
	Path    string // "" for the root
	Files   int    // after the last step
	Inner   bool   // directories lie below it
	Heat    float64
	Changed int     // steps in which anything changed
	Late    int     // of them, those after a step that did not look at all of it: it may have changed before
	Seen    int     // steps in which anything of it was looked at
	Last    int64   // when it last changed, Unix seconds; 0: not in these steps
	Shades  []Shade // by step
	Audits  []int   // by step: files that were looked at only to check what said that it was not needed

	missed, before bool // not all of it was looked at in this step, and in the one before
}

// HeatMap shows which directories changed how much, step by step.
type HeatMap struct {
	Times []int64 // of the steps, Unix seconds
	// The first is the directory that the map is of. The others lie below it, the hottest first: heat is the sum
	// of the degrees of change.
	Rows []HeatRow
}

// HeatOptions choose what a heat map shows.
type HeatOptions struct {
	Top  Dir
	All  bool // all directories below Top, and not only those directly in it
	Most int  // steps, the last ones; 0 is all
	// Audits are the directories of the files that were audited, by step; a directory may come several times.
	// nil: none is known
	Audits [][]Dir
}

// HeatMap goes through the history and makes the map.
func (h *History) HeatMap(o HeatOptions) *HeatMap {
	m := new(HeatMap)
	first := 1
	if o.Most > 0 {
		first = max(1, h.Len()-o.Most+1)
	}
	row := make([]int, h.dirs.Len()) // by directory: place in Rows, one more; 0 for none
	inner := make([]bool, h.dirs.Len())
	for d := range Dir(h.dirs.Len()) {
		if d != Root {
			inner[h.dirs.Parent(d)] = true
		}
		if d == o.Top || (d != Root && (h.dirs.Parent(d) == o.Top || (o.All && h.dirs.Under(d, o.Top)))) {
			m.Rows = append(m.Rows, HeatRow{Dir: d, Path: h.dirs.Path(d)})
			row[d] = len(m.Rows)
		}
	}
	for s := range h.Steps() {
		if s.Number >= first {
			m.Times = append(m.Times, s.Time)
			m.add(s, row)
			if s.Number < len(o.Audits) {
				m.audit(o.Audits[s.Number], &h.dirs, row)
			}
		}
	}
	there := m.Rows[:0]
	for _, r := range m.Rows {
		r.Files, r.Inner = h.Files(r.Dir), inner[r.Dir]
		gone := !slices.ContainsFunc(r.Shades, func(s Shade) bool { return s != Absent })
		if r.Dir == o.Top || !gone {
			there = append(there, r)
		}
	}
	m.Rows = there
	slices.SortFunc(m.Rows, func(x, y HeatRow) int {
		switch o.Top {
		case x.Dir:
			return -1
		case y.Dir:
			return 1
		}
		return cmp.Or(cmp.Compare(y.Heat, x.Heat), strings.Compare(x.Path, y.Path))
	})
	return m
}

// add adds the column of a step.
func (m *HeatMap) add(s Step, row []int) {
	for i := range m.Rows {
		r := &m.Rows[i]
		shade := Unchanged
		files, missed := s.Files(r.Dir), s.Unobserved(r.Dir)
		r.before, r.missed = r.missed, missed > 0
		switch {
		case int(r.Dir) >= s.Known || files == 0:
			shade = Absent
		case missed == files:
			shade = Unseen
		case missed > 0:
			shade = PartlySeen
		}
		if shade != Absent && shade != Unseen {
			r.Seen++
		}
		r.Shades, r.Audits = append(r.Shades, shade), append(r.Audits, 0)
	}
	for d, c := range s.Changes() {
		if row[d] == 0 || c.Distance(false) == 0 {
			continue
		}
		r := &m.Rows[row[d]-1]
		doc := c.DoC(false)
		if last := len(r.Shades) - 1; r.Shades[last] == Absent || r.Shades[last] == Unseen {
			r.Seen++ // something of it was seen to come or go
		}
		r.Shades[len(r.Shades)-1] = shadeOf(doc)
		r.Heat += doc
		if r.Changed++; r.before {
			r.Late++
		}
		r.Last = s.Time
	}
}

// audit counts the audits of the step that was added last, in their directories and all above.
func (m *HeatMap) audit(dirs []Dir, t *Dirs, row []int) {
	for _, d := range dirs {
		for {
			if i := row[d]; i > 0 {
				a := m.Rows[i-1].Audits
				a[len(a)-1]++
			}
			if d == Root {
				break
			}
			d = t.Parent(d)
		}
	}
}

// Audited counts the steps in which anything was audited, for pages.
func (r *HeatRow) Audited() (steps int) {
	for _, n := range r.Audits {
		steps += min(n, 1)
	}
	return steps
}
