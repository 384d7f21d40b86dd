// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

const elsewhereBase = "http://manual.example.net/v1/"

// runOther runs the job that has the collection, on the same state.
func runOther(t testing.TB, w *mirrortest.Web, m *mirrortest.Mirror) *mirror.Summary {
	t.Helper()
	return runNamed(t, w, m, "manual", fmt.Sprintf("url = %q\n", elsewhereBase))
}

// runNamed runs another job on the state of m, at its time.
func runNamed(t testing.TB, w *mirrortest.Web, m *mirrortest.Mirror, name, toml string) *mirror.Summary {
	t.Helper()
	j, err := jobfile.Parse(name, name+".toml",
		[]byte(fmt.Sprintf("policy = \"full\"\nproxy = %q\nlimits.retries = 0\nlimits.min_free = 0\n"+
			"polite.delay = \"0s\"\npolite.factor = 0.0\npolite.max_delay = \"50ms\"\n%s",
			w.URL, toml)))
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := source.NewClient(j, m.World, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sum, err := mirror.Run(context.Background(), mirror.Options{
		Confirm: -1,
		Job:     j,
		State:   st,
		Site:    s,
		Fetcher: c,
		Robots:  source.NewRobots(j, c, nil),
		Hosts:   new(fetch.Hosts),
		Now:     m.Now,
	})
	if err := errors.Join(err, s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	return sum
}

// reuseWorld is a site with a handbook under /docs/ that is also at elsewhereBase.
func reuseWorld(
	t *testing.T, policy string,
) (w *mirrortest.Web, m *mirrortest.Mirror, pages map[string]mirrortest.Page) {
	w = mirrortest.Start(t)
	pages = handbook(30)
	pages["/big.png"] = mirrortest.Page{Body: strings.Repeat("0123456789abcdef", 40_000)}
	pages["/p01.html"] = mirrortest.HTML("Page 1", `<a href="big.png">b</a><p>`+prose(1, 0))
	for p, page := range pages {
		w.Set(home+"/docs"+p, page)
		w.Set(elsewhereBase+p[1:], page)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", `<a href="docs/">docs</a> <a href="own.html">own</a>`))
	w.Set(home+"/own.html", mirrortest.HTML("Own", "<p>ours"))
	w.Set(home+"/docs/p02.html", pages["/p02.html"])
	m = mirrortest.New(t, w, job("policy = \""+policy+"\"")+
		fmt.Sprintf("[reuse]\njob = \"manual\"\nfrom = %q\nat = %q\n", elsewhereBase, home+"/docs/"))
	return w, m, pages
}

func TestReuse(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		t.Run(policy, func(t *testing.T) { testReuse(t, policy) })
	}
}

func testReuse(t *testing.T, policy string) {
	w, m, _ := reuseWorld(t, policy)
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	w.Requests()
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	asked := 0
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, home+"/docs/") {
			asked++
		}
	}
	if s.Reused != 33 || s.Files != 35 || asked != 8 || s.Foreign != 0 {
		t.Errorf("%d reused of %d files, %d requests for the collection, %d foreign; want 33, 35, 8, 0\n%s",
			s.Reused, s.Files, asked, s.Foreign, mirrortest.Text(s))
	}
	wantText(t, s, "taken from the mirror of manual")
	there := map[string]int64{}
	m.Site(func(s *store.Site) {
		other, err := reopen(t, m.Dir).ViewSite("manual")
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := other.Records.Resources(func(r *record.Resource) error {
			there[r.URL.String()] = r.Checked
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	if rec := recordOf(t, m, home+"/docs/p05.html"); rec.Checked == 0 ||
		rec.Checked != there[elsewhereBase+"p05.html"] {
		t.Errorf("a file was looked at %d, where it is from %d", rec.Checked, there[elsewhereBase+"p05.html"])
	}
	if x := explanation(t, m,
		home+"/docs/p05.html"); x.Answer != "mirrored, taken from the mirror of job manual" ||
		x.Source != elsewhereBase+"p05.html" || !strings.Contains(x.Last, "of the mirror of job manual") {
		t.Errorf("explained as %+v", x)
	}
	one, err := os.Stat(filepath.Join(m.Dir, "sites/test/current/docs/big.png"))
	if err != nil {
		t.Fatal(err)
	}
	trees, err := filepath.Glob(filepath.Join(m.Dir, "sites/manual/current/v1/big.png"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("%q, %v", trees, err)
	}
	if two, err := os.Stat(trees[0]); err != nil || !os.SameFile(one, two) {
		t.Errorf("the large file lies twice on the disk: %v", err)
	}

	// Nothing changed: nothing is asked of the collection, and no file is touched.
	before := m.Stamps()
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, false)
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, home+"/docs/") {
			t.Errorf("%s was asked", r.URL)
		}
	}
	if s.Reused != 33 || !maps.Equal(before, m.Stamps()) {
		t.Errorf("%d reused\n%s", s.Reused, mirrortest.Text(s))
	}

	// The collection changes at both places; a page leaves it.
	news := mirrortest.HTML("Page 7", `<p>news `+prose(7, 4)+`<a href="new.html">n</a>`)
	for _, base := range []string{elsewhereBase, home + "/docs/"} {
		w.Set(base+"p07.html", news)
		w.Set(base+"new.html", mirrortest.HTML("New", "<p>"+prose(77, 0)))
		w.Set(base+"p03.html", mirrortest.Status(404))
	}
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if tree := m.Tree(); !strings.Contains(tree["docs/p07.html"], "news") || tree["docs/new.html"] == "" ||
		tree["docs/p03.html"] != "" {
		t.Errorf("added %d, changed %d, removed %d\n%s", s.Added, s.Changed, s.Removed, mirrortest.Text(s))
	}
}

// changeAll makes each page of the site another file than the collection has.
func changeAll(w *mirrortest.Web, pages map[string]mirrortest.Page) {
	for i := range 30 {
		p := fmt.Sprintf("/p%02d.html", i)
		page := pages[p]
		page.Body += "<!-- of the site -->"
		w.Set(home+"/docs"+p, page)
	}
}

// A collection of which one file differs is not reused: what was taken is asked of the site.
func TestReuseOfWhatDiffers(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	at := time.Now()
	m.Now = func() time.Time { return at }
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	changeAll(w, pages)
	s := m.Run()
	if s.Reused == 0 || s.Published {
		t.Fatalf("the verification holds for a week\n%s", mirrortest.Text(s))
	}
	at = at.Add(8 * 24 * time.Hour)
	w.Requests()
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "was another file than the mirror of manual has")
	if tree := m.Tree(); s.Reused != 0 || !strings.Contains(tree["docs/p09.html"], "of the site") {
		t.Errorf("%d reused\n%s", s.Reused, mirrortest.Text(s))
	}
}

// While the other mirror is being written, it is reused as of its last version: what a run has found and not
// published is requested from the site.
func TestReuseOfAMirrorThatIsWritten(t *testing.T) {
	w, m, _ := reuseWorld(t, "full")
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	st := reopen(t, m.Dir)
	s, err := st.OpenSite("manual")
	if err != nil {
		t.Fatal(err)
	}
	u, _, err := site.Parse(elsewhereBase + "p05.html")
	if err != nil {
		t.Fatal(err)
	}
	rec, ok, err := s.Records.Get(u)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	rec.Changed++ // by the run that resumes
	if err := errors.Join(s.Records.Commit(0, nil, []*record.Done{{Resource: rec}}),
		s.Records.Fold(facts.Folding{
			Version: rec.Changed,
			Pending: func(uint32) bool { return false },
			Path:    func(*record.Resource) string { return "" },
		})); err != nil {
		t.Fatal(err)
	}
	w.Requests()
	sum, err := m.RunWith(context.Background(), func(o *mirror.Options) { o.State = reopen(t, m.Dir) })
	if err := errors.Join(err, s.Close(), st.Close()); err != nil {
		t.Fatal(err)
	}
	wantVerdict(t, sum, mirror.Complete, true)
	asked := map[string]bool{}
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, home+"/docs/") {
			asked[r.URL] = true
		}
	}
	if sum.Reused != 32 || len(asked) != 9 || !asked[home+"/docs/p05.html"] {
		t.Errorf("%d reused, requests for %v; want 32, 9 with p05.html\n%s",
			sum.Reused, asked, mirrortest.Text(sum))
	}
}

// reopen opens a state that does not wait for others.
func reopen(t testing.TB, dir string) *store.State {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}
