// SPDX-License-Identifier: Apache-2.0

package evolution

import "slices"

// Sight is what a look at a file found.
type Sight uint8

// What a look can find.
const (
	Same  Sight = iota // as it was at the look before
	Other              // with other contents
	Came               // it was not there before
	Went               // it is no longer there
)

// Looks are what runs saw of single files: when each was looked at, and what was found. A change that a look
// finds happened in one of the steps since the look before, and a file that is found as it was did not change
// in any of them. A [History] counts a change in the step that finds it; from Looks comes an estimate of when
// changes happened ([Looks.Estimate]). It takes 16 bytes for each file, and as much for each change.
type Looks struct {
	steps int // with the base; 0: nothing was begun
	files []lookedAt
	finds []find
}

// lookedAt is the record of one file.
type lookedAt struct {
	dir  Dir
	born int32 // step in which it was found for the first time
	last int32 // step of the last look; a file that went needs none
	in   bool
}

// find is a change that a look found.
type find struct {
	file     uint32
	from, to int32 // it happened in one of the steps after from, up to to
	other    bool  // other contents; else it came or went
}

// Step begins an entry: the first one is the base, each later one a step.
func (l *Looks) Step() { l.steps++ }

// Len is how many steps there are.
func (l *Looks) Len() int { return max(0, l.steps-1) }

func (l *Looks) file(n uint32) *lookedAt {
	for int(n) >= len(l.files) {
		l.files = append(l.files, lookedAt{born: -1})
	}
	return &l.files[n]
}

// Last is the step in which a file was last looked at; -1 when it never was.
func (l *Looks) Last(file uint32) int {
	if int(file) >= len(l.files) || l.files[file].born < 0 {
		return -1
	}
	return int(l.files[file].last)
}

// Saw takes a look at a file in the current step. since is for a file that came: the last step of which it is
// known that the file was not there, -1 when only the current one is in question.
func (l *Looks) Saw(file uint32, d Dir, what Sight, since int) {
	f, now := l.file(file), int32(l.steps-1)
	if f.born >= 0 && f.last == now && f.in == (what != Went) && now > 0 {
		return // a second look in the same step
	}
	from := f.last
	switch {
	case what == Came || f.born < 0:
		from = now - 1
		if since >= 0 && what == Came {
			from = min(from, int32(since))
		}
		if f.born >= 0 { // it was seen to be away
			from = max(from, f.last)
		} else {
			f.born = now
		}
		f.in = true
	case what == Went:
		f.in = false
	}
	f.dir, f.last = d, now
	if what != Same && now > 0 {
		l.finds = append(l.finds, find{
			file:  file,
			from:  max(0, from),
			to:    now,
			other: what == Other,
		})
	}
}

// Join says that a file counts as one with another from the current step on.
func (l *Looks) Join(file uint32) {
	f := l.file(file)
	f.last, f.in = int32(l.steps-1), false
}

// grid is a number for each directory and step.
type grid struct {
	n    int
	cell []int32
}

func newGrid(dirs, steps int) grid { return grid{steps, make([]int32, dirs*steps)} }

// row is the steps of a directory; step 1 is the first.
func (g grid) row(d Dir) []int32 { return g.cell[int(d)*g.n : (int(d)+1)*g.n] }

// span adds to the steps after from, up to to.
func (g grid) span(d Dir, from, to int32) {
	row := g.row(d)
	for t := max(0, from); t < min(to, int32(g.n)); t++ {
		row[t]++
	}
}

// up adds the counts below each directory.
func (g grid) up(dirs *Dirs) {
	for d := Dir(len(g.cell)/max(1, g.n)) - 1; d > Root && g.n > 0; d-- {
		to, from := g.row(dirs.Parent(d)), g.row(d)
		for t, v := range from {
			to[t] += v
		}
	}
}

// reading is what looks say of all directories.
type reading struct {
	dirs   *Dirs
	n      int
	size   grid                 // files
	nodes  grid                 // files and directories
	open   grid                 // files of which it is not known whether they changed
	sure   grid                 // files that changed in this very step, and directories that came or went
	spans  []map[span]int32     // by directory: of the files below it, how many changed within each time
	traces []map[int32][]uint64 // by directory and step that found changes, see trace
}

// span is a time within which files changed: after from, up to to.
type span struct{ from, to int32 }

// read sums the looks up by directory. structural says that other contents are no change.
func (l *Looks) read(dirs *Dirs, structural bool) *reading {
	r := &reading{
		dirs:   dirs,
		n:      l.Len(),
		size:   newGrid(dirs.Len(), l.Len()),
		open:   newGrid(dirs.Len(), l.Len()),
		sure:   newGrid(dirs.Len(), l.Len()),
		spans:  make([]map[span]int32, dirs.Len()),
		traces: make([]map[int32][]uint64, dirs.Len()),
	}
	n := int32(r.n)
	for i := range l.files {
		f := &l.files[i]
		if f.born < 0 {
			continue
		}
		end := f.last
		if f.in {
			end = n
			r.open.span(f.dir, f.last, n)
		}
		r.size.span(f.dir, f.born-1, end)
	}
	finds := slices.Clone(l.finds)
	slices.SortStableFunc(finds, func(a, b find) int { return int(a.file) - int(b.file) })
	for at := 0; at < len(finds); {
		end := at + 1
		for end < len(finds) && finds[end].file == finds[at].file {
			end++
		}
		r.take(&l.files[finds[at].file], finds[at:end], structural)
		at = end
	}
	r.join()
	r.open.up(dirs)
	r.sure.up(dirs)
	r.size.up(dirs)
	r.withDirs()
	r.gather()
	return r
}

// withDirs counts directories as well, as degrees of change do: one exists while a file lies below it.
func (r *reading) withDirs() {
	dirs := r.dirs.Len()
	r.nodes = newGrid(dirs, r.n)
	moved := newGrid(dirs, r.n)
	for d := range Dir(dirs) {
		size, sure, nodes := r.size.row(d), r.sure.row(d), r.nodes.row(d)
		for t, files := range size {
			if files == 0 {
				continue
			}
			nodes[t] = 1
			came, went := t > 0 && size[t-1] == 0, t+1 < r.n && size[t+1] == 0
			if (came || went) && sure[t] > 0 {
				moved.row(d)[t] = 1
			}
		}
	}
	r.nodes.up(r.dirs)
	moved.up(r.dirs)
	for i, files := range r.size.cell {
		r.nodes.cell[i] += files
		r.sure.cell[i] += moved.cell[i]
	}
}

// take takes the changes of one file.
func (r *reading) take(f *lookedAt, finds []find, structural bool) {
	known := make([]uint64, (r.n+63)/64)
	for i := range known {
		known[i] = ^uint64(0)
	}
	hide := func(from, to int32) {
		for t := from; t < to; t++ {
			known[t/64] &^= 1 << (t % 64)
		}
	}
	if f.in {
		hide(f.last, int32(r.n))
	}
	if structural {
		finds = slices.DeleteFunc(finds, func(x find) bool { return x.other })
	}
	for _, x := range finds {
		if x.to-x.from == 1 {
			r.sure.span(f.dir, x.from, x.to)
			continue
		}
		hide(x.from, x.to)
		r.span(f.dir, span{x.from, x.to}, 1)
	}
	for _, x := range finds {
		r.trace(f.dir, x.to, known)
	}
}

// join takes a change that was found later as one of the changes of its own directory that are sure, where
// there are some within its time: those of the step that has the most of them, the last of equals. Pages of a
// directory mostly change together, and that it changed in this time says nothing more of it.
func (r *reading) join() {
	for d, spans := range r.spans {
		sure := slices.Clone(r.sure.row(Dir(d)))
		for s, files := range spans {
			best := int32(-1)
			for t := s.from; t < s.to; t++ {
				if sure[t] > 0 && (best < 0 || sure[t] >= sure[best]) {
					best = t
				}
			}
			if best < 0 {
				for t := s.from; t < s.to; t++ {
					r.open.row(Dir(d))[t] += files
				}
				continue
			}
			r.sure.row(Dir(d))[best] += files
			delete(spans, s)
		}
	}
}

// span adds a time of changes to a directory.
func (r *reading) span(d Dir, s span, files int32) {
	if r.spans[d] == nil {
		r.spans[d] = map[span]int32{}
	}
	r.spans[d][s] += files
}

// trace notes by which steps' looks the changes of a step would have shown: the steps of which it is known
// what any of the files did that changed then.
func (r *reading) trace(d Dir, step int32, known []uint64) {
	if r.traces[d] == nil {
		r.traces[d] = map[int32][]uint64{}
	}
	t := r.traces[d][step]
	if t == nil {
		t = make([]uint64, len(known))
		r.traces[d][step] = t
	}
	for i := range t {
		t[i] |= known[i]
	}
}

// gather adds to each directory the counts of those below it.
func (r *reading) gather() {
	for d := Dir(r.dirs.Len() - 1); d > Root; d-- {
		up := r.dirs.Parent(d)
		for s, files := range r.spans[d] {
			r.span(up, s, files)
		}
		for step, known := range r.traces[d] {
			r.trace(up, step, known)
		}
	}
}

// hiddenWeight is as how many found changes the share of the files counts that are not known: one, so that it
// decides only while hardly any change was found.
const hiddenWeight = 1

// hidden is the chance that a change below a directory shows in none of the files that are known in a step:
// by the changes that were found, and before there are any by the share of the files that are not known.
func (r *reading) hidden(d Dir, step int) float64 {
	size, open := r.size.row(d)[step], r.open.row(d)[step]
	escaped, all := 0, len(r.traces[d])
	for _, known := range r.traces[d] {
		if known[step/64]&(1<<(step%64)) == 0 {
			escaped++
		}
	}
	usual := float64(open) / float64(max(1, size))
	// A change that shows in nothing is found later, and in a step in which others are found it counts as one of
	// them. So the more steps have changes that show, the less does it say that none escaped.
	alone := float64(all) * (1 - float64(all-escaped)/float64(r.n))
	return min(1, (float64(escaped)+hiddenWeight*usual)/(alone+hiddenWeight))
}
