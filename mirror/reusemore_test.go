// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/store/shared"
	"mirrord/testing/mirrortest"
)

// A job that reuses what another reuses of a third: the files are passed on, and none is asked of the sites
// in between but for the samples.
func TestReuseOfWhatIsReused(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	const second = "http://second.example.net/"
	for p, page := range pages {
		w.Set(second+"copy"+p, page)
	}
	w.Set(second, mirrortest.HTML("Second", `<a href="copy/">copy</a>`))
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true) // takes /docs/ of manual
	w.Requests()
	s := runNamed(t, w, m, "last", fmt.Sprintf("url = %q\n[reuse]\njob = \"test\"\nfrom = %q\nat = %q\n", second,
		home+"/docs/", second+"copy/"))
	wantVerdict(t, s, mirror.Complete, true)
	asked := 0
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, second+"copy/") {
			asked++
		}
	}
	if s.Reused != 33 || s.ReusedOf != "test" || asked != 8 {
		t.Errorf("%d reused of %s, %d asked; want 33, test, 8\n%s", s.Reused, s.ReusedOf, asked, mirrortest.Text(s))
	}
}

// The site does not want its files to be kept, which the other one did not say.
func TestReuseObeysTheSitesRobotsTag(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	for p, page := range pages {
		page.Header = map[string]string{"X-Robots-Tag": "noarchive"}
		if !strings.HasSuffix(p, ".png") {
			page.Header["Content-Type"] = "text/html"
		}
		w.Set(home+"/docs"+p, page)
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "came with X-Robots-Tag: noarchive")
	if s.Reused != 0 || s.Files != 2 {
		t.Errorf("%d reused, %d files\n%s", s.Reused, s.Files, mirrortest.Text(s))
	}
}

// The other mirror is gone for good, or cannot be used for longer than what was taken may stay as it is: the
// site is asked.
func TestReuseOfAMirrorThatIsGone(t *testing.T) {
	for _, removed := range []bool{true, false} {
		t.Run(fmt.Sprintf("removed %v", removed), func(t *testing.T) {
			w, m, pages := reuseWorld(t, "full")
			at := time.Now()
			m.Now = func() time.Time { return at }
			wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Tree()
			st := reopen(t, m.Dir)
			if removed {
				if err := st.RemoveSite("manual"); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := st.Shared.AddRun(shared.RunRecord{
					Site:    "manual",
					Started: at,
					Ended:   at,
					Verdict: "suspicious",
				}); err != nil {
					t.Fatal(err)
				}
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, false)
				wantText(t, s, "cannot be used in this run")
				at = at.Add(31 * 24 * time.Hour)
			}
			news := pages["/p04.html"]
			news.Body += "<!-- news -->"
			w.Set(home+"/docs/p04.html", news)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantText(t, s, "everything is requested from the site")
			after := m.Tree()
			if !strings.Contains(after["docs/p04.html"], "news") || len(after) != len(before) {
				t.Errorf("%d files, had %d\n%s", len(after), len(before), mirrortest.Text(s))
			}
			if rec := recordOf(t, m, home+"/docs/p05.html"); rec.Source != "" {
				t.Errorf("what the site sent is of %s", rec.Source)
			}
			delete(after, "docs/p04.html")
			delete(before, "docs/p04.html")
			if !onlyMeta(after, before) {
				t.Error("other files differ")
			}
		})
	}
}

// The other job runs no more, and its mirror is left: files taken from it do not stay as they are for ever.
func TestReuseOfAMirrorThatIsLeft(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	at := time.Now()
	m.Now = func() time.Time { return at }
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	news := pages["/p04.html"]
	news.Body += "<!-- news -->"
	for _, c := range []struct {
		days int
		text string
		news bool
	}{
		{6, "", false}, {23, "from the mirror of manual", false}, {4, "its last run was on", false},
		{27, "everything is requested from the site", true},
	} {
		at = at.Add(time.Duration(c.days) * 24 * time.Hour)
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, c.news)
		wantText(t, s, c.text)
		if got := strings.Contains(m.Tree()["docs/p04.html"], "news"); got != c.news {
			t.Errorf("after %v: the page is the site's: %v", at, got)
		}
		if c.days == 23 {
			w.Set(home+"/docs/p04.html", news)
		}
	}
}

// The site has the collection no more: what was taken goes, though nothing is left that could be compared.
func TestReuseOfWhatTheSiteRemoved(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	m.Set("limits.max_delete", "1.0")
	at := time.Now()
	m.Now = func() time.Time { return at }
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for p := range pages {
		w.Set(home+"/docs"+p, mirrortest.Status(404))
	}
	for _, c := range []struct {
		days int
		text string
		kept bool
	}{
		{6, "from the mirror of manual", true}, {8, "nothing new is taken", true},
		{20, "nothing new is taken", true}, {20, "everything is requested from the site", false},
	} {
		at = at.Add(time.Duration(c.days) * 24 * time.Hour)
		wantVerdict(t, runOther(t, w, m), mirror.Complete, false)
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, !c.kept)
		wantText(t, s, c.text)
		if _, kept := m.Tree()["docs/p04.html"]; kept != c.kept {
			t.Errorf("after %v: kept: %v", at, kept)
		}
	}
}

// The limits of the job hold for what it reuses, regardless of those of the other one.
func TestReuseOfWhatIsTooLarge(t *testing.T) {
	w, m, _ := reuseWorld(t, "full")
	m.Set("limits.max_body", "100kB")
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	tree := m.Tree()
	if _, ok := tree["docs/big.png"]; ok || s.Reused == 0 || tree["docs/p04.html"] == "" {
		t.Errorf("big.png is there: %v\n%s", ok, mirrortest.Text(s))
	}
}

// onlyMeta reports whether two trees differ in nothing but the description of the mirror.
func onlyMeta(a, b map[string]string) bool {
	for p := range a {
		if !strings.HasPrefix(p, "phm.") && a[p] != b[p] {
			return false
		}
	}
	return true
}

// The given place in the other mirror is not how its addresses begin.
func TestReuseOfAPlaceThatHasNothing(t *testing.T) {
	w, m, _ := reuseWorld(t, "full")
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	m.Set("reuse.from", `"https://manual.example.net/v1/"`)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "has nothing under https://manual.example.net/v1/")
	if s.Files != 35 {
		t.Errorf("%d files\n%s", s.Files, mirrortest.Text(s))
	}
}

// That one worker learns the robots rules while another looks at a URL does not get that URL requested.
func TestReuseWhileRulesAreLearned(t *testing.T) {
	w, m, _ := reuseWorld(t, "full")
	m.Set("polite.connections", "16")
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Requests()
	w.Hook(func(r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			time.Sleep(10 * time.Millisecond) // meanwhile the others look at theirs
		}
	})
	var calls atomic.Int64
	m.Now = func() time.Time {
		if n := calls.Add(1); n < 100 && n%2 == 0 {
			time.Sleep(20 * time.Millisecond) // that of a busy machine
		}
		return time.Now()
	}
	s := m.Run()
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, home+"/docs/") {
			t.Errorf("%s was requested", r.URL)
		}
	}
	if s.Reused != 33 {
		t.Errorf("%d reused, want 33\n%s", s.Reused, mirrortest.Text(s))
	}
}

// A verification that was made while the clock was ahead by years does not hold for years.
func TestReuseVerifiedByAWrongClock(t *testing.T) {
	w, m, pages := reuseWorld(t, "full")
	at := time.Now().AddDate(10, 0, 0)
	m.Now = func() time.Time { return at }
	wantVerdict(t, runOther(t, w, m), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	changeAll(w, pages)
	at = at.AddDate(-10, 0, 0)
	s := m.Run()
	wantText(t, s, "was another file than the mirror of manual has")
	if s.Reused != 0 {
		t.Errorf("%d reused\n%s", s.Reused, mirrortest.Text(s))
	}
}
