// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"mirrord/phm"
)

// chunk is a stretch of files in path order that one worker places.
type chunk struct {
	dropped []*phm.File // of the published version, up to the last of these files
	tasks   []Placing
	files   []phm.File
	err     error
	done    chan struct{}
}

// chunkFiles is how many files a chunk has.
const chunkFiles = 64

// placeAll places all files on as many workers as there are CPUs, and passes on what became of each, in
// path order. live and old are the file tables of the published tree and of the draft's.
func (d *Draft) placeAll(ctx context.Context, live, old *tableCursor, add func(Change) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.by.Counts.RelocateTotal.Store(int64(len(d.plan.Files)))
	n := runtime.GOMAXPROCS(0)
	work := make(chan *chunk, n)    // one waiting for each worker
	order := make(chan *chunk, 4*n) // bounds what is finished but not yet passed on
	var wg sync.WaitGroup
	defer wg.Wait()
	for range n {
		wg.Go(func() {
			p := d.Placer()
			defer p.Close()
			for c := range work {
				p.chunk(ctx, c)
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(work)
		for c := range d.chunks(live, old) {
			select {
			case order <- c:
			case <-ctx.Done():
				return
			}
			select {
			case work <- c:
			case <-ctx.Done():
				c.err = ctx.Err()
				close(c.done)
				return
			}
		}
	})
	if err := d.passOn(order, add); err != nil {
		cancel()
		for c := range order {
			<-c.done
		}
		return err
	}
	return errors.Join(live.err, old.err, ctx.Err())
}

// chunks cuts the files of the version into chunks.
func (d *Draft) chunks(live, old *tableCursor) func(yield func(*chunk) bool) {
	return func(yield func(*chunk) bool) {
		for ids := d.plan.Files; len(ids) > 0; {
			k := min(chunkFiles, len(ids))
			c := &chunk{tasks: make([]Placing, k), done: make(chan struct{})}
			for i, id := range ids[:k] {
				p := d.plan.Table.Path(id)
				c.tasks[i] = Placing{
					ID:    id,
					Was:   live.seek(p, c.drop),
					Old:   old.seek(p, nil),
					wrong: d.plan.wrong[p],
				}
				if c.tasks[i].wrong {
					c.tasks[i].Old = nil
				}
			}
			if ids = ids[k:]; !yield(c) {
				return
			}
		}
		c := &chunk{done: make(chan struct{})}
		live.rest(c.drop)
		yield(c)
	}
}

func (c *chunk) drop(f *phm.File) {
	was := *f
	c.dropped = append(c.dropped, &was)
}

// chunk places the files of a chunk. It goes on after a damaged body, so that all of them are found.
func (p *Placer) chunk(ctx context.Context, c *chunk) {
	defer close(c.done)
	c.files = make([]phm.File, len(c.tasks))
	var damaged error
	for i, t := range c.tasks {
		if c.err = ctx.Err(); c.err != nil {
			return
		}
		f, err := p.Place(ctx, t)
		if isDamage(err) {
			p.d.damage.note(t.ID, err)
		} else if err != nil {
			c.err = err
			return
		}
		damaged = errors.Join(damaged, err)
		c.files[i] = f
	}
	c.err = damaged
}

// passOn passes on what became of the files of each chunk, in order.
func (d *Draft) passOn(order <-chan *chunk, add func(Change) error) error {
	for c := range order {
		<-c.done
		if c.err != nil {
			return c.err
		}
		for _, f := range c.dropped {
			if err := add(Change{Was: f}); err != nil {
				return err
			}
		}
		for i := range c.files {
			if err := add(Change{Was: c.tasks[i].Was, Is: &c.files[i]}); err != nil {
				return err
			}
		}
		d.by.Counts.RelocateDone.Add(int64(len(c.files)))
	}
	return nil
}
