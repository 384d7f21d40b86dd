// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// folders is a site of directories of pages behind an entry page that links to all of them.
type folders struct {
	w     *mirrortest.Web
	pages map[string]int    // directory -> pages in it
	also  map[string]string // page -> what it has beside its text
	text  map[string]string
}

func newFolders(t *testing.T, pages map[string]int) *folders {
	f := &folders{
		w:     mirrortest.Start(t),
		pages: pages,
		also:  map[string]string{},
		text:  map[string]string{},
	}
	f.serve()
	return f
}

func (f *folders) path(dir string, i int) string { return fmt.Sprintf("/%s/p%02d.html", dir, i) }

func (f *folders) serve() {
	var links strings.Builder
	for _, d := range slices.Sorted(maps.Keys(f.pages)) {
		for i := range f.pages[d] {
			p := f.path(d, i)
			fmt.Fprintf(&links, "<a href=%q>x</a>", p)
			f.w.Set(home+p, mirrortest.HTML("Page "+p, "text "+f.text[p]+f.also[p]))
		}
	}
	f.w.Set(home+"/", mirrortest.HTML("Home", f.text["/"]+links.String()+f.also["/"]))
}

// change gives pages another text.
func (f *folders) change(text string, paths ...string) {
	for _, p := range paths {
		f.text[p] = text
	}
	f.serve()
}

// asked counts the requests since the last call by directory.
func (f *folders) asked() map[string]int {
	out := map[string]int{}
	for u, n := range f.w.Asked() {
		p := strings.TrimPrefix(u, home)
		if i := strings.LastIndexByte(p, '/'); i > 0 {
			out[p[1:i]] += n
		} else {
			out[""] += n
		}
	}
	return out
}

// silent is a job with the policy near and a history in which the directory "old" never changed while "news"
// did.
func silent(t *testing.T, lines ...string) (*folders, *mirrortest.Mirror) {
	f := newFolders(t, map[string]int{"old": 20, "news": 5})
	m := mirrortest.New(t, f.w,
		job(append([]string{`policy = "near"`, "near.expire = 0", "full_runs = 1", "limits.max_delete = 1.0"},
			lines...)...))
	for i := range 7 {
		m.Run()
		f.change(fmt.Sprint("edition ", i), f.path("news", i%5))
	}
	f.asked()
	return f, m
}

// last is what the last run has observed.
func last(t *testing.T, m *mirrortest.Mirror) record.Observation {
	o := observations(t, m)
	return o[len(o)-1]
}

func TestNearSkipsAndSkippedIsNotObserved(t *testing.T) {
	f, m := silent(t)
	before := m.Stamps()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true) // one page of news changed
	if n := f.asked()["old"]; n != 2 {
		t.Errorf("%d requests in the skipped directory, want 2 audits", n)
	}
	if s.Skipped != 18 || s.Spared["rule"] != 18 || s.Policy != "near" {
		t.Errorf("skipped %d, spared %v by %q", s.Skipped, s.Spared, s.Policy)
	}
	wantText(t, s, "skipped 18 by policy near: 18 in directories that rules skip")
	o := last(t, m)
	if !o.Complete || o.Asked.Len()+o.Spared.Len() != 8+2-2 { // home, news, 2 audits
		t.Errorf("observed %d and %d, complete %v", o.Asked.Len(), o.Spared.Len(), o.Complete)
	}
	if o.Audited.Len() != 2 {
		t.Errorf("%d audits noted, want 2", o.Audited.Len())
	}
	after := m.Stamps()
	for p, x := range before {
		if strings.HasPrefix(p, "old/") && after[p] != x {
			t.Errorf("%s was touched", p)
		}
	}
	rec := recordOf(t, m, home+f.path("old", 7))
	if text := explain(t, m, home+f.path("old", 7)); rec.Outcome.String() == "skipped" ||
		!strings.Contains(text, "rule") {
		t.Errorf("outcome %v; explain says\n%s", rec.Outcome, text)
	}
}

func TestAuditThatFailsVisitsTheDirectory(t *testing.T) {
	f, m := silent(t)
	for i := range 20 {
		f.text[f.path("old", i)] = "rebuilt"
	}
	f.serve()
	s := m.Run()
	if n := f.asked()["old"]; n != 20 || s.Changed < 20 || s.Skipped != 0 {
		t.Errorf("%d of 20 pages were asked, %d changed, %d skipped\n%s", n, s.Changed, s.Skipped,
			mirrortest.Text(s))
	}
	if s.Planned["audit"] == 0 || s.Planned["refuted"] == 0 {
		t.Errorf("planned %v", s.Planned)
	}
}

func TestNewURLInASkippedDirectoryIsFetched(t *testing.T) {
	f, m := silent(t)
	f.also[f.path("news", 0)] = `<a href="/old/new.html">n</a>`
	f.change("links to a new page", f.path("news", 0))
	f.w.Set(home+"/old/new.html", mirrortest.HTML("New", `<a href="/old/deep/newer.html">n</a>`))
	f.w.Set(home+"/old/deep/newer.html", mirrortest.HTML("Newer", "text"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	tree := m.Tree()
	if tree["old/new.html"] == "" || tree["old/deep/newer.html"] == "" || s.Skipped == 0 {
		t.Errorf("new pages are missing: %q, skipped %d", m.Paths(), s.Skipped)
	}
}

// A link that moves from a page that is asked to one that is skipped: the page that it links to must not be
// dropped.
func TestNothingIsDroppedForWhatWasSkipped(t *testing.T) {
	f, m := silent(t, "limits.max_skip = 3")
	f.pages["news"] = 4 // p04 is no longer linked from the entry page
	f.text["/"] = "without the last news"
	moved := home + f.path("news", 4)
	f.also[f.path("old", 19)] = `<a href="/news/p04.html">moved here</a>`
	f.also[f.path("old", 18)] = `<a href="/news/p04.html">and here</a>`
	f.serve()
	s := m.Run()
	if _, there := m.Tree()["news/p04.html"]; !there {
		t.Fatalf("it left although what links to it was skipped:\n%s", mirrortest.Text(s))
	}
	wantText(t, s, "stays until every document was looked at again")
	for range 5 {
		s = m.Run()
		if _, there := m.Tree()["news/p04.html"]; !there {
			t.Fatalf("it left although it is linked:\n%s", mirrortest.Text(s))
		}
	}
	if text := mirrortest.Text(s); strings.Contains(text, "stay until") {
		t.Errorf("all was looked at meanwhile:\n%s", text)
	}
	// When no page links to it, it leaves as soon as all pages were requested.
	f.also = map[string]string{}
	f.serve()
	there := true
	for i := 0; there && i < 6; i++ {
		m.Run()
		_, there = m.Tree()["news/p04.html"]
	}
	if there {
		t.Error("it stays for ever")
	}
	_ = moved
}

func TestExplainSaysWhatThePlanAsks(t *testing.T) {
	f := newFolders(t, map[string]int{"old": 6, "news": 3})
	m := mirrortest.New(t, f.w, job(`policy = "adaptive"`, "full_runs = 1", "adaptive.price = 0.0"))
	for i := range 5 {
		m.Run()
		f.change(fmt.Sprint("edition ", i), f.path("news", i%3))
	}
	if text := explain(t, m, home+"/"); !strings.Contains(text, "asked: an entry point") {
		t.Errorf("the entry point: %s", text)
	}
	number := regexp.MustCompile(`asked: .*expected (\S+) changes.* price (\S+)`)
	for _, p := range []string{f.path("old", 3), f.path("news", 0), f.path("news", 2)} {
		text := explain(t, m, home+p)
		n := number.FindStringSubmatch(text)
		if n == nil || n[1] == "0" || n[2] != "0" {
			t.Errorf("%s: numbers %q, want changes above 0 and price 0, in\n%s", p, n, text)
		}
	}
}

func TestPlannedRunIsResumed(t *testing.T) {
	f, m := silent(t, "polite.connections = 1")
	s := interrupted(t, m, f.w, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/news/") })
	if s.Verdict != mirror.Partial {
		t.Fatalf("%v", s.Verdict)
	}
	f.asked()
	var text strings.Builder
	if p := planOf(t, m); p.WriteText(&text, false) != nil || !strings.Contains(text.String(), "has begun: ") {
		t.Errorf("plan of an unfinished run:\n%s", text.String())
	}
	s = m.Run()
	if n := f.asked()["old"]; !s.Resumed || n > 2 || s.Verdict != mirror.Complete || s.Skipped < 17 {
		t.Errorf("resumed %v, %d old pages asked\n%s", s.Resumed, n, mirrortest.Text(s))
	}
}

func TestSkippedPagesThatRobotsForbidLeave(t *testing.T) {
	f, m := silent(t)
	f.w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /old/p1\n"})
	s := m.Run()
	if s.Removed != 10 || s.Skipped > 10 {
		t.Errorf("%d of 10 forbidden pages left, %d skipped\n%s", s.Removed, s.Skipped, mirrortest.Text(s))
	}
	for u := range f.w.Asked() {
		if strings.Contains(u, "/old/p1") {
			t.Errorf("%s was asked", u)
		}
	}
}

// A run for single URLs requests these and the entry point, finds what changed there, and is no look at the
// whole site.
func TestRunForSingleURLs(t *testing.T) {
	for _, policy := range []string{"full", "adaptive", "near"} {
		f := newFolders(t, map[string]int{"old": 20, "news": 5})
		m := mirrortest.New(t, f.w, job(`policy = "`+policy+`"`))
		m.Run()
		f.change("another text", f.path("old", 3), f.path("old", 4))
		f.also["/"] = `<a href="/new.html">new</a>`
		f.w.Set(home+"/new.html", mirrortest.HTML("New", "new"))
		f.serve()
		f.asked()
		old, fresh := home+f.path("old", 3), home+"/unlinked.html"
		f.w.Set(fresh, mirrortest.HTML("Unlinked", "unlinked"))
		m.Job.Only = []site.URL{site.Canonical(old), site.Canonical(fresh)}
		s := m.Run()
		asked := f.w.Asked()
		delete(asked, home+"/robots.txt")
		want := map[string]int{home + "/": 1, old: 1, fresh: 1, home + "/new.html": 1}
		if !maps.Equal(asked, want) {
			t.Errorf("%s: asked %v", policy, asked)
		}
		if s.Changed != 2 || s.Verdict != mirror.Complete {
			t.Errorf("%s: %s", policy, mirrortest.Text(s))
		}
		if last(t, m).Complete {
			t.Errorf("%s: it counts as a look at all", policy)
		}
		m.Job.Only = nil
		if s := m.Run(); s.Changed != 1 || s.Asked != s.Known {
			t.Errorf("%s, afterwards: %s", policy, mirrortest.Text(s))
		}
	}
}

// A run for a page that robots.txt forbids says so, and names the line.
func TestRunForForbiddenURL(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", "text"))
	w.Set(home+"/robots.txt", mirrortest.Page{Type: "text/plain", Body: "User-agent: *\nDisallow: /no/\n"})
	m := mirrortest.New(t, w, job())
	m.Run()
	m.Job.Only = []site.URL{site.Canonical(home + "/no/page.html")}
	const want = "forbidden by the site: robots.txt line 2: Disallow: /no/ (1, such as " + home + "/no/page.html)"
	if s := m.Run(); !strings.Contains(mirrortest.Text(s), want) || s.Verdict != mirror.Complete {
		t.Errorf("want %q: %s", want, mirrortest.Text(s))
	}
}

// The default policy takes the rules of a site as evidence, and explain says which.
func TestAdaptiveCitesRules(t *testing.T) {
	f, m := silent(t, `adaptive.learn_for = "0s"`, "adaptive.price = 0.05")
	m.Set("policy", `"adaptive"`)
	text := explain(t, m, home+f.path("old", 3))
	silent := regexp.MustCompile(`did not change in (\d+) runs in which the one above it did`).FindStringSubmatch(text)
	if silent == nil || !strings.Contains(text, "evidence is the rule / => not old") {
		t.Errorf("a page of a silent directory: %s", text)
	}
	if text := explain(t, m, home+f.path("news", 3)); strings.Contains(text, "evidence is the rule") {
		t.Errorf("a page of a busy directory: %s", text)
	}
}
