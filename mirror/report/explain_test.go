// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/internal/mirrortest"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
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
		x, err := explain(t, m.Job, s, mirror.NewRobotsStore(st), home+c.path)
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
