// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// The share of failures is that of the whole run: when a run that was interrupted resumes, the few URLs that
// failed are asked again, and the many that did not are not.
func TestFailuresOfAResumedRun(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 90)
	for i := range 5 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Status(500))
	}
	m := mirrortest.New(t, w, job("limits.max_failures = 0.1", "polite.connections = 1"))
	s := interrupted(t, m, w, func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, "/page88.html")
	})
	if s.Verdict != mirror.Partial {
		t.Fatalf("the interrupted run is %v", s.Verdict)
	}
	s = m.Run()
	if !s.Resumed {
		t.Fatal("the second run did not resume the first")
	}
	wantVerdict(t, s, mirror.Complete, true)
}

// A record with a number that no URL has is damage, and no panic.
func TestRecordWithAWrongNumber(t *testing.T) {
	for name, rec := range map[string]record.Resource{
		"its own":    {ID: 1 << 20, Outcome: site.Gone},
		"target":     {Outcome: site.Redirected, Target: 1 << 20},
		"referrer's": {Outcome: site.Gone, Referrer: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 3)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			u, _, err := site.Parse(home + "/odd.html")
			if err != nil {
				t.Fatal(err)
			}
			st, err := store.OpenState(m.Dir, store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s, err := st.OpenSite("test")
			if err != nil {
				t.Fatal(err)
			}
			known, err := s.Records.Known()
			if err != nil {
				t.Fatal(err)
			}
			rec.URL = u
			err = s.Records.Commit(known, nil, []*record.Done{{Resource: rec}})
			if err := errors.Join(err, s.Close(), st.Close()); err != nil {
				t.Fatal(err)
			}
			m.Damaged = true
			if _, err := m.RunWith(t.Context(), func(*mirror.Options) {}); !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Targets of only a Link header are still reached when the job's rules change and stored documents are
// scanned again.
func TestLinkHeaderSurvivesNewRules(t *testing.T) {
	w := mirrortest.Start(t)
	p := mirrortest.HTML("Home", "text")
	p.Header["Link"] = `</next.html>; rel=next`
	w.Set(home+"/", p)
	w.Set(home+"/next.html", mirrortest.HTML("Next", "text"))
	m := mirrortest.New(t, w, job("limits.max_delete = 1.0"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "index.html", "next.html")
	m.Set("obey_nofollow", "false")
	wantVerdict(t, m.Run(), mirror.Complete, false)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	wantPaths(t, m, "index.html", "next.html")
}

// What robots.txt forbids from now on leaves the mirror, although evidence says that it is as it was.
func TestEvidenceDoesNotKeepWhatRobotsForbid(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	for i := range 20 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Header: map[string]string{"Content-Type": "text/html", "Cache-Control": "max-age=86400"},
			Body:   fmt.Sprintf("<title>%d</title>", i),
		})
	}
	m := mirrortest.New(t, w, job("evidence.expiry = true", "limits.max_delete = 1.0"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /page1\n"})
	w.Requests()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Removed != 10 || s.Spared["expiry"] == 0 {
		t.Errorf("%d of 10 forbidden pages left, spared %v", s.Removed, s.Spared)
	}
	for u := range w.Asked() {
		if strings.Contains(u, "/page1") {
			t.Errorf("%s was asked", u)
		}
	}
}

// A run that was interrupted after its listings were read resumes with their statements.
func TestEvidenceOfAResumedRun(t *testing.T) {
	w := mirrortest.Start(t)
	top, sub := archive(100)
	top.serve(w)
	sub.serve(w)
	m := mirrortest.New(t, w, archiveJob+"polite.connections = 1\n")
	wantVerdict(t, m.Run(), mirror.Complete, true)
	s := interrupted(t, m, w, func(r *http.Request) bool {
		return strings.HasSuffix(r.URL.Path, ".txt") && r.URL.Path != "/robots.txt"
	})
	if s.Verdict != mirror.Partial {
		t.Fatalf("the interrupted run is %v", s.Verdict)
	}
	w.Requests()
	spared := s.Spared["listing"] // what was spared before the run noticed
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	if n := len(w.Requests()); !s.Resumed || n > 10 || spared+s.Spared["listing"] < 180 {
		t.Errorf("resumed %v, %d requests, spared %d and %v", s.Resumed, n, spared, s.Spared)
	}
}

// A mirror that has as many files as the job allows is kept fresh: the limit is on what enters.
func TestFullMirrorStaysFresh(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job("limits.max_files = 10"))
	wantText(t, m.Run(), "limits.max_files = 10 is reached")
	before := m.Tree()
	m.Set("limits.max_files", "8")
	for i := range 20 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.HTML(fmt.Sprint("Page ", i), "second"))
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if len(m.Tree()) != len(before) || s.Changed != len(before)-1 {
		t.Errorf("%d files of %d, %d changed\n%s", len(m.Tree()), len(before), s.Changed, mirrortest.Text(s))
	}
}
