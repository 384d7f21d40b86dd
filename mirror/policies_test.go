// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/fetch"
	"mirrord/internal/demosite"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/mirror/source"
	"mirrord/replay"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/upkeep"
	"mirrord/testing/mirrortest"
)

// kept is what syncs under one policy came to.
type kept struct {
	policy   policy.Name
	requests int64 // that the server saw, after the first sync
	// of files from one version to the next, and those of them that the mirror had after the sync
	changes, found   int
	macro            float64 // mean of found of changes over the syncs that had any
	stale            float64 // mean share of files that are not as they are on the site
	skipped          int64
	steps, withSteps int
	weeks            []keptWeek                 // after the first sync
	rules            map[string]report.SiteRule // at the end, by directory
}

// keptWeek is what one sync came to.
type keptWeek struct {
	requests int64 // that the server saw
	// files: what changed since the version before, how much of that is new, what the mirror has otherwise
	changes, found, entered, stale int
	planned                        int // requests, were nothing to change; 0: not known
}

// late is for how many hours a change was missing, in the mean over some weeks, as replay counts it.
func late(weeks []keptWeek) float64 {
	stale, changes := 0, 0
	for _, w := range weeks {
		stale, changes = stale+w.stale, changes+w.changes
	}
	return 7 * 24 * float64(stale) / float64(max(changes, 1))
}

// subject is a site that changes by itself.
type subject interface {
	http.Handler
	advance() (changed []string) // to the next version
	state() map[string][32]byte  // digests of its files by path
	count() int64                // requests so far
}

// keep syncs a site so many times under a policy, a week apart.
func keep(tb testing.TB, s subject, p policy.Name, syncs int, set ...func(*jobfile.Job)) kept {
	srv := httptest.NewServer(s)
	defer srv.Close()
	st, err := store.OpenState(tb.TempDir(), store.Options{Volatile: true})
	if err != nil {
		tb.Fatal(err)
	}
	defer st.Close()
	db, err := st.OpenSite("kept")
	if err != nil {
		tb.Fatal(err)
	}
	defer db.Close()
	j := jobfile.Default(srv.URL + "/")
	j.FullRuns, j.Adaptive.LearnFor = 1, "0s" // the table shows learning from the first sync on
	j.Policy, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor, j.Polite.MaxDelay, j.Limits.MinFree = p,
		8, 0, 0, 0, 0
	j.Limits.MaxDelete, j.Publish.Keep = 1, "1"
	for _, f := range set {
		f(j)
	}
	client, err := source.NewClient(j, source.Surroundings{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	out := kept{policy: p}
	week := time.Date(2025, 1, 6, 3, 0, 0, 0, time.UTC)
	var before int64
	var was map[string][32]byte
	for i := range syncs {
		var changed []string
		made := s.count()
		if i > 0 {
			changed = s.advance()
			week = week.Add(7 * 24 * time.Hour)
		}
		planned := plannedNow(tb, j, db, week, i)
		sum, err := mirror.Run(tb.Context(), mirror.Options{
			Confirm: -1,
			Job:     j,
			State:   st,
			Site:    db,
			Fetcher: client,
			Robots:  source.NewRobots(j, client, nil),
			Hosts:   new(fetch.Hosts),
			Now:     func() time.Time { return week },
		})
		if err != nil || sum.Verdict != mirror.Complete {
			tb.Fatalf("%s, sync %d: %v, %+v", p, i, err, sum)
		}
		if i == 0 {
			before, was = s.count(), s.state()
			continue
		}
		have := map[string][32]byte{}
		if err := db.Records.Resources(func(rec *record.Resource) error {
			if rec.InSet {
				have[rec.URL.Path()] = rec.Digest
			}
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
		want := s.state()
		found, entered := 0, 0
		for _, changed := range changed {
			if have[changed] == want[changed] { // also of removed pages
				found++
			}
			if _, is := was[changed]; !is {
				entered++
			}
		}
		was = want
		stale, all := 0, len(want)
		for p, d := range want {
			if have[p] != d {
				stale++
			}
		}
		for p := range have {
			if _, ok := want[p]; !ok && !strings.HasSuffix(p, "/") && !oddPath(p) {
				stale++
				all++
			}
		}
		out.steps++
		out.weeks = append(out.weeks, keptWeek{s.count() - made, len(changed), found, entered, stale, planned})
		out.skipped += sum.Skipped
		out.stale += float64(stale) / float64(all)
		if n := len(changed); n > 0 {
			out.withSteps++
			out.changes, out.found, out.macro = out.changes+n, out.found+found, out.macro+float64(found)/float64(n)
		}
	}
	out.requests = s.count() - before
	out.rules = rulesOf(tb, j, db)
	out.stale /= float64(max(out.steps, 1))
	out.macro /= float64(max(out.withSteps, 1))
	if h, ok := s.(*historyServer); ok && p == policy.Adaptive {
		wantEvolution(tb, j, db, h.h, syncs)
	}
	if _, err := report.Verify(tb.Context(), db, func(p upkeep.Problem) {
		tb.Errorf("%s: verify: %s", p.Subject, p)
	}); err != nil {
		tb.Fatal(err)
	}
	return out
}

// rulesOf are the rules of a mirror by directory.
func rulesOf(tb testing.TB, j *jobfile.Job, db *store.Site) map[string]report.SiteRule {
	tb.Helper()
	v, err := report.Load(j, db, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	mined, err := v.Rules(true)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]report.SiteRule{}
	for _, r := range mined.Rules {
		out[r.Directory] = r
	}
	return out
}

// wantEvolution holds how often the directories of a mirror changed, as estimated from what its runs saw,
// against the records of the site.
func wantEvolution(tb testing.TB, j *jobfile.Job, db *store.Site, h *replay.History, syncs int) {
	tb.Helper()
	v, err := report.Load(j, db, time.Now())
	if err != nil {
		tb.Fatal(err)
	}
	e, err := v.Evolution(0, false)
	if err != nil {
		tb.Fatal(err)
	}
	truth, err := h.Evolution(syncs)
	if err != nil {
		tb.Fatal(err)
	}
	tree, err := truth.DeltaTree(evolution.DeltaOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	var off, counted float64
	within, n := 0, 0
	for _, d := range e.Dirs {
		at, ok := truth.Dirs().Lookup(strings.Trim(d.Path, "/"))
		if !ok {
			continue
		}
		n++
		foc := tree.FoC(at).Value()
		off += math.Abs(d.FoC - foc)
		counted += math.Abs(evolution.Frequency{K: d.Changed, N: d.Known}.Value() - foc)
		if *d.FoCLow-1e-9 <= foc && foc <= *d.FoCHigh+1e-9 {
			within++
		}
	}
	tb.Logf("%d of %d frequencies of change within their intervals, mean error %.4f, as counted %.4f", within, n,
		off/float64(n), counted/float64(n))
	least := sized(4, 7)
	if n < 30 { // directories change together: of few, many may be outside
		least = 4
	}
	if 10*within < least*n || off > counted/2 {
		tb.Error("that is too far off")
	}
}

// keepAll syncs a site under every policy and prints the table.
func keepAll(tb testing.TB, name string, syncs int, fresh func() subject) map[policy.Name]kept {
	out := map[policy.Name]kept{}
	tb.Logf("%s, %d syncs after the first one:", name, syncs-1)
	tb.Logf("%-9s %9s %8s %8s %8s %8s %8s", "policy", "requests", "of full", "changes", "found",
		"macro", "stale")
	for _, p := range []policy.Name{policy.Full, policy.Near, policy.Adaptive} {
		k := keep(tb, fresh(), p, syncs)
		out[p] = k
		full := out[policy.Full].requests
		tb.Logf("%-9s %9d %7.1f%% %8d %7.1f%% %7.1f%% %7.2f%%", p, k.requests,
			100*float64(k.requests)/float64(full), k.changes, 100*float64(k.found)/float64(max(k.changes, 1)),
			100*k.macro, 100*k.stale)
	}
	return out
}

// demo is the demonstration site, which moves to its next version in every fourth week.
type demo struct {
	*demosite.Handler
	week  int
	host  atomic.Value // that it is asked as
	asked atomic.Int64
	paths []string // of its files, in any version
}

func (d *demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.host.Store(r.Host)
	if r.URL.Path != "/robots.txt" {
		d.asked.Add(1)
	}
	d.Handler.ServeHTTP(w, r)
}

func (d *demo) advance() (changed []string) {
	before := d.state()
	d.week++
	d.SetVersion(min(1+d.week/4, demosite.Versions()))
	now := d.state()
	for _, p := range d.paths {
		if before[p] != now[p] {
			changed = append(changed, p)
		}
	}
	return changed
}

func (d *demo) state() map[string][32]byte {
	out := map[string][32]byte{}
	for _, p := range d.paths {
		rec := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, p, nil)
		r.Host, _ = d.host.Load().(string)
		d.Handler.ServeHTTP(rec, r)
		if rec.Code == http.StatusOK {
			out[p] = sha256.Sum256(rec.Body.Bytes())
		}
	}
	return out
}

func (d *demo) count() int64 { return d.asked.Load() }

// demoPaths finds the files of all versions of the demonstration site by mirroring them.
func demoPaths(tb testing.TB) (paths []string) {
	d := &demo{Handler: demosite.New()}
	d.week = -4
	found := map[string]bool{}
	for range demosite.Versions() {
		d.week += 4
		d.SetVersion(1 + d.week/4)
		srv := httptest.NewServer(d)
		w := mirrortest.New(tb, nil, fmt.Sprintf("url = %q\n", srv.URL+"/"))
		w.Run()
		w.Site(func(s *store.Site) {
			if err := s.Records.Resources(func(rec *record.Resource) error {
				if rec.InSet && !strings.Contains(rec.URL.String(), "?") {
					found[rec.URL.Path()] = true
				}
				return nil
			}); err != nil {
				tb.Fatal(err)
			}
		})
		srv.Close()
	}
	return slices.Sorted(maps.Keys(found))
}

// What the policies are worth over HTTP: requests that the server saw, changes that were found, staleness. go
// test -v shows the table. With MIRRORD_LONG the sites are kept for 30 weeks, a recorded one among them; else
// those of ours for half as long.
func TestPoliciesOverHTTPInBulk(t *testing.T) {
	t.Parallel()
	t.Run("ours", func(t *testing.T) {
		h := ourHistory(t)
		syncs := sized(12, 31)
		k := keepAll(t, "a site of ours", syncs, func() subject { return newHistoryServer(h) })
		wantWorth(t, k, 0.9, 0.9)
		wantReplayed(t, k, h, syncs)
	})
	t.Run("demonstration", func(t *testing.T) {
		paths := demoPaths(t)
		k := keepAll(t, "the demonstration site", sized(12, 30), func() subject {
			d := &demo{Handler: demosite.New(), paths: paths}
			d.SetVersion(1)
			return d
		})
		wantWorth(t, k, 0.8, 0.8)
	})
	t.Run("recorded", func(t *testing.T) {
		if !long() {
			t.Skip("the recorded site takes MIRRORD_LONG=1")
		}
		h, ok := recorded(t, "boost")
		if !ok {
			t.Log("there are no recorded histories beside the checkout: ../shared/data/site-histories")
			return
		}
		k := keepAll(t, h.Site, 31, func() subject { return newHistoryServer(h) })
		wantWorth(t, k, 0.6, 0.9)
		wantReplayed(t, k, h, 31)
	})
}

// wantReplayed holds the requests over HTTP against those of a replay of the same versions: with as many full
// syncs, the same max_skip and max_skip_time, and rules that are mined before each run. Which of two equals
// comes first is chance, and moves the requests for a recorded site by 5 points: they are within 3 points of
// what a few orders span.
func wantReplayed(t *testing.T, k map[policy.Name]kept, h *replay.History, syncs int) {
	t.Helper()
	job := jobfile.Default("http://site.example/")
	for _, p := range []policy.Name{policy.Near, policy.Adaptive} {
		o := replay.Options{
			Policy:  p,
			Train:   1,
			MaxSkip: int(job.Limits.MaxSkip),
			MaxAge:  job.MaxSkipTime(),
			Relearn: true,
			Batch:   16, // a job of eight connections has so many under way
		}
		linked := linkedHistory(t, h, syncs)
		var replayed []float64
		for o.Order = range uint32(5) {
			r, err := replay.Run(linked, o)
			if err != nil {
				t.Fatal(err)
			}
			requests, full := 0, 0
			for _, s := range r.Steps {
				requests, full = requests+s.Requests, full+s.Full
			}
			replayed = append(replayed, float64(requests)/float64(full))
		}
		http := float64(k[p].requests) / float64(k[policy.Full].requests)
		t.Logf("%s: %.3f of full over HTTP, %.3f in the replay", p, http, replayed)
		if http < slices.Min(replayed)-0.03 || http > slices.Max(replayed)+0.03 {
			t.Errorf("%s: %.3f of full over HTTP, %.3f in the replay: too far from one another", p, http, replayed)
		}
	}
}

// wantWorth holds the figures of the policies against one another: full finds everything, and adaptive nearly
// all for a share of the requests.
func wantWorth(t *testing.T, k map[policy.Name]kept, most, least float64) {
	t.Helper()
	full, near, adaptive := k[policy.Full], k[policy.Near], k[policy.Adaptive]
	if full.found != full.changes || full.stale > 0 || full.skipped > 0 {
		t.Errorf("full missed changes: %+v", full)
	}
	if near.requests > full.requests || near.found*10 < near.changes*5 {
		t.Errorf("near: %+v, full %d requests", near, full.requests)
	}
	if r := float64(adaptive.requests) / float64(full.requests); r > most {
		t.Errorf("adaptive asks %.2f of full, want at most %.2f", r, most)
	}
	if r := float64(adaptive.found) / float64(adaptive.changes); r < least {
		t.Errorf("adaptive finds %.2f of the changes, want at least %.2f", r, least)
	}
}

// BenchmarkPolicies is TestPoliciesOverHTTPInBulk on all recorded sites, or the one that POLICY_SITE names.
func BenchmarkPolicies(b *testing.B) {
	files, err := filepath.Glob("../../shared/data/site-histories/*.history.tsv.gz")
	if err != nil || len(files) == 0 {
		b.Log("there are no recorded histories beside the checkout: ../shared/data/site-histories")
		return
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".history.tsv.gz")
		if only := os.Getenv("POLICY_SITE"); only != "" && only != name {
			continue
		}
		b.Run(name, func(b *testing.B) {
			h, _ := recorded(b, name)
			for b.Loop() {
				k := keepAll(b, name, min(31, len(h.Versions)), func() subject { return newHistoryServer(h) })
				full, a := k[policy.Full], k[policy.Adaptive]
				b.ReportMetric(float64(a.requests)/float64(full.requests), "of-full")
				b.ReportMetric(float64(a.found)/float64(max(a.changes, 1)), "found")
				b.ReportMetric(a.stale, "stale")
			}
		})
	}
}
