// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/internal/demosite"
	"mirrord/internal/mirrortest"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/policy"
	"mirrord/replay"
	"mirrord/store"
)

// historyServer serves a recorded site as it was at one of its versions, with contents made from what is
// recorded of them. Every directory has a page of its own that links to what lies in it, and tells no times.
// Nothing but ETags says that something is as it was.
type historyServer struct {
	h        *replay.History
	at       int
	content  []replay.Content // by page
	size     []int64
	asked    atomic.Int64
	listings map[string]string // by path; of the version
	pages    map[string]replay.Page
}

func newHistoryServer(h *replay.History) *historyServer {
	s := &historyServer{
		h:       h,
		at:      -1,
		content: make([]replay.Content, h.Pages()),
		size:    make([]int64, h.Pages()),
		pages:   map[string]replay.Page{},
	}
	for p := range replay.Page(h.Pages()) {
		s.pages["/"+h.Path(p)] = p
	}
	s.next()
	return s
}

// next goes on to the next version, and returns what it changes.
func (s *historyServer) next() (changed []string) {
	s.at++
	for _, c := range s.h.Versions[s.at].Changes {
		s.content[c.Page], s.size[c.Page] = c.Content, c.Size
		if p := "/" + s.h.Path(c.Page); !oddPath(p) {
			changed = append(changed, p)
		}
	}
	s.listings = map[string]string{}
	s.list(replay.Root)
	return changed
}

// list makes the page of a directory and of those below it; it reports whether there is anything in it.
func (s *historyServer) list(d replay.Dir) bool {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><title>/%s</title>\n", s.h.DirPath(d))
	n := 0
	for _, x := range s.h.Subdirs(d) {
		if s.list(x) {
			fmt.Fprintf(&b, "<a href=%q>%s</a>\n", path.Base(s.h.DirPath(x))+"/", path.Base(s.h.DirPath(x)))
			n++
		}
	}
	for _, p := range s.h.PagesIn(d) {
		if s.content[p] != replay.Gone {
			fmt.Fprintf(&b, "<a href=\"./%s\">x</a>\n", path.Base(s.h.Path(p)))
			n++
		}
	}
	if n == 0 && d != replay.Root {
		return false
	}
	at := "/" + s.h.DirPath(d) + "/"
	if d == replay.Root {
		at = "/"
	}
	s.listings[at] = b.String()
	return true
}

// body is what a page holds: a word for its content, no number, because pages that differ in numbers alone
// are taken for the same; and some more bytes when it is larger.
func (s *historyServer) body(p replay.Page) string {
	word := []byte{}
	for n := s.content[p]; n > 0; n /= 20 {
		word = append(word, "bcdfghklmnpqrstvwxyz"[n%20], "aeiou"[n%5])
	}
	return fmt.Sprintf("<!DOCTYPE html><title>%s</title>%s%s\n", s.h.Path(p), word,
		strings.Repeat(" and so on", int(min(max(s.size[p], 0), 3000)/10)))
}

func (s *historyServer) get(p string) (body string, ok bool) {
	if b, ok := s.listings[p]; ok {
		return b, true
	}
	if n, ok := s.pages[p]; ok && s.content[n] != replay.Gone {
		return s.body(n), true
	}
	return "", false
}

func (s *historyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.asked.Add(1)
	body, ok := s.get(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256([]byte(body))
	tag := fmt.Sprintf(`"%x"`, sum[:8])
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "text/html")
	if p := r.URL.Path; !strings.HasSuffix(p, "/") && strings.Contains(path.Base(p), ".") &&
		!strings.HasSuffix(p, ".html") {
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, body)
}

// truth is the digest of every file of the version that a job asks for, with a name that needs no escapes;
// pages of directories are no files.
func (s *historyServer) truth() map[string][32]byte {
	out := map[string][32]byte{}
	for p, n := range s.pages {
		if s.content[n] != replay.Gone && !oddPath(p) {
			out[p] = sha256.Sum256([]byte(s.body(n)))
		}
	}
	return out
}

// oddPath reports whether a path is written in another way in its URL, or is a program's.
func oddPath(p string) bool {
	return p == "/robots.txt" || (&url.URL{Path: p}).EscapedPath() != p || strings.ContainsAny(p, "'|^") ||
		slices.Contains([]string{".cgi", ".pl", ".fcgi"}, path.Ext(p)) || strings.Contains(p, "/cgi")
}

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
}

// subject is a site that goes on by itself.
type subject interface {
	http.Handler
	advance() (changed []string) // to the next version
	state() map[string][32]byte  // digests of its files by path
	count() int64                // requests so far
}

func (s *historyServer) advance() []string          { return s.next() }
func (s *historyServer) state() map[string][32]byte { return s.truth() }
func (s *historyServer) count() int64               { return s.asked.Load() }

// keep syncs a site so many times under a policy, a week apart.
func keep(tb testing.TB, s subject, p policy.Name, syncs int) kept {
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
	j.FullRuns = 1 // the table is of what is learned from the first sync on
	j.Policy, j.Polite.Connections, j.Polite.Delay, j.Polite.Factor, j.Polite.MaxDelay, j.Limits.MinFree = p,
		8, 0, 0, 0, 0
	j.Limits.MaxDelete, j.Publish.Keep = 1, "1"
	client, err := mirror.NewClient(j, mirror.World{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer client.Close()
	out := kept{policy: p}
	week := time.Date(2025, 1, 6, 3, 0, 0, 0, time.UTC)
	var before int64
	for i := range syncs {
		var changed []string
		if i > 0 {
			changed = s.advance()
			week = week.Add(7 * 24 * time.Hour)
		}
		sum, err := mirror.Run(tb.Context(), mirror.Options{
			Job:     j,
			State:   st,
			Site:    db,
			Fetcher: client,
			Robots:  mirror.NewRobots(j, client, nil),
			Hosts:   new(fetch.Hosts),
			Now:     func() time.Time { return week },
		})
		if err != nil || sum.Verdict != mirror.Complete {
			tb.Fatalf("%s, sync %d: %v, %+v", p, i, err, sum)
		}
		if i == 0 {
			before = s.count()
			continue
		}
		have := map[string][32]byte{}
		if err := db.Records.Resources(func(rec *store.Resource) error {
			if rec.InSet {
				have[rec.URL.Path()] = rec.Digest
			}
			return nil
		}); err != nil {
			tb.Fatal(err)
		}
		want := s.state()
		found := 0
		for _, changed := range changed {
			if have[changed] == want[changed] { // also of what is gone
				found++
			}
		}
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
		out.skipped += sum.Skipped
		out.stale += float64(stale) / float64(all)
		if n := len(changed); n > 0 {
			out.withSteps++
			out.changes, out.found, out.macro = out.changes+n, out.found+found, out.macro+float64(found)/float64(n)
		}
	}
	out.requests = s.count() - before
	out.stale /= float64(max(out.steps, 1))
	out.macro /= float64(max(out.withSteps, 1))
	if _, err := report.Verify(tb.Context(), db, false, func(p store.Problem) {
		tb.Errorf("%s: verify: %s", p.Subject, p)
	}); err != nil {
		tb.Fatal(err)
	}
	return out
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

// ourHistory is a site of ours over 31 weeks: news every week, documentation of three releases of which one
// is worked on, a reference that is made again at times, and what hardly ever changes.
func ourHistory(tb testing.TB) *replay.History {
	rng := rand.New(rand.NewPCG(1996, 2007))
	var b replay.Builder
	number := 0
	var records map[string]replay.Record
	put := func(format string, args ...any) {
		number++
		p := fmt.Sprintf(format, args...)
		records[p] = replay.Record{Path: p, Size: 500 + int64(number%7)*300, Blob: fmt.Sprintf("%016x", number)}
	}
	for week := range 31 {
		records = map[string]replay.Record{}
		if week == 0 {
			put("index.html")
			put("style.css")
			for i := range 12 {
				put("team/p%02d.html", i)
				put("images/i%02d.png", i)
			}
			for _, release := range []string{"1.0", "1.1", "2.0"} {
				for i := range 25 {
					put("docs/%s/s%02d.html", release, i)
				}
			}
			for i := range 40 {
				put("reference/r%02d.html", i)
			}
		}
		if week%5 != 3 { // some weeks are quiet
			put("news/n%02d.html", week)
			put("index.html")
			for range 1 + rng.IntN(4) {
				put("docs/2.0/s%02d.html", rng.IntN(25))
			}
		}
		if week%9 == 5 {
			for i := range 40 {
				put("reference/r%02d.html", i)
			}
		}
		if week == 7 || week == 22 {
			put("team/p%02d.html", rng.IntN(12))
		}
		if week == 16 {
			put("docs/2.1/s00.html")
			for i := range 20 {
				put("docs/2.1/s%02d.html", i)
			}
			records["images/i03.png"] = replay.Record{Path: "images/i03.png"} // gone
		}
		list := slices.Collect(maps.Values(records))
		slices.SortFunc(list, func(a, b replay.Record) int { return strings.Compare(a.Path, b.Path) })
		if err := b.Add(time.Date(2025, 1, 6+7*week, 0, 0, 0, 0, time.UTC), "", list); err != nil {
			tb.Fatal(err)
		}
	}
	return b.History()
}

// demo is the demonstration site, which goes on to its next version in every fourth week.
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
			if err := s.Records.Resources(func(rec *store.Resource) error {
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
func TestPoliciesOverHTTP(t *testing.T) {
	t.Parallel()
	t.Run("ours", func(t *testing.T) {
		h := ourHistory(t)
		k := keepAll(t, "a site of ours", sized(16, 31), func() subject { return newHistoryServer(h) })
		wantWorth(t, k, 0.9, 0.9)
	})
	t.Run("demonstration", func(t *testing.T) {
		paths := demoPaths(t)
		k := keepAll(t, "the demonstration site", sized(16, 30), func() subject {
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
	})
}

// recorded reads a recorded history that lies beside the checkout.
func recorded(tb testing.TB, name string) (*replay.History, bool) {
	f, err := os.Open(filepath.Join("../../shared/data/site-histories", name+".history.tsv.gz"))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	h, err := replay.Read(f)
	if err != nil {
		tb.Fatal(err)
	}
	return h, true
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

// BenchmarkPolicies is TestPoliciesOverHTTP on all recorded sites, or the one that POLICY_SITE names.
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
