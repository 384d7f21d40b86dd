// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mirrord/site"
)

// Each kind of finding comes under one count of the summary; what comes under two is counted in both.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		as                                                                                                  Tally
		fetched, unchanged, redirected, gone, disallowed, trapped, failed, refused, first, listings, expiry int64
	}{
		{as: 0},
		{as: AsFetched, fetched: 1},
		{as: AsUnchanged | AsFetched, unchanged: 1, fetched: 1},
		{as: AsRedirected, redirected: 1},
		{as: AsNotRedirect | AsFailed, redirected: -1, failed: 1},
		{as: AsGone, gone: 1},
		{as: AsDisallowed, disallowed: 1},
		{as: AsTrapped, trapped: 1},
		{as: AsRefused, refused: 1},
		{as: AsFirstGone, first: 1},
		{as: AsSpared << ByListing, listings: 1},
		{as: AsSpared << ByExpiry, expiry: 1},
	} {
		var s Counts
		s.Count(c.as)
		for name, x := range map[string][2]int64{
			"fetched":    {s.Fetched.Load(), c.fetched},
			"unchanged":  {s.Unchanged.Load(), c.unchanged},
			"redirected": {s.Redirected.Load(), c.redirected},
			"gone":       {s.Gone.Load(), c.gone},
			"disallowed": {s.Disallowed.Load(), c.disallowed},
			"trapped":    {s.Trapped.Load(), c.trapped},
			"failed":     {s.Failed.Load(), c.failed},
			"refused":    {s.Refused.Load(), c.refused},
			"first":      {s.FirstGone.Load(), c.first},
			"listings":   {s.Spared[ByListing].Load(), c.listings},
			"expiry":     {s.Spared[ByExpiry].Load(), c.expiry},
		} {
			if x[0] != x[1] {
				t.Errorf("%b: %s %d, want %d", c.as, name, x[0], x[1])
			}
		}
	}
}

// The room of a finding is counted once: when it was reserved, it was counted already.
func TestCountsRoom(t *testing.T) {
	var s Counts
	room := Room{Files: 1, Bytes: 7}
	s.Hold(room)
	s.Account(&Account{
		Tally:    AsFetched | AsNearText,
		Room:     room,
		Reserved: true,
		Bytes:    7,
	})
	s.Account(&Account{Tally: AsGone, Room: Room{Files: 1, Bytes: 3}.Neg()})
	if f, h, b := s.Files.Load(), s.Held.Load(), s.Bytes.Load(); f != 0 || h != 4 || b != 7 {
		t.Errorf("%d files, %d bytes held, %d bytes came", f, h, b)
	}
	if s.NearText.Load() != 1 || s.Fetched.Load() != 1 || s.Gone.Load() != 1 {
		t.Error("a tally is missing")
	}
}

func TestNotes(t *testing.T) {
	var n Notes
	mustURL := func(raw string) site.URL {
		u, _, err := site.Parse(raw)
		if err != nil {
			t.Error(err)
		}
		return u
	}
	if ns, fs := n.List(); ns != nil || fs != nil {
		t.Error("a new one has something to say")
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 100 {
				n.Add("bodies of a kind", mustURL(fmt.Sprintf("http://h/%d/%d", w, i)))
				n.Fail(mustURL(fmt.Sprintf("http://h/f%03d", (i*4+w))), "status 500")
				n.Trap(mustURL("http://h/trap"+strings.Repeat("/deep", 1000)), "too deep")
				n.Cap("limits.max_files = 1 is reached")
			}
		})
	}
	wg.Wait()
	n.Decided(mustURL("http://h/"), "status 404")
	n.Fail(mustURL("http://h/f000"), "status 503") // the last word counts
	ns, fs := n.List()
	if len(ns) != 3 || ns[0].What != "limits.max_files = 1 is reached" || ns[1].Count != 400 ||
		ns[2].Count != 400 || len(ns[2].Examples) != MaxExamples {
		t.Errorf("%+v", ns)
	}
	trap, end := ns[1].Examples[0], "…"+strings.Repeat("/deep", 8)+": too deep"
	if len(trap) > 250 || !strings.HasSuffix(trap, end) {
		t.Errorf("a note of a long URL: %s", trap)
	}
	if len(fs) != MaxFailures {
		t.Errorf("%d failures", len(fs))
	}
	if got := n.Reason(mustURL("http://h/")); got != "status 404" {
		t.Errorf("the entry point: %q", got)
	}
}
