// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mirrord/mirror/source"
	"mirrord/testing/mirrortest"
)

// A run says one thing of a replica, for any findings of the test before it, the requests in it and the test
// at its end.
func TestOneNoteOfAReplica(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 8))
	c, other := newTown(r, 60, 90), newTown(r, 60, 90)
	const used, isNone = "is used", "is not treated as the origin ("
	const noMore = "is not treated as the origin from the next"
	for _, k := range []struct {
		name     string
		asked    bool // the replica is requested in the run
		days     int  // age of the test before it; 0: none
		equal    bool // it found that the replica is one
		good     bool // the replica is one while the run requests it
		later    bool // and when it ends
		want     string
		excluded string
	}{
		{"is one, and is tested again", true, 15, true, true, true, "was tested and is used", "is not"},
		{"was turned, and is one at the end", true, 15, true, false, true, used + " from", "is not"},
		{"was none, and is one at the end", true, 0, false, false, true, isNone, used},
		{"was one, and is not", true, 15, true, true, false, noMore, used},
		{"is not one", true, 0, false, false, false, isNone, used},
		{"was turned, and is not one", true, 15, true, false, false, isNone, used},
		{"was none, is one, not requested", false, 15, false, false, true, "was tested and is used", "is not"},
		{"is not one, not requested", false, 15, true, false, false, isNone, used},
	} {
		p := newUntested(t, false)
		p.build(c)
		if k.days > 0 {
			p.testedAt(t, k.equal, time.Now().AddDate(0, 0, -k.days))
		}
		web := p.fake.Web
		serve := func(good bool) {
			web.Set("*", mirrortest.Status(404))
			for i := range townSize {
				body := c.page(i, c.own[i])
				if !good {
					body = other.page(i, other.own[i])
				}
				web.Set(there+c.path(i), htmlPage(body))
			}
		}
		serve(k.good)
		if k.asked {
			rec := p.records[home+c.path(3)]
			a, err := p.chain.Get(t.Context(), &source.Ask{Record: &rec, Of: source.FromReplica, Why: "status 503"})
			if err != nil {
				t.Fatal(err)
			}
			a.Release()
		}
		serve(k.later)
		p.chain.Replicas.Renew(t.Context())
		notes := p.chain.Replicas.Report().Notes
		text := fmt.Sprintf("%q", notes)
		if len(notes) != 1 || !strings.Contains(text, k.want) ||
			(k.excluded != "" && strings.Contains(text, k.excluded)) {
			t.Errorf("%s: %s, want one with %q and not %q", k.name, text, k.want, k.excluded)
		}
	}
}
