// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/evolution/policy"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// planOf is the plan of the next run of a mirror, as of the mirror's clock.
func planOf(t *testing.T, m *mirrortest.Mirror) (p *report.PlanReport) {
	t.Helper()
	at := time.Now()
	if m.Now != nil {
		at = m.Now()
	}
	m.Site(func(s *store.Site) {
		v, err := report.Load(m.Job, s, at)
		if err == nil {
			p, err = v.Plan()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	return p
}

// plannedNow returns how many requests are planned for a sync of the long tests.
func plannedNow(tb testing.TB, j *jobfile.Job, s *store.Site, at time.Time, sync int) int {
	if !long() || sync < 3 {
		return 0
	}
	v, err := report.Load(j, s, at)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := v.Plan()
	if err != nil {
		tb.Fatal(err)
	}
	return p.Asked
}

// In the weeks in which real sites do not change, runs request what was planned.
func TestPlanOfQuietWeeks(t *testing.T) {
	t.Parallel()
	if !long() {
		t.Skip("the recorded sites take MIRRORD_LONG=1")
	}
	weeks, near := 0, 0
	for _, name := range []string{"nist", "rust-blog", "jekyll"} {
		h, ok := recorded(t, name)
		if !ok {
			t.Skip("there are no recorded histories beside the checkout: ../shared/data/site-histories")
		}
		k := keep(t, newHistoryServer(h), policy.Adaptive, 70, func(j *jobfile.Job) {
			j.FullRuns, j.Adaptive.LearnFor, j.Schedule = 3, "", "0 3 * * 1"
		})
		for i, w := range k.weeks {
			if w.changes > 0 || w.planned == 0 {
				continue
			}
			off := math.Abs(float64(w.planned)-float64(w.requests)) / float64(w.planned)
			if weeks++; off <= 0.05 {
				near++
			}
			if off > 0.5 {
				t.Errorf("%s, week %d: %d planned, %d made", name, i+1, w.planned, w.requests)
			}
		}
	}
	t.Logf("%d of %d weeks within 5%%", near, weeks)
	if weeks < 30 || 100*near < 95*weeks {
		t.Error("that is too few")
	}
}

// weekly gives a mirror a clock and returns what moves it by a week.
func weekly(m *mirrortest.Mirror) (next func()) {
	now := time.Now().AddDate(1, 0, 0)
	m.Now = func() time.Time { return now }
	return func() { now = now.AddDate(0, 0, 7) }
}

// planState is a mirror whose next run skips something.
type planState struct {
	name string
	make func(t *testing.T) *mirrortest.Mirror
}

// learned is a mirror of folders after some weekly runs, with a page of news that changes.
func learned(t *testing.T, f *folders, runs int, lines ...string) *mirrortest.Mirror {
	return learnedBy(t, f, runs, job(lines...))
}

// learnedBy is learned by a job of its own.
func learnedBy(t *testing.T, f *folders, runs int, toml string) *mirrortest.Mirror {
	m := mirrortest.New(t, f.w, toml)
	next := weekly(m)
	for i := range runs {
		m.Run()
		next()
		if i < runs-1 {
			f.change(fmt.Sprint("edition ", i), f.path("news", i%5))
		}
	}
	return m
}

// skipping is a policy under which a young site that changes little is not requested as a whole.
const skipping = "policy = \"adaptive\"\nadaptive.price = 0.002"

func oldAndNews(t *testing.T) *folders { return newFolders(t, map[string]int{"old": 100, "news": 20}) }

// withMap adds a sitemap of all pages to a site.
func withMap(f *folders) {
	var b strings.Builder
	entry := func(url string) {
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>2024-01-05T10:00:00Z</lastmod></url>", url)
	}
	entry(home + "/") // the entry point, too
	for d, n := range f.pages {
		for i := range n {
			entry(home + f.path(d, i))
		}
	}
	f.w.Set(home+"/robots.txt", mirrortest.Page{Body: "Sitemap: " + home + "/map.xml\n"})
	f.w.Set(home+"/map.xml", mirrortest.Page{
		Body: "<?xml version=\"1.0\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">" +
			b.String() + "</urlset>",
	})
}

// twice is a mirror after two runs in which nothing changed.
func twice(t *testing.T, f *folders, lines ...string) *mirrortest.Mirror {
	m := mirrortest.New(t, f.w, job(lines...))
	next := weekly(m)
	m.Run()
	next()
	m.Run()
	next()
	return m
}

func planStates() []planState {
	listed := func(runs int, lines ...string) func(t *testing.T) *mirrortest.Mirror {
		return func(t *testing.T) *mirrortest.Mirror {
			w := mirrortest.Start(t)
			top, sub := archive(60)
			top.serve(w)
			sub.serve(w)
			m := mirrortest.New(t, w, archiveJob+strings.Join(lines, "\n"))
			next := weekly(m)
			for range runs {
				m.Run()
				next()
			}
			return m
		}
	}
	return []planState{
		{"adaptive", func(t *testing.T) *mirrortest.Mirror {
			return learned(t, oldAndNews(t), 6, skipping)
		}},
		{"adaptive with a budget", func(t *testing.T) *mirrortest.Mirror {
			return learned(t, oldAndNews(t), 5, `policy = "adaptive"`, "limits.max_requests = 30")
		}},
		{"near", func(t *testing.T) *mirrortest.Mirror {
			_, m := silent(t)
			return m
		}},
		{"sitemap, everything else requested", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			withMap(f)
			return twice(t, f)
		}},
		{"sitemap, still learning", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			withMap(f)
			return twice(t, f, `policy = "adaptive"`)
		}},
		{"sitemap, adaptive", func(t *testing.T) *mirrortest.Mirror {
			// more of them: those in flight when the plan is asked for more are worth two requests
			f := newFolders(t, map[string]int{"old": 300, "news": 60})
			withMap(f)
			return learned(t, f, 6, skipping)
		}},
		{"lifetimes", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			for i := range 100 {
				p := f.w.Page(home + f.path("old", i))
				p.Header["Cache-Control"] = "max-age=2000000"
				f.w.Set(home+f.path("old", i), p)
			}
			return twice(t, f, "evidence.expiry = true")
		}},
		{"listings, everything else requested", listed(2)},
		{"listings, adaptive", listed(6, `policy = "adaptive"`)},
		{"broken links and redirects", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			var links strings.Builder
			for i := range 30 {
				fmt.Fprintf(&links, "<a href=/gone%d>x</a><a href=/moved%d>x</a>", i, i)
				f.w.Set(fmt.Sprint(home, "/moved", i), mirrortest.Redirect(f.path("old", i)))
			}
			f.also["/"] = links.String()
			f.serve()
			return learned(t, f, 6, skipping)
		}},
		{"dead links that no page has now", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			for i := range 30 {
				f.also["/"] += fmt.Sprintf("<a href=/gone%d>x</a>", i)
			}
			f.serve()
			m := mirrortest.New(t, f.w, job(skipping))
			next := weekly(m)
			for i := range 6 {
				m.Run()
				next()
				if i == 3 {
					f.also["/"] = ""
				}
				f.change(fmt.Sprint("edition ", min(i, 4)), f.path("news", min(i, 4)))
			}
			return m
		}},
		{"files of types that are not wanted", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			var links strings.Builder
			for i := range 60 {
				fmt.Fprintf(&links, "<a href=/%d.gz>x</a>", i)
				f.w.Set(fmt.Sprintf("%s/%d.gz", home, i), mirrortest.Page{Body: "gz"})
			}
			f.also["/"] = links.String()
			f.serve()
			return learnedBy(t, f, 6, job(skipping)+`not_types = "gz"`)
		}},
		{"after a rollback", func(t *testing.T) *mirrortest.Mirror {
			f := oldAndNews(t)
			withMap(f)
			m := twice(t, f, `policy = "adaptive"`)
			front := f.w.Page(home + "/")
			f.w.Set(home+"/", mirrortest.HTML("Home", "<p>news</p>"+front.Body))
			m.Run()
			f.w.Set(home+"/", front)
			rollback(t, m, 1)
			return m
		}},
	}
}

// The plan names the run that comes next, with or without records of those before.
func TestPlanNamesTheNextRun(t *testing.T) {
	f := newFolders(t, map[string]int{"old": 3})
	m := mirrortest.New(t, f.w, job())
	m.Run()
	withSite(t, m, func(_ *store.State, s *store.Site) {
		if err := s.Notes.CountRun(&record.Run{}); err != nil {
			t.Fatal(err)
		}
	})
	if p := planOf(t, m); p.Run != 3 {
		t.Errorf("run %d, want 3", p.Run)
	}
}

// rollback publishes a version of a mirror again.
func rollback(t *testing.T, m *mirrortest.Mirror, version int) {
	t.Helper()
	withSite(t, m, func(st *store.State, s *store.Site) {
		if _, err := mirror.Rollback(t.Context(), mirror.Options{
			Job:   m.Job,
			State: st,
			Site:  s,
			Hosts: newHosts(),
			Now:   m.Now,
		}, version); err != nil {
			t.Fatal(err)
		}
	})
}

// What plan says that the next run would request is what it requests, when nothing has changed: within 5 % of
// these requests, however many are under way at once.
func TestPlanIsTheRun(t *testing.T) {
	t.Parallel()
	for i, c := range planStates() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := c.make(t)
			m.Set("polite.connections", []string{"1", "2", "8"}[i%3])
			p := planOf(t, m)
			s := m.Run()
			if math.Abs(float64(int64(p.Asked)-s.Asked)) > 0.05*float64(s.Asked) ||
				int64(p.Asked+p.Spared) != s.Known {
				t.Errorf("plan: %d of %d, because %v; the run: %d of %d, %d requests\n%s", p.Asked, p.Known, p.Reasons,
					s.Asked, s.Known, s.Requests, mirrortest.Text(s))
			}
			if s.Asked >= s.Known {
				t.Errorf("nothing was skipped: %d of %d", s.Asked, s.Known)
			}
		})
	}
}

// A run says since when all of the mirror was looked at: what it skipped is older than the run.
func TestVerifiedWithWhatWasSkipped(t *testing.T) {
	t.Parallel()
	m := learned(t, oldAndNews(t), 6, skipping)
	s := m.Run()
	if s.Skipped == 0 || !s.Verified.Equal(s.OldestLook) || !s.Verified.Before(s.Started.AddDate(0, 0, -6)) {
		t.Errorf("%d skipped, of which the oldest look was at %v; verified since %v, run of %v",
			s.Skipped, s.OldestLook, s.Verified, s.Started)
	}
}

// One slow answer does not hold up what the plan has to say after it.
func TestPlanGoesOnWithoutASlowAnswer(t *testing.T) {
	t.Parallel()
	f := oldAndNews(t)
	m := learned(t, f, 6, `policy = "adaptive"`, "adaptive.price = 0.0001")
	p := planOf(t, m)
	if p.Asked < 20 {
		t.Fatalf("a plan of %d requests shows nothing", p.Asked)
	}
	var answered atomic.Int32
	var slow atomic.Bool
	enough, never := make(chan struct{}), make(chan struct{})
	page := mirrortest.Page{Handle: func(w http.ResponseWriter, r *http.Request) {
		if slow.CompareAndSwap(false, true) {
			select {
			case <-enough:
			case <-r.Context().Done():
				close(never)
			}
		} else if answered.Add(1) == 10 {
			close(enough)
		}
		w.WriteHeader(http.StatusNotModified)
	}}
	for d, n := range f.pages {
		for i := range n {
			f.w.Set(home+f.path(d, i), page)
		}
	}
	s := m.Run()
	select {
	case <-never:
		t.Errorf("the run gave up on the slow answer after %d others", answered.Load())
	default:
	}
	if s.Asked < int64(p.Asked)/2 {
		t.Errorf("%d requests, planned were %d", s.Asked, p.Asked)
	}
}
