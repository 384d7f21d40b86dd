// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"mirrord/internal/volatile"
	"mirrord/mirror/intake"
	"mirrord/store"
)

// explainHistory says what was learned of a resource.
func (r *run) explainHistory(x *Explanation, rec *store.Resource) {
	say := func(format string, args ...any) { x.Rules = append(x.Rules, fmt.Sprintf(format, args...)) }
	if rec.Volatile.Holds() && rec.Body == store.PackBody {
		what := "its stored body cannot be read"
		if fr, err := r.site.Frames.ReadFrame(store.NewFrameReader(), rec.At); err == nil {
			what = intake.Examples(rec.Volatile.Find(fr.Body))
		}
		say("volatile: a change of this alone does not count: %s; at most %d answers in a row are taken for unchanged so, and %d were", what, volatile.MaxHeld, rec.Volatile.Held)
	}
	if rec.NoETag {
		say("validators: its ETag is not sent, because it once stayed the same when the content changed")
	}
	if rec.NoDate {
		say("validators: its Last-Modified is not sent, because it once stayed the same when the content changed")
	}
	if until, ok := r.validators.Until(rec.URL); ok {
		say("validators: none are sent in its directory before run %d, because one of them hid a change", until)
	}
	if n := min(rec.Observed, 16); n > 0 {
		changes := 0
		for v := rec.Recent; v != 0; v &= v - 1 {
			changes++
		}
		say("history: changed at %d of the last %d times it was looked at again", changes, n)
	}
}
