// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/finish"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// picture changes the one large file of a site, of kB thousand bytes.
func picture(w *mirrortest.Web, version, kB int) {
	w.Set(home+"/", mirrortest.HTML("Home", `<img src=p.png>`))
	w.Set(home+"/p.png", mirrortest.Page{Body: fmt.Sprint(version) + strings.Repeat("x", kB*1000)})
}

func versionsOf(t *testing.T, m *mirrortest.Mirror) (n int) {
	m.Site(func(s *store.Site) {
		vs, err := s.Versions.List()
		if err != nil {
			t.Fatal(err)
		}
		n = len(vs)
	})
	return n
}

// Old versions yield to limits.max_state, regardless of publish.keep; then the run ends without a request.
func TestMaxState(t *testing.T) {
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, job())
	m.Durable = true
	now := time.Now()
	m.Now = func() time.Time { return now }
	for i := range 6 {
		now = now.Add(time.Hour)
		picture(w, i, 300)
		wantVerdict(t, m.Run(), mirror.Complete, true)
	}
	var size *store.Sizes
	withSite(t, m, func(st *store.State, _ *store.Site) {
		var err error
		if size, err = finish.SizesOf(st, "test"); err != nil || size == nil {
			t.Fatalf("sizes %v, %v", size, err)
		}
	})
	if size.Bodies < 6*300_000 || size.Bodies > 6*310_000 || size.Trees > 100_000 || size.Database == 0 {
		t.Errorf("sizes %+v", size)
	}
	withSite(t, m, func(_ *store.State, s *store.Site) { // the log of the database takes room too
		before, err := store.Measure(s)
		if err != nil {
			t.Fatal(err)
		}
		other := filepath.Join(s.Dir, "log", "other")
		if err := os.WriteFile(other, make([]byte, 1_000_000), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := store.Measure(s)
		if (err != nil) || (after.Database-before.Database != 1_000_000) {
			t.Errorf("%+v, before the file in the log %+v, %v", after, before, err)
		}
		os.Remove(other)
	})

	// A loss of power left the measurement empty: it is made again.
	if err := os.WriteFile(filepath.Join(m.Dir, "sites", "test", "fact.sizes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.Run()
	withSite(t, m, func(st *store.State, _ *store.Site) {
		if again, err := finish.SizesOf(st, "test"); err != nil || again == nil || again.Bodies != size.Bodies {
			t.Errorf("sizes %+v, %v", again, err)
		}
	})

	m.Set("limits.max_state", fmt.Sprintf(`"%dB"`, size.Total()-500_000))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	wantText(t, s, "3 old versions were dropped, because the mirror took more than limits.max_state")
	if n := versionsOf(t, m); n != 3 {
		t.Errorf("%d versions are left, want 3", n)
	}

	// What does not fit ends the run while it comes.
	m.Set("limits.max_state", fmt.Sprintf(`"%dB"`, size.Total()+500_000))
	w.Set(home+"/", mirrortest.HTML("Home", `<img src=p.png><img src=q.png>`))
	w.Set(home+"/q.png", mirrortest.Page{Body: strings.Repeat("y", 2_500_000)})
	s = m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	wantText(t, s, "the mirror takes more than limits.max_state")

	// Nothing more may yield: no request, and the published version stays.
	m.Set("limits.max_state", `"1kB"`)
	before := m.Stamps()
	w.Requests()
	s = m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	wantText(t, s, "the mirror takes more than limits.max_state = 1kB: nothing more is stored")
	if n := len(w.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
	if n := versionsOf(t, m); n != 2 {
		t.Errorf("%d versions are left, want the published one and one to go back to", n)
	}
	if len(m.Stamps()) != len(before) {
		t.Error("the published version is another")
	}
	withSite(t, m, func(_ *store.State, s *store.Site) {
		if st, err := report.Verify(t.Context(), s, nil); err != nil || st.Problems > 0 {
			t.Errorf("verify: %d problems, %v", st.Problems, err)
		}
	})
	m.Set("limits.max_state", "0")
	wantVerdict(t, m.Run(), mirror.Complete, true)
}
