// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// replacing lets newer pages of the replica take the place of the mirror's.
const replacing = "alternates_replace = true\n"

// newer dates a page of the replica later than any run.
func newer(p mirrortest.Page) mirrortest.Page {
	h := map[string]string{"Last-Modified": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}
	maps.Copy(h, p.Header)
	p.Header = h
	return p
}

// While the origin is down, a replica with advertisements, older words, other pictures or pages that are cut
// off leaves every copy that the mirror holds as it is, and gives a page that the mirror lacks.
func TestAlternateLeavesGoodCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(58, 8))
	some := func(n int) string { return mirrortest.Words(r.Uint32(), n) }
	for _, c := range []struct {
		name   string
		spoils func(i int) mirrortest.Page
	}{
		{"advertisements", func(i int) mirrortest.Page {
			return mirrortest.HTML("Page", "<p>"+some(12)+"<p>"+prose(i, 0)+"<p>"+some(9))
		}},
		{"older words", func(i int) mirrortest.Page {
			words := strings.Fields(prose(i, 0))
			words[r.IntN(len(words))] = "older"
			return mirrortest.HTML("Page", "<p>"+strings.Join(words, " "))
		}},
		{"pages cut off", func(i int) mirrortest.Page {
			words := strings.Fields(prose(i, 0))
			return mirrortest.HTML("Page", "<p>"+strings.Join(words[:10+r.IntN(60)], " "))
		}},
		{"a word cut off", func(i int) mirrortest.Page {
			words := strings.Fields(prose(i, 0))
			return mirrortest.HTML("Page", "<p>"+strings.Join(words[:len(words)-1], " "))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pages := handbook(24)
			w, m := replicated(t, pages, "")
			before := m.Tree()
			w.Set(home+"/late.html", mirrortest.Status(500)) // the origin never gives it
			pages["/p01.html"] = mirrortest.HTML("Page 1", `<a href="late.html">l</a><p>`+prose(1, 0))
			w.Set(home+"/p01.html", pages["/p01.html"])
			there := maps.Clone(pages)
			there["/late.html"] = mirrortest.HTML("Late", "<p>"+prose(70, 0))
			there["/logo.png"] = mirrortest.Page{Body: "another picture"}
			replicate(w, there)
			wantVerdict(t, m.Run(), mirror.Complete, true)
			if tree := m.Tree(); !strings.Contains(tree["late.html"], prose(70, 0)) {
				t.Error("what the mirror lacked did not come from the replica")
			}
			before["p01.html"] = m.Tree()["p01.html"]
			before["late.html"] = m.Tree()["late.html"]

			takeDown(w, pages)
			w.Remove(home + "/late.html")
			for i := range 24 {
				there[fmt.Sprintf("/p%02d.html", i)] = newer(c.spoils(i))
			}
			replicate(w, there)
			s := m.Run()
			if s.Changed+s.Added+s.Removed > 0 || s.Gone > 0 || s.Foreign != 1 || s.AlternatesSame > 3 {
				t.Errorf("%d foreign, %d as held\n%s", s.Foreign, s.AlternatesSame, mirrortest.Text(s))
			}
			if !onlyMeta(m.Tree(), before) {
				t.Error("a replica changed the mirror")
			}
		})
	}
}
