// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"slices"
	"sync"

	"mirrord/internal/inorder"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// window is a stretch of files in path order. Of many documents one frame has several, which came one after
// the other but mostly are no neighbours by path; so the files of a window that are rendered are cut into
// chunks in the order in which their URLs became known, and a chunk is placed in that of the packs. Those
// that stay are cut by their paths: so their records lie together.
type window struct {
	dropped []*phm.File // of the published version, up to the last of these files
	tasks   []Placing
	files   []phm.File
	chunks  []*chunk
	err     error // of its chunks that are placed
}

// chunk is a part of a window that one worker places.
type chunk struct {
	*window
	these []int // indices of its files
	err   error

	damaged error // of stored bodies
}

// stored is a file of a chunk that is to be made.
type stored struct {
	i   int // its index
	rec record.Resource
	err error // why it has no record
}

// leastChunk is how many files that are made a chunk has at least, but for the last one.
const leastChunk = 8

// leastWindow is how many files a window has at least. A frame is unpacked about once for each window, so a
// large site has larger ones, and not more: 32 up to a million files, whose lines of the file table then take
// 20 to 40 MB.
const leastWindow = 8 << 10

// placeAll places all files on as many workers as there are CPUs, and passes on what became of each, in
// path order. live and old are the file tables of the published tree and of the draft's.
func (d *Draft) placeAll(ctx context.Context, live, old *tableCursor, add func(FileFate) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.by.Counts.RelocateTotal.Store(int64(len(d.plan.Files)))
	var wg sync.WaitGroup // the line waits for it
	crew := inorder.Crew{Go: wg.Go, Size: runtime.GOMAXPROCS(0)}
	line := inorder.New(crew, math.MaxInt64, func(c *chunk, _ error) error { return c.placed(add) })
	placers := make([]*Placer, line.Workers())
	for i := range placers {
		placers[i] = d.Placer()
		defer placers[i].Close()
	}
	defer line.Close()
	defer cancel() // before the line waits for the chunks that it has
	for w := range d.windows(live, old) {
		for _, c := range w.chunks {
			err := line.Add(1, func(worker int) (*chunk, error) {
				placers[worker].chunk(ctx, c)
				return c, nil
			})
			if err != nil {
				return err
			}
		}
	}
	if err := line.Flush(); err != nil {
		return err
	}
	return errors.Join(live.err, old.err, ctx.Err())
}

// placed notes what became of a chunk, and passes on that of its window, whose last one it may be. Of errors
// that are no damage it returns one: a full disk meets all workers.
func (c *chunk) placed(add func(FileFate) error) error {
	w := c.window
	if w.err == nil || isDamage(w.err) || isDamage(c.err) {
		w.err = errors.Join(w.err, c.err)
	}
	if c != w.chunks[len(w.chunks)-1] {
		return nil
	}
	if w.err != nil {
		return w.err
	}
	for _, f := range w.dropped {
		if err := add(FileFate{Was: f}); err != nil {
			return err
		}
	}
	for i := range w.files {
		if err := add(FileFate{Was: w.tasks[i].Was, Is: &w.files[i]}); err != nil {
			return err
		}
	}
	return nil
}

func (d *Draft) windows(live, old *tableCursor) func(yield func(*window) bool) {
	return func(yield func(*window) bool) {
		size := min(max(len(d.plan.Files)/32, leastWindow), 4*leastWindow)
		first := !live.ok && !old.ok && len(d.plan.wrong) == 0 // nothing is published
		for ids := d.plan.Files; len(ids) > 0; {
			k := min(size, len(ids))
			w := &window{tasks: make([]Placing, k), files: make([]phm.File, k)}
			for i, id := range ids[:k] {
				if first {
					w.tasks[i].ID = id
					continue
				}
				p := d.plan.Table.Path(id)
				w.tasks[i] = Placing{
					ID:    id,
					Was:   live.seek(p, w.drop),
					Old:   old.seek(p, nil),
					wrong: d.plan.wrong[p],
				}
				if w.tasks[i].wrong {
					w.tasks[i].Old = nil
				}
			}
			w.cut(d)
			if ids = ids[k:]; !yield(w) {
				return
			}
		}
		w := &window{}
		w.chunks = []*chunk{{window: w}} // of no file: the remainder of the published version is dropped
		for ; live.ok; live.advance() {
			w.drop(&live.cur)
		}
		yield(w)
	}
}

func (w *window) cut(d *Draft) {
	var stay, made []int
	for i := range w.tasks {
		if w.tasks[i].clean(d.plan) {
			stay = append(stay, i)
		} else {
			made = append(made, i)
		}
	}
	slices.SortFunc(made, func(i, j int) int { return cmp.Compare(w.tasks[i].ID, w.tasks[j].ID) })
	divide := func(files []int, most int) {
		for these := range slices.Chunk(files, most) {
			w.chunks = append(w.chunks, &chunk{window: w, these: these})
		}
	}
	workers := 8 * runtime.GOMAXPROCS(0)
	// enough files that few frames have documents of two chunks, and few enough that all workers have something
	// to do
	most := min(max(len(w.tasks)/workers, 64), 256)
	// those that are made come first, and all workers get some of them: they take most of the time
	divide(made, min(max(len(made)/workers, leastChunk), most))
	divide(stay, most)
}

func (w *window) drop(f *phm.File) {
	was := *f
	w.dropped = append(w.dropped, &was)
}

// chunk places the files of a chunk: those that stay, then the others in the order in which their documents
// are stored, so that each frame is unpacked once. It continues after a damaged body, so that all of them
// are found.
func (p *Placer) chunk(ctx context.Context, c *chunk) {
	p.stored = p.stored[:0]
	for _, i := range c.these {
		f, stays, err := p.stay(ctx, &c.tasks[i])
		if (err == nil) && !stays {
			p.stored = append(p.stored, stored{i: i})
			continue
		}
		if !c.take(ctx, p.d, i, f, err) {
			return
		}
	}
	if c.err = p.read(c); c.err != nil {
		return
	}
	slices.SortStableFunc(p.stored, func(a, b stored) int { return a.rec.At.Compare(b.rec.At) })
	for k := range p.stored {
		s := &p.stored[k]
		f, err := phm.File{}, s.err
		if err == nil {
			f, err = p.make(ctx, &c.tasks[s.i], &s.rec)
		}
		if !c.take(ctx, p.d, s.i, f, err) {
			return
		}
	}
	p.d.by.Counts.RelocateDone.Add(int64(len(c.these)))
	c.err = c.damaged
}

// take takes what became of file i; false says that the chunk has ended.
func (c *chunk) take(ctx context.Context, d *Draft, i int, f phm.File, err error) bool {
	switch {
	case ctx.Err() != nil:
		c.err = ctx.Err()
	case isDamage(err):
		d.damage.note(c.tasks[i].ID, err)
		c.damaged = errors.Join(c.damaged, err)
	default:
		c.files[i], c.err = f, err
	}
	return c.err == nil
}

// tableCursor reads a file table path by path.
type tableCursor struct {
	next func() (*phm.File, error, bool)
	stop func()
	cur  phm.File
	ok   bool
	err  error
}

// openTable opens phm.files of a tree; no tree, or one without, is empty.
func openTable(tree regular.Root) (*tableCursor, error) {
	c := &tableCursor{stop: func() {}}
	if tree.Root == nil {
		return c, nil
	}
	f, err := tree.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(phm.Files(f))
	c.next = next
	c.stop = func() {
		stop()
		f.Close()
	}
	c.advance()
	return c, disk.Unreadable(c.err)
}

func (c *tableCursor) advance() {
	f, err, ok := c.next()
	if err != nil {
		c.err, ok = err, false
	}
	if c.ok = ok; ok {
		c.cur = *f
	}
}

// seek skips all files before path, calls passed for each, and returns the one at path, nil when there is
// none.
func (c *tableCursor) seek(path string, passed func(*phm.File)) *phm.File {
	for c.ok && c.cur.Path < path {
		if passed != nil {
			passed(&c.cur)
		}
		c.advance()
	}
	if !c.ok || c.cur.Path != path {
		return nil
	}
	f := c.cur
	c.advance()
	return &f
}

// takesTurns is the size in bytes from which on a document takes turns with others: it needs memory of three
// times that.
const takesTurns = 256 << 10

// mostAtOnce is how many bytes documents that take turns have together that are in memory at once. One that
// has more is alone.
const mostAtOnce = 3 << 20

// turns lets documents wait for each other. The zero value is ready; it is safe for concurrent use.
type turns struct {
	mu    sync.Mutex
	ended sync.Cond // one of them has left the memory
	used  int64     // bytes of the documents in memory
}

// turn waits until a document of so many bytes may be in memory; the caller calls done afterwards.
func (t *turns) turn(size int64) (done func()) {
	if size < takesTurns {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.ended.L = &t.mu; t.used > 0 && t.used+size > mostAtOnce; {
		t.ended.Wait()
	}
	t.used += size
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.used -= size
		t.ended.Broadcast()
	}
}
