// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"mirrord/site"
	"mirrord/store"
)

// A batch is committed when it is this old, its bodies have so many bytes, or it has so many results: what a
// kill can cost, and the memory that results take.
const (
	BatchItems = 2048
	batchBytes = 8 << 20
	batchAge   = 250 * time.Millisecond
)

// Where a commit takes a millisecond or less, a batch is only so many times as old as the commit before took,
// and at most batchAge: a kill costs little more than what is under way, and commits a fiftieth of the time.
// Where documents are packed it waits for a frame of them all the same: small frames take twice the room.
const (
	agePerCommit = 50
	leastAge     = 10 * time.Millisecond
	batchFrame   = 256 << 10
)

// waiting is how many results may wait for the committer: a fraction of a batch, so that a sync of the disk
// does not stop the workers at once.
const waiting = 64

// Journal takes the results of a run. *store.Records is one. Its methods are called by one goroutine at a
// time.
type Journal interface {
	// Known is how many numbers the journal has given to URLs.
	Known() (uint32, error)
	// Commit makes results permanent, all of them or none, with the URLs from first on that they may refer to.
	Commit(first uint32, news []store.NewURL, done []*store.Done) error
}

// CommitOptions say what a Committer works with. All fields but Large are needed.
type CommitOptions struct {
	Table   *Table
	Journal Journal
	// a file of so many bytes ends its batch, so that it is not requested twice; 0: none does
	Large    int64
	Unsynced bool         // Commit syncs nothing
	Room     func() error // says why nothing more may be stored, four times a second and after each batch
	Stop     func(error)  // ends the run, because of the disk or of Room; what is under way is still committed
}

// Committer gathers results and makes them permanent in batches, in the order in which they come. After an
// error of the disk it ends the run, and only drains. Add is safe for concurrent use.
type Committer struct {
	o     CommitOptions
	done  chan *store.Done
	ended chan error

	known  uint32 // numbers that the journal has; this and what follows is of the goroutine
	batch  []*store.Done
	bytes  int64 // of the bodies that came with it,
	packed int64 // and of those that are documents
	news   []store.NewURL
	due    *time.Timer   // when the batch is as old as one may become
	age    time.Duration // between two commits at least
	last   time.Time     // when the last one began
	err    error
}

// NewCommitter returns a committer that has yet to start.
func NewCommitter(o CommitOptions) *Committer {
	return &Committer{o: o, done: make(chan *store.Done, waiting), ended: make(chan error, 1)}
}

// Start lets the committer work until Close.
func (c *Committer) Start() {
	c.known = c.o.Table.Len()
	if known, err := c.o.Journal.Known(); err == nil {
		c.known = min(c.known, known)
	}
	go func() { c.ended <- c.work() }()
}

// Add hands a result on. It waits while the disk is slow.
func (c *Committer) Add(d *store.Done) { c.done <- d }

// Close waits until everything that was added is committed. The error says why something could not be. Add
// must not be called any more.
func (c *Committer) Close() error {
	close(c.done)
	return <-c.ended
}

func (c *Committer) work() error {
	c.age = leastAge
	c.due = time.NewTimer(0) // of an empty batch
	defer c.due.Stop()
	look := time.NewTicker(batchAge) // one large body may fill the disk
	defer look.Stop()
	for {
		select {
		case d, ok := <-c.done:
			if !ok {
				c.flush()
				return c.err
			}
			frame := c.packed >= batchFrame
			c.batch = append(c.batch, d)
			if d.Outcome == site.Fetched {
				c.bytes += d.Size
				if d.Body == store.PackBody {
					c.packed += d.Size
				}
			}
			large := c.o.Large > 0 && d.Body == store.BlobBody && d.Size >= c.o.Large
			switch {
			case large || c.bytes >= batchBytes || len(c.batch) >= BatchItems:
				c.flush()
			case len(c.batch) == 1 || frame != (c.packed >= batchFrame):
				c.due.Reset(c.wait())
			}
		case <-c.due.C:
			c.flush()
		case <-look.C:
			c.look()
		}
	}
}

// wait is how much older the batch may become, from its first result and from its first frame on.
func (c *Committer) wait() time.Duration {
	if !c.o.Unsynced && c.packed < batchFrame {
		return batchAge
	}
	if left := c.age - time.Since(c.last); left > 0 || len(c.batch) > 1 {
		return max(left, 0)
	}
	return leastAge // after a pause
}

// flush commits the batch.
func (c *Committer) flush() {
	c.bytes, c.packed = 0, 0
	if c.err != nil || len(c.batch) == 0 {
		c.batch = c.batch[:0]
		return
	}
	began := time.Now()
	c.news = c.o.Table.News(c.known, c.news[:0])
	if c.err = c.o.Journal.Commit(c.known, c.news, c.batch); c.err != nil {
		c.o.Stop(c.err)
		return
	}
	c.known += uint32(len(c.news))
	clear(c.batch)
	c.batch = c.batch[:0]
	c.last, c.age = began, min(batchAge, max(leastAge, agePerCommit*time.Since(began)))
	c.look()
}

// look ends the run when nothing more may be stored.
func (c *Committer) look() {
	if err := c.o.Room(); err != nil {
		c.o.Stop(err)
	}
}
