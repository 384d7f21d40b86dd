// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// accepts accepts what a run held back, and checks how many resources are kept after it.
func accepts(t *testing.T, m *mirrortest.Mirror, keep bool, kept int) *mirror.Summary {
	t.Helper()
	s, err := m.RunWith(context.Background(), func(o *mirror.Options) {
		o.Accept, o.Keep, o.NoFetch = true, keep, true
	})
	if err != nil {
		t.Fatal(err)
	}
	wantKept(t, s, kept, true)
	return s
}

// wantKept checks that a run is complete and keeps so many resources.
func wantKept(t *testing.T, s *mirror.Summary, kept int, published bool) {
	t.Helper()
	wantVerdict(t, s, mirror.Complete, published)
	if s.Gaps.Kept != kept || s.Gaps.URLs != kept || s.Gaps.Known != s.Gaps.Count {
		t.Fatalf("%d kept of %+v, want %d", s.Gaps.Kept, s.Gaps, kept)
	}
}

// What came and changed is published with accept and Keep; what would go stays, over later runs, until the
// site has it again or accept lets it go.
func TestAcceptKeeps(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	had := m.Paths()
	for i := range 10 {
		if p := fmt.Sprintf("%s/page%02d.html", home, i); i < 8 {
			w.Remove(p)
		} else {
			w.Set(p, mirrortest.Redirect("/"))
		}
	}
	const links = "<a href=/new.html>new</a> <a href=/page03.html>gone</a>"
	w.Set(home+"/page12.html", mirrortest.HTML("Page 12", links))
	w.Set(home+"/new.html", mirrortest.HTML("New", "<p>this came"))
	wantVerdict(t, m.Run(), mirror.Suspicious, false)

	s := accepts(t, m, true, 10)
	if s.Added != 1 || s.Removed != 0 {
		t.Errorf("%d added, %d removed", s.Added, s.Removed)
	}
	wantText(t, s, "accepted as missing")
	all := append(slices.Clone(had), "new.html")
	wantPaths(t, m, all...)
	if page := m.Tree()["page12.html"]; !strings.Contains(page, "=page03.html") {
		t.Errorf("the link to a kept page: %s", page)
	}
	for range 3 {
		wantKept(t, m.Run(), 10, false)
	}
	w.Set(home+"/page03.html", mirrortest.HTML("Page 3", "<p>it came back"))
	wantKept(t, m.Run(), 9, true)
	wantPaths(t, m, all...)

	s = accepts(t, m, false, 0)
	if s.Removed != 9 {
		t.Errorf("%d removed", s.Removed)
	}
	wantKept(t, m.Run(), 0, true) // links to what redirects lead there
	wantKept(t, m.Run(), 0, false)
}

// Pages that nothing links to now are kept likewise, until something does.
func TestAcceptKeepsWhatIsNotLinked(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	had := m.Paths()
	hubPage(w, 8)
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	accepts(t, m, true, 12)
	wantPaths(t, m, had...)
	wantKept(t, m.Run(), 12, false)
	hubPage(w, 10)
	wantKept(t, m.Run(), 10, true)
	wantPaths(t, m, had...)
	if s := accepts(t, m, false, 0); s.Removed != 10 {
		t.Errorf("%d removed", s.Removed)
	}
	wantKept(t, m.Run(), 0, false)
}
