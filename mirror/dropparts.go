// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"time"

	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/site"
)

// newBodies returns what takes in the bodies of a run. A run without a state only reads.
func (r *run) newBodies() *source.BodyPool {
	o := source.BodyOptions{MaxDocument: int64(r.job.Limits.MaxDocument), Now: r.now, Log: r.log, Parts: r.site.Parts}
	if r.o.State != nil {
		o.Blobs = r.o.State.Spool
	}
	return source.NewBodyPool(o)
}

// dropParts drops the beginnings of bodies of which no run will request the rest: at the end of a complete run all but those of what failed.
func (r *run) dropParts() {
	_, err := r.site.Parts.Collect(false, func(url string, _ time.Time) bool {
		u, _, err := site.Parse(url)
		if err != nil {
			return true
		}
		rec, ok, err := r.site.Records.Get(u)
		return err == nil && (!ok || rec.Outcome != site.Failed || rec.Failures >= ledger.LastingFailures)
	})
	if err != nil {
		r.notes.Cap("beginnings of large files could not be dropped: " + err.Error())
	}
}
