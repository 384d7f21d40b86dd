// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// A value that this process wrote is older when it comes from a keeper that is behind, and never else.
func TestOwnWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o ownWrites
		o.note("k.a", 7, false)
		o.note("k.gone", 8, true)
		for _, x := range []struct {
			name     string
			revision uint64
			want     bool
		}{
			{"k.a", 0, true}, {"k.a", 6, true}, {"k.a", 7, false}, {"k.a", 9, false},
			{"k.gone", 8, true}, {"k.gone", 0, false}, {"k.gone", 9, false},
			{"k.other", 0, false},
		} {
			if got := o.older(x.name, x.revision); got != x.want {
				t.Errorf("%s at %d: %v", x.name, x.revision, got)
			}
		}
		if !o.olderIn("k.", map[string]uint64{"k.a": 6}) || o.olderIn("k.", map[string]uint64{"k.a": 7}) ||
			o.olderIn("other.", nil) {
			t.Error("of a kind")
		}
		start, tries := time.Now(), 0
		err := fresh(t.Context(), func() (bool, error) {
			tries++
			return tries < 3, nil
		})
		if err != nil || tries != 3 || time.Since(start) != 2*staleAgain {
			t.Errorf("%d tries in %v, %v", tries, time.Since(start), err)
		}
		// Another node removed it.
		start = time.Now()
		err = fresh(t.Context(), func() (bool, error) { return o.older("k.a", 0), nil })
		if took := time.Since(start); err != nil || took > staleMost+staleAgain {
			t.Errorf("%v in %v", err, took)
		}
		time.Sleep(ownFor + 1)
		if o.older("k.a", 0) {
			t.Error("it counts for ever")
		}
		o.note("k.b", 9, false)
		if len(o.of) != 1 {
			t.Errorf("%d are kept", len(o.of))
		}
	})
}
