// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/site"
	"mirrord/store"
)

// journal remembers batches: "first+news:results".
type journal struct {
	known   uint32
	batches []string
	takes   time.Duration // each commit
	err     error
}

func (j *journal) Known() (uint32, error) { return j.known, nil }

func (j *journal) Commit(first uint32, news []store.NewURL, done []*store.Done) error {
	time.Sleep(j.takes)
	if j.err == nil {
		j.batches = append(j.batches, fmt.Sprintf("%d+%d:%d", first, len(news), len(done)))
	}
	return j.err
}

func doneOf(id uint32) *store.Done { return &store.Done{Resource: store.Resource{ID: id}} }

// Results come in batches of a number, of an age, of so many bytes, or up to a large file, with the URLs that
// are new since the last one.
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
		table.Enter([]byte("http://h/new"), Named)
		for id := range uint32(BatchItems + 1) { // one too many
			c.Add(doneOf(id % 6))
		}
		synctest.Wait()
		large := doneOf(3)
		large.Body, large.Size = store.BlobBody, 1000
		c.Add(large)
		synctest.Wait()
		for _, outcome := range []site.Outcome{site.Unchanged, site.Fetched} { // the first brought nothing
			page := doneOf(5)
			page.Outcome, page.Size = outcome, batchBytes
			c.Add(page)
		}
		synctest.Wait()
		c.Add(doneOf(4))
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		want := fmt.Sprintf("[2+3:2 5+1:%d 6+0:2 6+0:2 6+0:1]", BatchItems)
		if got := fmt.Sprint(j.batches); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Where nothing is synced, a batch is as old as the commit before it allows, and no older than others are.
func TestCommitterUnsynced(t *testing.T) {
	for _, x := range []struct {
		takes time.Duration
		want  int // batches, of a result each millisecond for a second
	}{
		{0, 100},
		{leastAge / agePerCommit, 100},
		{time.Millisecond, 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &journal{takes: x.takes}
			c := NewCommitter(CommitOptions{
				Table:    admitted(1),
				Journal:  j,
				Unsynced: true,
				Room:     func() error { return nil },
				Stop:     func(err error) { t.Error(err) },
			})
			c.Start()
			for range 1000 {
				time.Sleep(time.Millisecond)
				c.Add(doneOf(0))
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := len(j.batches); got < x.want-2 || got > x.want+2 {
				t.Errorf("%d batches when a commit takes %v, want some %d", got, x.takes, x.want)
			}
		})
	}
}

// Where documents are packed a batch waits for a frame of them, and then it is as old as the commit before it
// allows; with fewer documents it is as old as others are.
func TestCommitterPacks(t *testing.T) {
	for _, x := range []struct {
		takes time.Duration
		size  int64
		want  int // batches, of a document each millisecond for a second
	}{
		{time.Millisecond, batchFrame / 8, 20},
		{time.Millisecond, batchFrame / 100, 10},
		{time.Millisecond, 100, 4},
		{20 * time.Millisecond, batchFrame / 8, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &journal{takes: x.takes}
			c := NewCommitter(CommitOptions{
				Table:   admitted(1),
				Journal: j,
				Room:    func() error { return nil },
				Stop:    func(err error) { t.Error(err) },
			})
			c.Start()
			for range 1000 {
				time.Sleep(time.Millisecond)
				d := doneOf(0)
				d.Outcome, d.Body, d.Size = site.Fetched, store.PackBody, x.size
				c.Add(d)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := len(j.batches); got < x.want-2 || got > x.want+2 {
				t.Errorf("%d batches of documents of %d bytes when a commit takes %v, want some %d", got, x.size,
					x.takes, x.want)
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

// When nothing more may be stored the run ends, and what is under way is committed.
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
