// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// harmPack damages the frame of a document as it was in a version, in one of the ways in which disks do.
func harmPack(t *testing.T, m *mirrortest.Mirror, url string, version int, zeroed bool) {
	t.Helper()
	var at record.Place
	m.Site(func(s *store.Site) {
		past, err := s.Versions.Past(version)
		must(t, err)
		must(t, past.Resources(func(r *record.Resource, _ bool) error {
			if r.URL.String() == url {
				at = r.At
			}
			return nil
		}))
	})
	if at.Len == 0 {
		t.Fatalf("%s has no document in version %d", url, version)
	}
	name := filepath.Join(m.Dir, "sites/test/packs", fmt.Sprintf("%06d.pack", at.Pack))
	b, err := os.ReadFile(name)
	must(t, err)
	if zeroed {
		clear(b[at.Off : at.Off+int64(at.Len)])
	} else {
		b[at.Off+int64(at.Len)/2] ^= 4
	}
	must(t, os.WriteFile(name, b, 0o644))
}

// problems are what Verify finds.
func problems(t *testing.T, m *mirrortest.Mirror) (out []upkeep.Problem) {
	t.Helper()
	m.Site(func(s *store.Site) {
		_, err := report.Verify(t.Context(), s, func(p upkeep.Problem) { out = append(out, p) })
		must(t, err)
	})
	return out
}

// A document that comes again repairs all versions that have it, and deltas stored over it; one
// whose copy is in the published tree needs no request.
func TestDamagedDocumentHealsAllVersions(t *testing.T) {
	for _, c := range []struct {
		name    string
		link    string // of the page: relative, it is published as it came
		version int    // whose document is damaged
		zeroed  bool
		fetched int64 // at most, by the run that repairs: pages share frames as they come
		back    bool  // the site has the page of that version again
		lost    bool
	}{
		{"the copy is published", "page02.html", 3, false, 0, false, false},
		{"zeroed, and the copy is published", "page02.html", 3, true, 0, false, false},
		{"the site has it", home + "/page02.html", 3, false, 1, false, false},
		{"the site has it, the frame is zeroed", home + "/page02.html", 3, true, 1, false, false},
		// with the other pages of its frame, of which the published files are no copies
		{"an older version, whose page comes back", home + "/page02.html", 1, false, 5, true, false},
		{"an older version", home + "/page02.html", 1, false, 5, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 5)
			m := mirrortest.New(t, w, job())
			m.Durable = true
			page := func(version int) mirrortest.Page {
				return mirrortest.HTML("Three", fmt.Sprintf(`<p>%s version %d <a href="%s">two</a>`,
					sentences(400), version, c.link))
			}
			for version := 1; version <= 3; version++ {
				w.Set(home+"/page03.html", page(min(version, 2))) // deltas: 3 over 1 and 2
				w.Set(home+"/page04.html", plain(fmt.Sprint("text ", version)))
				wantVerdict(t, m.Run(), mirror.Complete, true)
			}
			want := map[int]map[string]string{}
			tw := &twins{t: t, web: w, hurt: m}
			for n := 1; n <= 3; n++ {
				want[n] = tw.past(m, n)
			}
			harmPack(t, m, home+"/page03.html", c.version, c.zeroed)
			m.Damaged = true
			if len(problems(t, m)) == 0 {
				t.Fatal("Verify finds nothing")
			}
			if c.back {
				w.Set(home+"/page03.html", page(1))
			}
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, c.back)
			if s.Fetched > c.fetched || s.Fetched < min(c.fetched, 1) {
				t.Errorf("%d fetched, want %d", s.Fetched, c.fetched)
			}
			left := problems(t, m)
			if (len(left) > 0) != c.lost {
				t.Errorf("left are %v", left)
			}
			for n := 1; n <= 3 && !c.lost; n++ {
				wantSame(t, fmt.Sprint("version ", n), tw.past(m, n), want[n])
			}
			if noted, err := damagedNotes(m); err != nil || (len(noted) > 0) != c.lost {
				t.Errorf("noted are %q, %v", noted, err)
			}
		})
	}
}

// plain is no document: it is in no frame, and nothing is lost of it with a frame.
func plain(text string) mirrortest.Page {
	return mirrortest.Page{Header: map[string]string{"Content-Type": "text/plain"}, Body: text}
}

func damagedNotes(m *mirrortest.Mirror) (noted []string, err error) {
	m.Site(func(s *store.Site) { noted, err = s.Notes.Damaged() })
	return noted, errors.Join(err)
}

// sentences is text that differs in each line.
func sentences(n int) string {
	var out []byte
	for i := range n {
		out = fmt.Appendf(out, "sentence %d of %x. ", i, i*i*7919)
	}
	return string(out)
}

// A run that resumes after an interruption requests bodies found damaged meanwhile, also what it has had an
// answer for already.
func TestResumedRunRequestsDamaged(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 30)
	page := func(text string) mirrortest.Page { // its link is changed, so the tree has no copy
		return mirrortest.HTML("Three", fmt.Sprintf(`<p>%s <a href="%s/page02.html">two</a>`, text, home))
	}
	w.Set(home+"/page03.html", page("three"))
	w.Set(home+"/page04.html", plain("four"))
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/page04.html", plain("changed"))
	s := interrupted(t, m, w, func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/page29.html")
	})
	if s.Verdict != mirror.Partial {
		t.Fatalf("the interrupted run is %v", s.Verdict)
	}
	harmPack(t, m, home+"/page03.html", 1, false)
	m.Damaged = true
	if len(problems(t, m)) == 0 {
		t.Fatal("Verify finds nothing")
	}
	w.Requests()
	s = m.Run()
	if wantVerdict(t, s, mirror.Complete, true); !s.Resumed {
		t.Error("the run did not resume")
	}
	asked := false
	for _, r := range w.Requests() {
		asked = asked || (r.URL == home+"/page03.html" && !r.Conditional)
	}
	if left := problems(t, m); !asked || len(left) > 0 {
		t.Errorf("requested %v, left are %v", asked, left)
	}
}
