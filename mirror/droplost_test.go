// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/finish"
	"mirrord/mirror/report"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// writing opens the site of a mirror for writing.
func writing(t *testing.T, m *mirrortest.Mirror, f func(st *store.State, s *store.Site)) {
	t.Helper()
	st, err := store.OpenState(m.Dir, store.Options{Volatile: !m.Durable, Wait: 10 * time.Second})
	must(t, err)
	defer st.Close()
	s, err := st.OpenSite("test")
	must(t, err)
	defer s.Close()
	f(st, s)
}

// Lost bodies are dropped from the versions that had them: after that all is well, each of them can be read
// and says what it lacks, its links to that are absolute, and a rollback to it works. The next run requests
// the lost bodies of the current version.
func TestDropLostInBulk(t *testing.T) {
	const page = home + "/page03.html"
	for _, present := range []bool{false, true} {
		t.Run(fmt.Sprint("present ", present), func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 5)
			m := mirrortest.New(t, w, job())
			m.Durable = true
			for version := 1; version <= 3; version++ {
				var text strings.Builder
				for i := range 9000 { // a frame of its own, and no delta: nothing is in common
					sum := sha256.Sum256([]byte{byte(version), byte(i >> 8), byte(i)})
					fmt.Fprintf(&text, "<p>%x\n", sum)
				}
				fmt.Fprintf(&text, `<a href="%s/page02.html">two</a>`, home)
				w.Set(page, mirrortest.HTML("Three", text.String()))
				wantVerdict(t, m.Run(), mirror.Complete, true)
			}
			tw := &twins{t: t, web: w, hurt: m}
			second := tw.past(m, 2)
			lostIn := []int{1}
			harmPack(t, m, page, 1, false)
			if present {
				lostIn = []int{1, 3}
				harmPack(t, m, page, 3, true)
			}
			if len(problems(t, m)) == 0 {
				t.Fatal("Verify finds nothing")
			}
			writing(t, m, func(st *store.State, s *store.Site) {
				got, err := finish.Site(t.Context(), st, s, false)
				must(t, err)
				if len(got.Lost) != 1 || !slices.Equal(got.Lost[0].Versions, lostIn) || got.Lost[0].URL != page ||
					got.Lost[0].Present != present {
					t.Fatalf("lost are %+v", got.Lost)
				}
				if got, err = finish.Site(t.Context(), st, s, true); err != nil || !got.Dropped {
					t.Fatal(got, err)
				}
				_, err = report.Verify(t.Context(), s, func(p upkeep.Problem) { t.Errorf("verify: %s", p) })
				must(t, err)
			})
			if ps := problems(t, m); len(ps) > 0 {
				t.Errorf("after the drop: %v", ps)
			}
			wantSame(t, "version 2", tw.past(m, 2), second)
			for _, n := range lostIn {
				got := tw.past(m, n)
				if _, ok := got["page03.html"]; ok || !strings.Contains(got["index.html"], `"`+page+`"`) {
					t.Errorf("version %d: page03.html is there: %v; the index is %s", n, ok, got["index.html"])
				}
			}
			m.Site(func(s *store.Site) {
				vs, err := s.Versions.List()
				must(t, err)
				for _, v := range vs {
					meta, err := phm.ReadMeta(strings.NewReader(string(v.Meta)))
					must(t, err)
					says := slices.ContainsFunc(meta.Failed, func(f phm.MissingURL) bool { return f.URL == page })
					if says != slices.Contains(lostIn, v.Number) || meta.Files != v.Files {
						t.Errorf("phm.json of version %d says that the page is missing: %v; %d of %d files", v.Number, says,
							meta.Files, v.Files)
					}
				}
			})
			w.Requests()
			wantVerdict(t, m.Run(), mirror.Complete, present)
			if got := m.Tree()["page03.html"]; !strings.Contains(got, "two</a>") {
				t.Errorf("the run has not fetched the page again: %q", got)
			}
			tw.rollback(m, 1)
			if _, ok := m.Tree()["page03.html"]; ok {
				t.Error("the page is in the version that came back")
			}
			if ps := problems(t, m); len(ps) > 0 {
				t.Errorf("after the rollback: %v", ps)
			}
		})
	}
}
