// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/record"
)

// mappedOf returns the resident bytes of the mappings of a file; false where the kernel does not say.
func mappedOf(t *testing.T, name string) (n int64, ok bool) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Logf("%v: mapped memory is not counted", err)
		return 0, false
	}
	defer f.Close()
	in := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if head, _, _ := strings.Cut(line, " "); !strings.HasSuffix(head, ":") {
			in = strings.HasSuffix(line, name) // the first line of a mapping
		}
		var kb int64
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &kb); err == nil && in {
			n += kb << 10
		}
	}
	return n, true
}

// Random look-ups of keys of a large database do not keep all of it in memory: neither by single
// look-ups, nor while a batch is committed and folded.
func TestLookUpsGivePagesBack(t *testing.T) {
	const pages, size = 4000, 8000
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{Volatile: true})
	reason := strings.Repeat("x", size)
	result := func(id int) *record.Done {
		return &record.Done{Resource: record.Resource{
			ID:      uint32(id),
			URL:     testURL(id),
			Outcome: site.Failed,
			Reason:  reason,
		}}
	}
	for first := 0; first < pages; first += 500 {
		var done []*record.Done
		for id := first; id < first+500; id++ {
			done = append(done, result(id))
		}
		commit(t, s, uint32(first), newURLs(first, first+500), done...)
	}
	foldAll(t, s, 1)
	few := func(what string) {
		t.Helper()
		if n, ok := mappedOf(t, s.DB.Path); ok && n > pages*size/3 {
			t.Errorf("after %s: %d of %d MB are mapped", what, n>>20, pages*size>>20)
		} else {
			t.Logf("after %s: %d of %d MB are mapped", what, n>>20, pages*size>>20)
		}
	}
	few("Fold")
	order := rand.New(rand.NewPCG(1, 2)).Perm(pages)
	for _, id := range order {
		if _, ok, err := s.Records.Get(testURL(id)); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	few("look-ups")
	for _, id := range order[:pages/2] {
		commit(t, s, pages, nil, result(id))
	}
	foldAll(t, s, 2)
	few("the second Fold")
}
