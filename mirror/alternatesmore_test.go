package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
	"mirrord/store"
)

// The job names the site without www, which leads to it: replicas stand for the place where the pages are.
func TestAlternatesOfASiteThatRedirects(t *testing.T) {
	const short, www = "http://h.example", "http://www.h.example"
	w := mirrortest.Start(t)
	pages := handbook(24)
	w.SetAll(www, pages)
	w.Set(short+"/", mirrortest.Redirect(www+"/"))
	replicate(w, pages)
	m := mirrortest.New(t, w, fmt.Sprintf("url = %q\nscope = \"domain\"\nalternates = [%q]\n", short+"/", copyBase))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, copyBase+" was tested and is asked when the origin fails (level 1 by 19 of 19 tests")
	for p := range pages {
		w.Remove(www + p)
	}
	there := maps.Clone(pages)
	there["/p03.html"] = mirrortest.HTML("Page 3", "<p>news "+prose(3, 7))
	replicate(w, there)
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Alternates[copyBase] < 24 || s.Foreign != 1 || s.Changed != 1 {
		t.Errorf("%v, %d foreign, %d changed\n%s", s.Alternates, s.Foreign, s.Changed, mirrortest.Text(s))
	}
	if x := explanation(t, m, www+"/p03.html"); !strings.Contains(strings.Join(x.Rules, "\n"), copyBase+"p03.html is asked") {
		t.Errorf("explained as %q", x.Rules)
	}
}

// A replica that sends all who ask to another place has to be named by that.
func TestAlternateThatRedirectsElsewhere(t *testing.T) {
	const moved = "http://new.example.net/pub/"
	w := mirrortest.Start(t)
	pages := handbook(24)
	w.SetAll(home, pages)
	for p, page := range pages {
		w.Set(copyBase+p[1:], mirrortest.Redirect(moved+p[1:]))
		w.Set(moved+p[1:], page)
	}
	m := mirrortest.New(t, w, withAlternates())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, copyBase+" redirects to "+moved+": nothing is taken from there unless alternates names that place")
	takeDown(w, pages)
	w.Requests()
	s = m.Run()
	if s.Verdict != mirror.Partial || s.Published || len(s.Alternates) != 0 {
		t.Errorf("%v\n%s", s.Alternates, mirrortest.Text(s))
	}
	wantText(t, s, "redirects to "+moved)
}

// What a replica has of an older date than the mirror takes nothing back; the page that it has of a later one is taken.
func TestAlternateWithOlderCopies(t *testing.T) {
	w := mirrortest.Start(t)
	pages := handbook(24)
	dated := func(p mirrortest.Page, day int) mirrortest.Page {
		p.Header = map[string]string{"Content-Type": "text/html", "Last-Modified": time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat)}
		return p
	}
	for p, page := range pages {
		if strings.HasSuffix(p, ".html") {
			pages[p] = dated(page, 10)
		}
	}
	w.SetAll(home, pages)
	replicate(w, pages)
	m := mirrortest.New(t, w, withAlternates())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	takeDown(w, pages)
	there := maps.Clone(pages)
	there["/p03.html"] = dated(mirrortest.HTML("Page 3", "<p>olds "+prose(3, 7)), 9)
	there["/p04.html"] = dated(mirrortest.HTML("Page 4", "<p>news "+prose(4, 7)), 11)
	replicate(w, there)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	tree := m.Tree()
	if strings.Contains(tree["p03.html"], "olds") || !strings.Contains(tree["p04.html"], "news") || s.Foreign != 1 || s.Changed != 1 {
		t.Errorf("%d foreign, %d changed\n%s", s.Foreign, s.Changed, mirrortest.Text(s))
	}
	wantText(t, s, "older copies of "+copyBase+" than the mirror has were not taken")
	if rec := resource(t, m, home+"/p03.html"); rec.Source != "" || rec.ETag == "" {
		t.Errorf("the page that stayed is of %q, ETag %q", rec.Source, rec.ETag)
	}
}

// A test that came to nothing does not take the place of one that did, as long as that holds.
func TestKeepPair(t *testing.T) {
	st := reopen(t, t.TempDir())
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	p := store.PairRecord{Base1: "http://a.example/", Base2: "http://b.example/", Tested: at, Level: "1", Mirrors: true, Confident: true, Equal: true}
	for _, c := range []struct {
		days  int
		level string
		want  string
	}{{0, "1", "1"}, {1, "no answer", "1"}, {2, "mismatch", "mismatch"}, {3, "no answer", "mismatch"}, {40, "no answer", "no answer"}, {41, "DNS failure", "DNS failure"}} {
		p.Tested, p.Level, p.Mirrors = at.Add(time.Duration(c.days)*24*time.Hour), c.level, c.level == "1"
		if err := mirror.KeepPair(st, p); err != nil {
			t.Fatal(err)
		}
		if got, _, err := st.LoadPair(p.Base1, p.Base2); err != nil || got.Level != c.want {
			t.Errorf("day %d: %s is kept, want %s; %v", c.days, got.Level, c.want, err)
		}
	}
}
