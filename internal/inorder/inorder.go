// SPDX-License-Identifier: Apache-2.0

// Package inorder runs work on a few workers and hands on what comes out in the order in which the work was
// added: files that are read and compressed on all cores, and written one after the other.
package inorder

// Crew says how many workers there are and how one is started. The zero value has none: all work is done by
// the caller.
type Crew struct {
	Go   func(func()) // runs a function beside the caller
	Size int          // workers; with fewer than two the caller works
}

// Lane is work on its way. It is for one goroutine.
type Lane[T any] struct {
	crew  Crew
	most  int64 // weight of all work that is on its way
	take  func(T, error) error
	todo  chan *task[T]
	ended chan struct{} // a value from each worker that has ended
	tasks []*task[T]    // on their way, oldest first
	load  int64
}

// task is one piece of work.
type task[T any] struct {
	weight int64
	work   func(worker int) (T, error)
	done   chan struct{} // closed when what follows is set
	result T
	err    error
}

// longest is how many pieces are on their way at most.
const longest = 64

// New returns a line. take receives what work returned, in order, from within calls of Add and Flush; its
// first error ends these. Pieces of work on their way weigh no more than most together, but for a single one.
func New[T any](c Crew, most int64, take func(T, error) error) *Lane[T] {
	if c.Go == nil || c.Size < 2 {
		c.Size = 0
	}
	return &Lane[T]{crew: c, most: most, take: take}
}

// Workers is the number of workers, at least one: work is called with a number below it, and never twice at a
// time with the same one.
func (l *Lane[T]) Workers() int { return max(l.crew.Size, 1) }

// Add adds a piece of work.
func (l *Lane[T]) Add(weight int64, work func(worker int) (T, error)) error {
	if l.crew.Size == 0 {
		return l.take(work(0))
	}
	for len(l.tasks) > 0 && (l.load+weight > l.most || len(l.tasks) >= longest) {
		if err := l.next(); err != nil {
			return err
		}
	}
	if l.todo == nil {
		l.start()
	}
	t := &task[T]{weight: weight, work: work, done: make(chan struct{})}
	l.tasks = append(l.tasks, t)
	l.load += weight
	l.todo <- t // it has capacity for all that are in progress
	return nil
}

func (l *Lane[T]) start() {
	l.todo, l.ended = make(chan *task[T], longest), make(chan struct{}, l.crew.Size)
	for worker := range l.crew.Size {
		l.crew.Go(func() {
			for t := range l.todo {
				t.result, t.err = t.work(worker)
				close(t.done)
			}
			l.ended <- struct{}{}
		})
	}
}

// next hands on the oldest piece.
func (l *Lane[T]) next() error {
	t := l.tasks[0]
	<-t.done
	l.tasks[0] = nil
	l.tasks = l.tasks[1:]
	l.load -= t.weight
	return l.take(t.result, t.err)
}

// Flush hands on all that is on its way.
func (l *Lane[T]) Flush() error {
	for len(l.tasks) > 0 {
		if err := l.next(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the workers and waits for them. Tasks in progress are done and not handed on. It must be called
// also after an error; the line can be used again.
func (l *Lane[T]) Close() {
	l.tasks, l.load = nil, 0
	if l.todo == nil {
		return
	}
	close(l.todo)
	for range l.crew.Size {
		<-l.ended
	}
	l.todo = nil
}
