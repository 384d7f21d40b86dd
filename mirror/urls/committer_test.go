// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/internal/texts"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// journal remembers batches: "first+news:results".
type journal struct {
	known   uint32
	batches []string
	notes   []string
	err     error
}

func (j *journal) Known() (uint32, error) { return j.known, nil }

func (j *journal) Commit(first uint32, news []record.NewURL, done []*record.Done) error {
	if j.err == nil {
		j.batches = append(j.batches, fmt.Sprintf("%d+%d:%d", first, len(news), len(done)))
	}
	return j.err
}

func (j *journal) Note(first uint32, news []record.NewURL, done []*record.Done) error {
	if j.err == nil {
		j.notes = append(j.notes, fmt.Sprintf("%d+%d:%d", first, len(news), len(done)))
	}
	return j.err
}

func doneOf(id uint32) *record.Done { return &record.Done{Resource: record.Resource{ID: id}} }

// Nothing is written once the table could not read its file: what was decided by it may be wrong.
func TestCommitterTableLost(t *testing.T) {
	for name, packed := range map[string]bool{"commit": true, "note": false} {
		t.Run(name, func(t *testing.T) {
			table, f := inFile(t)
			stopped := make(chan error, 1)
			j := &journal{}
			c := NewCommitter(CommitOptions{
				Table:   table,
				Journal: j,
				Packed:  packed,
				Room:    func() error { return nil },
				Stop:    func(err error) { stopped <- err },
			})
			if err := f.Truncate(1000); err != nil {
				t.Fatal(err)
			}
			if u := table.URL(1000).String(); u != texts.Unreadable {
				t.Error(u)
			}
			c.Start()
			c.Add(doneOf(1))
			err := <-stopped
			if disk := new(disk.DiskError); !errors.As(err, &disk) || !errors.Is(c.Close(), err) {
				t.Error(err)
			}
			if len(j.batches)+len(j.notes) > 0 {
				t.Errorf("%v, %v", j.batches, j.notes)
			}
		})
	}
}

// Results are committed in batches of a number, of an age, of so many bytes, or up to a large file, with the
// URLs that are new. What was noted is not handed over again.
func TestCommitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := admitted(5)
		j := &journal{known: 2}
		c := NewCommitter(CommitOptions{
			Table:   table,
			Journal: j,
			Large:   1000,
			Room:    func() error { return nil },
			Stop:    func(err error) { t.Error(err) },
		})
		c.Start()
		c.Add(doneOf(0))
		c.Add(doneOf(1))
		time.Sleep(batchAge + time.Millisecond) // of age
		Enter(table, []byte("http://h/new"), Named)
		for id := range uint32(BatchItems + 1) { // one too many
			c.Add(doneOf(id % 6))
		}
		synctest.Wait()
		large := doneOf(3)
		large.Body, large.Size = record.BlobBody, 1000
		c.Add(large)
		synctest.Wait()
		for _, outcome := range []site.Outcome{site.Unchanged, site.Fetched} { // the first had no body
			page := doneOf(5)
			page.Outcome, page.Size = outcome, batchBytes
			c.Add(page)
		}
		synctest.Wait()
		c.Add(doneOf(4))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintf("[5+0:0 5+1:%d 6+0:2 6+0:2 6+0:1]", BatchItems)
		if got := fmt.Sprint(j.batches); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// What came between two commits is noted, once, with the URLs that are new: when it is a moment old, or where
// documents are packed when a frame of them is full. Unchanged URLs are not.
func TestCommitterNotes(t *testing.T) {
	for _, x := range []struct {
		packed  bool
		size    int64 // of a document each 1.1 ms, for batchAge
		outcome site.Outcome
		want    string // the first notes
		notes   int    // between two commits
	}{
		{false, 100, site.Fetched, "[2+3:4 5+1:4 6+0:4]", 56},
		{false, 0, site.Gone, "[2+3:4 5+1:4 6+0:4]", 56},
		{false, 100, site.Unchanged, "[]", 0},
		{true, noteFrame / 10, site.Fetched, "[2+3:14 5+1:14 6+0:14]", 16},
		{true, 100, site.Fetched, "[]", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			table := admitted(5)
			j := &journal{known: 2}
			c := NewCommitter(CommitOptions{
				Table:   table,
				Journal: j,
				Packed:  x.packed,
				Room:    func() error { return nil },
				Stop:    func(err error) { t.Error(err) },
			})
			c.Start()
			const every = 1100 * time.Microsecond // no two timers end at one instant
			for n := time.Duration(0); n < batchAge; n += every {
				d := doneOf(0)
				d.Outcome, d.Body, d.Size = x.outcome, record.PackBody, x.size
				c.Add(d)
				time.Sleep(every)
				synctest.Wait()
				if len(j.notes) == 1 && table.Len() == 5 {
					Enter(table, []byte("http://h/new"), Named)
				}
			}
			synctest.Wait()
			if got := fmt.Sprint(j.notes[:min(3, len(j.notes))]); got != x.want || len(j.notes) != x.notes {
				t.Errorf("packed %v, %d bytes, %v: %d notes, %s; want %d, %s", x.packed, x.size, x.outcome,
					len(j.notes), got, x.notes, x.want)
			}
			if err := c.Close(); err != nil || len(j.batches) != 1 {
				t.Errorf("batches %v, %v", j.batches, err)
			}
		})
	}
}

// An error of the disk ends the run, and what comes after it is drained.
func TestCommitterFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		j := &journal{err: full}
		stopped := 0
		c := NewCommitter(CommitOptions{
			Table:   admitted(1),
			Journal: j,
			Room:    func() error { return nil },
			Stop: func(err error) {
				if stopped++; !errors.Is(err, full) {
					t.Error(err)
				}
			},
		})
		c.Start()
		for range 3 * BatchItems {
			c.Add(doneOf(0))
		}
		if err := c.Close(); !errors.Is(err, full) || stopped != 1 || len(j.batches) > 0 {
			t.Error(err, stopped, j.batches)
		}
	})
}

// When nothing more may be stored the run ends, and results in progress are committed.
func TestCommitterRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		low := errors.New("little room")
		var stopped error
		j := &journal{}
		c := NewCommitter(CommitOptions{
			Table:   admitted(1),
			Journal: j,
			Room:    func() error { return low },
			Stop:    func(err error) { stopped = err },
		})
		c.Start()
		time.Sleep(batchAge + time.Millisecond)
		synctest.Wait()
		c.Add(doneOf(0))
		if err := c.Close(); err != nil || !errors.Is(stopped, low) || len(j.batches) != 1 {
			t.Error(err, stopped, j.batches)
		}
	})
}
