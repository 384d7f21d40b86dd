// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const home = "http://home.test"

func TestExplain(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=a.html>a</a> <a href=old.html>old</a> <a href=gone.html>gone</a> <a href=/private/x.html>p</a>
		<a href=/cgi-bin/q>q</a> <a href=/out/y.html>y</a>`))
	w.Set(home+"/a.html", mirrortest.HTML("A", `<a href=b.html>b</a>`))
	w.Set(home+"/b.html", mirrortest.HTML("B", "text"))
	w.Set(home+"/old.html", mirrortest.Redirect("/a.html"))
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /private/\n"})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\nexclude = [\"/out/**\"]\n")
	if sum := m.Run(); sum.Verdict != mirror.Complete {
		t.Fatalf("%+v", sum)
	}

	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		path, answer, rule string
		mirrored           bool
	}{
		{"/", "mirrored", "scope", true},
		{"/b.html#part", "mirrored", "fragment", true},
		{"/old.html", "lead to where it redirects", "scope", false},
		{"/gone.html", "gone, status 404", "scope", false},
		{"/private/x.html", "disallowed: robots.txt line 2", "scope", false},
		{"/cgi-bin/q", "cgi-bin", "program", false},
		{"/out/y.html", "excluded", "scope", false},
		{"/never-linked.html", "no document of the mirror links to it", "scope", false},
	} {
		x, err := explain(t, m.Job, s, st.Shared, home+c.path)
		if err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		if x.Mirrored != c.mirrored || !strings.Contains(x.Answer, c.answer) ||
			!slices.ContainsFunc(x.Rules, func(r string) bool {
				return strings.Contains(r, c.rule)
			}) {
			t.Errorf("%s: mirrored %v, %q, rules %q; want %v, %q, a rule with %q", c.path, x.Mirrored, x.Answer,
				x.Rules, c.mirrored, c.answer, c.rule)
		}
	}
	x, err := explain(t, m.Job, s, nil, home+"/b.html")
	if err != nil || !slices.Equal(x.Found, []string{home + "/a.html", home + "/"}) {
		t.Errorf("b.html was found in %q (%v), want by a.html from the entry", x.Found, err)
	}
	if _, err := explain(t, m.Job, nil, nil, home+"/"); err != nil {
		t.Errorf("a site that was never retrieved: %v", err)
	}
	if _, err := explain(t, m.Job, nil, nil, "mailto:x@example.org"); err == nil {
		t.Error("mailto: is no web URL, and explain says nothing of it")
	}
}

// Of a page that stays although the document it was found by no longer links to it, that is said.
func TestExplainUnlinked(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=a.html>a</a> <a href=b.html>b</a>`))
	w.Set(home+"/a.html", mirrortest.HTML("A", `<a href=b.html>b</a>`))
	w.Set(home+"/b.html", mirrortest.HTML("B", "text"))
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n")
	m.Run()
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=a.html>a</a>`))
	m.Run()
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := explain(t, m.Job, s, nil, home+"/b.html")
	want := "mirrored; " + home + "/, where it was found, no longer links to it"
	if err != nil || x.Answer != want || x.Found != nil {
		t.Errorf("%q, found in %q (%v); want %q", x.Answer, x.Found, err, want)
	}
	if x, err = explain(t, m.Job, s, nil, home+"/a.html"); err != nil || x.Answer != "mirrored" {
		t.Errorf("%q (%v)", x.Answer, err)
	}
}

func explain(
	t *testing.T, j *job.Job, s *store.Site, rb fetch.RobotsStore, url string,
) (*report.Explanation, error) {
	t.Helper()
	v, err := report.Load(j, s, time.Now())
	if err != nil {
		return nil, err
	}
	return v.Explain(t.Context(), rb, url)
}

// An explanation of a large site reads what it names and no table, and says the same but for the plan.
func TestExplainWithoutPlan(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href=dir/>d</a> <a href=dir/index.html>i</a> <a href=r1>r</a>
		<a href=out>o</a> <a href=a.html>a</a> <a href=c.html>c</a> <a href=file.gz>b</a>`))
	page := mirrortest.HTML("Dir", "what this directory has")
	w.Set(home+"/dir/", page)
	w.Set(home+"/dir/index.html", page)
	w.Set(home+"/r1", mirrortest.Redirect("/r2"))
	w.Set(home+"/r2", mirrortest.Redirect("/b.html"))
	w.Set(home+"/out", mirrortest.Redirect("http://elsewhere.test/"))
	w.Set(home+"/a.html", mirrortest.HTML("A", `<a href=b.html>b</a>`))
	w.Set(home+"/b.html", mirrortest.HTML("B", "text"))
	w.Set(home+"/c.html", mirrortest.HTML("B", "text"))
	w.Set(home+"/file.gz", mirrortest.Page{Body: "\x00\x01"})
	m := mirrortest.New(t, w, "url = \""+home+"/\"\nscope = { kind = \"host\", not_types = [\"gz\"] }\n")
	for range 2 {
		if sum := m.Run(); sum.Verdict != mirror.Complete {
			t.Fatalf("%+v", sum)
		}
	}
	st, err := store.OpenState(m.Dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	isPlan := func(rule string) bool { return strings.HasPrefix(rule, "plan: ") }
	const answered, led, waits = "mirrored", "links to it lead to where it redirects", "explain --plan"
	for _, c := range []struct{ path, answer, redirect, file, plan string }{
		{"/dir/", answered, "", "dir/index.html", waits},
		{"/dir/index.html", answered, "", "dir/index.html", waits},
		{"/r1", led, home + "/b.html", "b.html", waits},
		{"/out", "not mirrored", "", "", ""},
		{"/b.html", answered, "", "b.html", waits},
		{"/c.html", answered, "", "c.html", waits},
		{"/file.gz", "not mirrored", "", "", ""},
		{"/unknown.html", "no document of the mirror links to it", "", "", ""},
	} {
		var said [2]*report.Explanation
		var plans [2]string
		for i, most := range []uint32{1 << 30, 0} {
			v, err := report.Open(m.Job, s, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			v.PlanUpTo = most
			if said[i], err = v.Explain(t.Context(), nil, home+c.path); err != nil {
				t.Fatal(err)
			}
			for _, rule := range said[i].Rules {
				if isPlan(rule) {
					plans[i] += rule
				}
			}
			said[i].Rules = slices.DeleteFunc(said[i].Rules, isPlan)
		}
		x := said[1]
		if !strings.Contains(x.Answer, c.answer) || x.Redirect != c.redirect || x.Path != c.file ||
			!strings.Contains(plans[1], c.plan) {
			t.Errorf("%s: %+v, plan %q; want %+v", c.path, x, plans[1], c)
		}
		whole := strings.Contains(plans[0], "the next run requests everything")
		if got, want := fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", said[0]); whole != (c.plan != "") ||
			!slices.Equal(x.Rules, said[0].Rules) || x.Answer != said[0].Answer ||
			!slices.Equal(x.Found, said[0].Found) {
			t.Errorf("%s: without the plan %s\nwith it %s, %q", c.path, got, want, plans[0])
		}
	}
}
