// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"net/http"
	"time"

	"mirrord/site"
	"mirrord/store/record"
)

// A batch is committed when it is this old, its bodies have so many bytes, or it has so many results: what a
// loss of power can cost, and the memory that results take.
const (
	BatchItems = 2048
	batchBytes = 8 << 20
	batchAge   = 250 * time.Millisecond
)

// Between commits, results are noted when they are this old: a kill costs little more than the requests in
// progress. Where documents are packed a note waits for a frame of them: small frames take twice the room.
const (
	noteAge   = 4 * time.Millisecond
	noteFrame = 256 << 10
)

// waiting is how many results may wait for the committer: a fraction of a batch, so that a sync of the disk
// does not stop the workers at once.
const waiting = 64

// Journal takes the results of a run. *facts.Records is one. Its methods are called by one goroutine at a
// time.
type Journal interface {
	// Known is how many numbers the journal has given to URLs.
	Known() (uint32, error)
	// Commit makes results permanent, all of them or none, with the URLs from first on that they may refer
	// to, and with what was noted before.
	Commit(first uint32, news []record.NewURL, done []*record.Done) error
	// Note keeps results, with such URLs, in case that the process is killed. The next Commit makes them
	// permanent.
	Note(first uint32, news []record.NewURL, done []*record.Done) error
}

// CommitOptions say what a Committer works with. All fields but Large are needed.
type CommitOptions struct {
	Table   *Table
	Journal Journal
	// a file of so many bytes ends its batch, so that it is not requested twice; 0: none does
	Large  int64
	Packed bool         // documents come in frames of many
	Room   func() error // says why nothing more may be stored, four times a second and after each batch
	Stop   func(error)  // ends the run, because of the disk or of Room; results in progress are still committed
}

// Committer gathers results and makes them permanent in batches, in the order in which they come. After an
// error of the disk it ends the run, and only drains. Add is safe for concurrent use.
type Committer struct {
	CommitOptions
	done  chan *record.Done
	ended chan error

	known uint32         // numbers that the journal has; this and what follows is of the goroutine
	batch []*record.Done // results that the journal does not have
	since int            // results since the last commit
	bytes int64          // of the bodies that came with them
	news  []record.NewURL
	due   *time.Timer // when they are as old as they may become
	err   error

	worth  bool        // the batch has results that are worth a note
	packed int64       // bytes of its documents
	note   *time.Timer // when they are noted
}

// NewCommitter returns a committer that has yet to start.
func NewCommitter(o CommitOptions) *Committer {
	return &Committer{CommitOptions: o, done: make(chan *record.Done, waiting), ended: make(chan error, 1)}
}

// Start lets the committer work until Close.
func (c *Committer) Start() {
	c.known = c.Table.Len()
	if known, err := c.Journal.Known(); err == nil {
		c.known = min(c.known, known)
	}
	go func() { c.ended <- c.work() }()
}

// Add hands a result on. It waits while the disk is slow.
func (c *Committer) Add(d *record.Done) { c.done <- d }

// Close waits until everything that was added is committed. The error says why something could not be. Add
// must no longer be called.
func (c *Committer) Close() error {
	close(c.done)
	return <-c.ended
}

func (c *Committer) work() error {
	c.due, c.note = time.NewTimer(0), time.NewTimer(0) // of an empty batch
	defer c.due.Stop()
	defer c.note.Stop()
	look := time.NewTicker(batchAge) // one large body may fill the disk
	defer look.Stop()
	for {
		select {
		case d, ok := <-c.done:
			if !ok {
				c.flush()
				return c.err
			}
			c.take(d)
		case <-c.due.C:
			c.flush()
		case <-c.note.C:
			c.keep()
		case <-look.C:
			c.look()
		}
	}
}

// take adds a result to the batch.
func (c *Committer) take(d *record.Done) {
	c.batch = append(c.batch, d)
	if c.since++; c.since == 1 {
		c.due.Reset(batchAge)
	}
	if d.Outcome == site.Fetched {
		c.bytes += d.Size
	}
	large := c.Large > 0 && d.Body == record.BlobBody && d.Size >= c.Large
	if large || c.bytes >= batchBytes || c.since >= BatchItems {
		c.flush()
		return
	}
	if d.Outcome == site.Unchanged && d.Status != http.StatusOK { // it comes again without a body
		return
	}
	waits := c.waits()
	c.worth = true
	if d.Outcome == site.Fetched && d.Body == record.PackBody {
		c.packed += d.Size
	}
	if waits && !c.waits() {
		c.note.Reset(noteAge)
	}
}

// waits reports whether there is too little to note.
func (c *Committer) waits() bool { return !c.worth || (c.Packed && c.packed < noteFrame) }

// keep notes the batch.
func (c *Committer) keep() {
	if c.err == nil && !c.waits() {
		c.write(c.Journal.Note)
	}
}

// write hands the batch to a function of the journal, with the URLs that are new, unless what the table has
// said does not count. After an error it ends the run.
func (c *Committer) write(to func(uint32, []record.NewURL, []*record.Done) error) {
	c.news = c.Table.News(c.known, c.news[:0])
	if c.err = c.Table.Err(); c.err == nil {
		c.err = to(c.known, c.news, c.batch)
	}
	if c.err != nil {
		c.Stop(c.err)
		return
	}
	c.known += uint32(len(c.news))
	c.settled()
}

// settled forgets the batch.
func (c *Committer) settled() {
	clear(c.batch)
	c.batch, c.worth, c.packed = c.batch[:0], false, 0
}

// flush commits the batch, with what was noted.
func (c *Committer) flush() {
	some := c.since > 0
	c.since, c.bytes = 0, 0
	if c.err != nil {
		c.settled()
		return
	}
	if some {
		c.write(c.Journal.Commit)
	}
	if some && c.err == nil {
		c.look()
	}
}

// look ends the run when nothing more may be stored.
func (c *Committer) look() {
	if err := c.Room(); err != nil {
		c.Stop(err)
	}
}
