// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"time"

	"mirrord/mirror/result"
	"mirrord/mirror/source"
	"mirrord/store"
)

// A batch is committed when it has this many results or is this old: what a kill can cost.
const (
	batchItems = 256
	batchAge   = 250 * time.Millisecond
)

// commit gathers results and makes them permanent in batches. After an error of the disk it stops the run and only drains.
func (r *run) commit() error {
	t := r.table
	committed := t.Len()
	if known, err := r.site.Records.Known(); err == nil && known < committed {
		committed = known
	}
	var batch []*store.Done
	var news []store.NewURL
	var failed error
	tick := time.NewTicker(batchAge)
	defer tick.Stop()
	look := func() {
		if err := r.room(); err != nil {
			r.stop(err) // what is under way is still committed
		}
	}
	flush := func() {
		if failed != nil || len(batch) == 0 {
			batch = batch[:0]
			return
		}
		news = t.News(committed, news[:0])
		if failed = r.site.Records.Commit(committed, news, batch); failed != nil {
			r.stop(failed)
			return
		}
		committed += uint32(len(news))
		clear(batch)
		batch = batch[:0]
		look()
	}
	for {
		select {
		case d, ok := <-r.commits:
			if !ok {
				flush()
				return failed
			}
			batch = append(batch, d)
			if len(batch) >= batchItems || d.Body == store.BlobBody && d.Size >= source.PartBytes { // a large body is not to be asked for twice
				flush()
			}
		case <-tick.C:
			flush()
			look() // one large body may fill the disk
		}
	}
}

// room stops the run before the disk is full.
func (r *run) room() error {
	if r.job.Limits.MinFree <= 0 {
		return nil
	}
	free, err := store.FreeBytes(r.site.Dir())
	if err != nil || free >= int64(r.job.Limits.MinFree) {
		return nil
	}
	return result.LimitError{What: "less than limits.min_free = " + r.job.Limits.MinFree.String() + " is left on the disk of the state directory; free some space and run again to go on"}
}
