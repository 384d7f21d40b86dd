// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrTime says that a step is older than the one before it.
var ErrTime = errors.New("the time goes back")

// History is how a site's directories changed, step by step: append-only, and compact. The first entry is the
// base, what the site had when the history begins; each later one is a step, the transition from one version
// to the next or what a run found out.
//
// It keeps the entries, a table of the directories and, for each of them, what it holds now: 16 bytes for
// each directory in which files changed, 8 for each in which another number of files is left out than in the
// step before; the rest 110 to 130 bytes for each directory. DoC is not kept but derived, in a
// pass over the entries ([History.Steps]), so that any alpha may be used later.
type History struct {
	dirs  Dirs
	now   counts
	steps []entry
	open  bool // a recorder is
	// by directory: 1 + its index in the input of the open recorder, 0: not in it
	place []uint32
}

// entry is the base or a step: rows and gaps are ascending by directory, known is how many directories there
// are by now.
type entry struct {
	time  int64
	known int
	rows  []row
	gaps  []gap
	joins []gap
}

// Dirs is the table of the directories that were ever there. It grows with the history and must not be read
// while that is recorded.
func (h *History) Dirs() *Dirs { return &h.dirs }

// Len is how many steps the history has; the base is not counted.
func (h *History) Len() int { return max(0, len(h.steps)-1) }

// Time is when a step was taken, in Unix seconds. Step 0 is the base, the last one Len.
func (h *History) Time(step int) int64 { return h.steps[step].time }

// Files is how many files the site has in a directory's subtree, after the last step.
func (h *History) Files(d Dir) int {
	if int(d) >= len(h.now.nf) {
		return 0
	}
	return int(h.now.nf[d])
}

// Recorder takes in one entry of a history. Its input may come in any order. Only one may be open.
type Recorder struct {
	h    *History
	time int64
	says []said
	err  error
	done bool
}

type said struct {
	dir                                Dir
	inserted, deleted, updated, missed uint32
	joined                             uint32
}

// Record begins an entry, at a time in Unix seconds: the base when the history is empty, else a step. Nothing
// is written before Commit.
func (h *History) Record(time int64) *Recorder {
	r := &Recorder{h: h, time: time}
	switch {
	case h.open:
		r.err, r.done = errors.New("record step: the last one is neither committed nor dropped"), true
	case len(h.steps) > 0 && time < h.steps[len(h.steps)-1].time:
		r.err = fmt.Errorf("record step at %d: %w: the one before is of %d", time, ErrTime,
			h.steps[len(h.steps)-1].time)
	case time < 0:
		r.err = fmt.Errorf("record step at %d: %w", time, ErrTime)
	}
	if !r.done {
		h.open = true
	}
	return r
}

// Dir finds the number of a directory by its path, and enters it in the table when it is new.
func (r *Recorder) Dir(path string) Dir {
	d, err := r.h.dirs.add(path)
	if err != nil {
		r.fail(err)
	}
	return d
}

func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("record step: %w", err)
	}
}

func (r *Recorder) say(d Dir) *said {
	h := r.h
	if r.done || int(d) >= h.dirs.Len() {
		r.fail(fmt.Errorf("directory %d: it is not in the table", d))
		return new(said)
	}
	if int(d) >= len(h.place) {
		h.place = append(h.place, make([]uint32, h.dirs.Len()-len(h.place))...)
	}
	if h.place[d] == 0 {
		r.says = append(r.says, said{dir: d})
		h.place[d] = uint32(len(r.says))
	}
	return &r.says[h.place[d]-1]
}

// Insert says that n files directly in d came.
func (r *Recorder) Insert(d Dir, n int) { r.add(&r.say(d).inserted, n) }

// Delete says that n files directly in d went.
func (r *Recorder) Delete(d Dir, n int) { r.add(&r.say(d).deleted, n) }

// Join says that n files directly in d are counted as one with others from this step on. It is no change.
func (r *Recorder) Join(d Dir, n int) { r.add(&r.say(d).joined, n) }

// Update says that n files directly in d have other contents.
func (r *Recorder) Update(d Dir, n int) { r.add(&r.say(d).updated, n) }

// Miss says that n files directly in d, of those that are there after the step, were not looked at: skipped,
// failed, or not reached. A file of which evidence said that it did not change was looked at.
func (r *Recorder) Miss(d Dir, n int) { r.add(&r.say(d).missed, n) }

func (r *Recorder) add(to *uint32, n int) {
	if n < 0 || uint64(*to)+uint64(n) > math.MaxInt32 {
		r.fail(fmt.Errorf("%d files: no such number", n))
		return
	}
	*to += uint32(n)
}

// Drop ends the recording; nothing is added.
func (r *Recorder) Drop() {
	if !r.done {
		r.done, r.h.open = true, false
		for _, s := range r.says {
			r.h.place[s.dir] = 0
		}
	}
}

// Commit adds the entry. It fails when something that the recorder was told makes no sense, and then adds
// nothing.
func (r *Recorder) Commit() error {
	h := r.h
	if r.done && r.err == nil {
		return errors.New("record step: it is over")
	}
	if r.err == nil {
		r.sort()
	}
	r.Drop()
	if r.err != nil {
		return r.err
	}
	h.now.grow(h.dirs.Len())
	var rows []row
	var joins []gap
	for _, s := range r.says {
		if s.joined != 0 {
			joins = append(joins, gap{s.dir, s.joined})
		}
		if s.inserted|s.deleted|s.updated != 0 {
			rows = append(rows, row{s.dir, s.inserted, s.deleted, s.updated})
		}
	}
	if err := h.now.check(&h.dirs, rows); err != nil {
		return fmt.Errorf("record step: %w", err)
	}
	gaps, err := r.gaps()
	if err != nil {
		return err
	}
	h.now.apply(&h.dirs, rows, gaps, joins)
	h.steps = append(h.steps, entry{
		time:  r.time,
		known: h.dirs.Len(),
		rows:  slices.Clip(rows),
		gaps:  slices.Clip(gaps),
		joins: joins,
	})
	return nil
}

// sort puts what was said in the order of directories: by their places when much was said, which takes one
// look at each directory.
func (r *Recorder) sort() {
	if place := r.h.place; len(r.says) > len(place)/16 {
		sorted := make([]said, 0, len(r.says))
		for _, p := range place {
			if p != 0 {
				sorted = append(sorted, r.says[p-1])
			}
		}
		r.says = sorted
		return
	}
	slices.SortFunc(r.says, func(a, b said) int { return int(a.dir) - int(b.dir) })
}

// gaps are the differences of missed files from the step before: it stays so until it is
// said otherwise.
func (r *Recorder) gaps() (gaps []gap, err error) {
	now := &r.h.now
	next := Dir(0)
	unsaid := func(to Dir) {
		for ; int(next) < len(now.missed) && next < to; next++ {
			if now.missed[next] != 0 {
				gaps = append(gaps, gap{next, 0})
			}
		}
	}
	for _, s := range r.says {
		unsaid(s.dir)
		next = s.dir + 1
		if left := now.files[s.dir] + s.inserted - s.deleted - s.joined; s.missed > left {
			return nil, fmt.Errorf("record step: directory %q: %w: %d files not looked at of %d", r.h.dirs.Path(s.dir),
				ErrScript, s.missed, left)
		}
		if now.missedAt(s.dir) != s.missed {
			gaps = append(gaps, gap{s.dir, s.missed})
		}
	}
	unsaid(math.MaxUint32)
	return gaps, nil
}

func (c *counts) missedAt(d Dir) uint32 {
	if c.missed == nil {
		return 0
	}
	return c.missed[d]
}
