// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mirrord/site"
)

// The last answers come newest first, and no more than a few are kept, from all callers.
func TestRecent(t *testing.T) {
	var r Recent
	if got := r.List(); got != nil {
		t.Errorf("before the first answer: %v", got)
	}
	at := func(i int) site.URL {
		u, _, err := site.Parse(fmt.Sprintf("https://a.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	r.Note(at(1), site.Fetched)
	r.Note(at(2), site.Gone)
	if got := fmt.Sprint(r.List()); got != "[{https://a.test/2 gone} {https://a.test/1 fetched}]" {
		t.Errorf("two: %s", got)
	}
	for i := range 2 * recentKept {
		r.Note(at(10+i), site.Fetched)
	}
	got := r.List()
	const newest, oldest = "https://a.test/19", "https://a.test/15"
	if len(got) != recentKept || got[0].URL != newest || got[recentKept-1].URL != oldest {
		t.Errorf("many: %v", got)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		u := at(i)
		wg.Go(func() {
			r.Note(u, site.Failed)
			r.List()
		})
	}
	wg.Wait()
	if got := fmt.Sprint(r.List()); strings.Count(got, "failed") != 4 {
		t.Errorf("at once: %s", got)
	}
}
