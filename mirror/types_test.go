// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const noArchives = "url = \"" + home + "/\"\nscope = { kind = \"host\", not_types = [\"gz\"] }\n"

// What was left out because of its type is requested in one of eight runs, so that a file that has become
// another type is found.
func TestOtherTypeRests(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	links := ""
	for i := range 16 {
		links += fmt.Sprintf("<a href=%d.gz>x</a>", i)
		w.Set(fmt.Sprintf("%s/%d.gz", home, i), mirrortest.Page{Body: "zip"})
	}
	w.Set(home+"/", mirrortest.HTML("Home", links))
	m := mirrortest.New(t, w, noArchives)
	m.Run()
	w.Requests()
	for range 8 {
		m.Run()
	}
	requests := w.Asked()
	for i := range 16 {
		if n := requests[fmt.Sprintf("%s/%d.gz", home, i)]; n != 1 {
			t.Errorf("%d.gz: %d requests in eight runs", i, n)
		}
	}
	w.Set(home+"/3.gz", mirrortest.Page{
		Header: map[string]string{"Content-Type": "text/html"},
		Body:   "<title>Three</title>",
	})
	for range 8 {
		m.Run()
	}
	if got := m.Outcomes()[home+"/3.gz"]; !strings.HasPrefix(got, "+") {
		t.Errorf("a page that was a file: %q", got)
	}
}

// explain names the key, and when the URL is requested again; a plan after a change of the job says what
// leaves, and so does the run.
func TestTypesExplained(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=a.gz>a</a><a href=b.html>b</a>"))
	w.Set(home+"/a.gz", mirrortest.Page{Body: "zip"})
	w.Set(home+"/b.html", mirrortest.HTML("B", "b"))
	m := mirrortest.New(t, w, job())
	m.Run()
	m.SetJob(w, noArchives)
	if p := planOf(t, m); p.Asked != 2 || p.Spared != 1 || p.Reasons["out of scope"] != 1 {
		t.Errorf("plan: %+v", p)
	}
	w.Requests()
	s := m.Run()
	if n := w.Asked()[home+"/a.gz"]; n != 0 || s.Removed != 1 {
		t.Errorf("%d requests; %s", n, mirrortest.Text(s))
	}
	m.Site(func(s *store.Site) {
		v, err := report.Load(m.Job, s, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		x, err := v.Explain(t.Context(), nil, home+"/a.gz")
		if err != nil {
			t.Fatal(err)
		}
		const want = "the file is application/gzip, which scope.not_types leaves out"
		if x.Answer != "not mirrored: out of scope: "+want {
			t.Errorf("answer %q", x.Answer)
		}
		rules := strings.Join(x.Rules, "; ")
		if !strings.Contains(rules, "type: "+want+"; links to it lead to the origin; run ") {
			t.Errorf("rules %q", rules)
		}
	})
}

// What a new rule about types removes is no loss. What the site turns into a type that is not wanted is one.
func TestTypesThatLeave(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	links := ""
	for i := range 20 {
		links += fmt.Sprintf("<a href=%d.gz>x</a><a href=%d.html>x</a>", i, i)
		w.Set(fmt.Sprintf("%s/%d.gz", home, i), mirrortest.Page{Body: fmt.Sprint("gz", i)})
		w.Set(fmt.Sprintf("%s/%d.html", home, i), mirrortest.HTML(fmt.Sprint(i), fmt.Sprint("page ", i)))
	}
	w.Set(home+"/", mirrortest.HTML("Home", links))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	m.SetJob(w, noArchives)
	m.Site(func(s *store.Site) {
		l, err := report.LeavingOf(m.Job, s)
		if err != nil || l.Refused != 20 {
			t.Errorf("before the run: %+v, %v", l, err)
		}
	})
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "20 files left because the job changed")
	for i := range 20 {
		page := w.Page(fmt.Sprintf("%s/%d.html", home, i))
		page.Header["Content-Type"], page.NoTag = "application/gzip", true
		w.Set(fmt.Sprintf("%s/%d.html", home, i), page)
	}
	s = m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	wantText(t, s, "20 of 21 files would be dropped")
}

// A run that was interrupted before a file that a page needs came again resumes with it.
func TestNeededTypeOutlivesInterruption(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=big.jpg>big</a> <a href=p.html>p</a>"))
	w.Set(home+"/big.jpg", mirrortest.Page{Body: "jpg"})
	w.Set(home+"/p.html", mirrortest.HTML("P", "<img src=big.jpg>"))
	m := mirrortest.New(t, w, "url = \""+home+"/\"\nscope.types = \"pdf\"\n")
	m.Set("polite.connections", "1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	w.Hook(func(r *http.Request) {
		if r.URL.Path == "/big.jpg" {
			if n++; n == 2 {
				cancel()
			}
		}
	})
	if s, _ := m.RunWith(ctx, func(*mirror.Options) {}); s == nil || s.Verdict != mirror.Partial || n != 2 {
		t.Fatalf("%d requests; %+v", n, s)
	}
	wantVerdict(t, m.Run(), mirror.Complete, true)
	wantPaths(t, m, "big.jpg", "index.html", "p.html")
}

// A page whose answer has no type is shown by browsers as a page. From the disk they show it only under a
// name that says so.
func TestPageWithoutType(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	none := map[string]string{"Content-Type": ""}
	page := mirrortest.Page{Header: none, Body: "<!DOCTYPE html>\n<title>Foo</title><a href=/LICENSE>x</a>"}
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=wiki/Foo>Foo</a>"))
	w.Set(home+"/wiki/Foo", page)
	w.Set(home+"/LICENSE", mirrortest.Page{Header: none, Body: "All rights\n"})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	tree := m.Tree()
	if got := tree["wiki/Foo.html"]; !strings.Contains(got, "href=../LICENSE>") {
		t.Errorf("the page is %q", got)
	}
	if !strings.Contains(tree["index.html"], "href=wiki/Foo.html>") || tree["LICENSE"] == "" {
		t.Error(tree["index.html"])
	}
	if s := m.Run(); s.Published {
		t.Error("a run without changes published")
	}
	page.Body += "changed"
	w.Set(home+"/wiki/Foo", page)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := m.Tree()["wiki/Foo.html"]; !strings.HasSuffix(got, "changed") {
		t.Errorf("the changed page is %q", got)
	}
}
