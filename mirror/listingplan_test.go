// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/store"
	"mirrord/store/record"
)

// shelf is a site of directories of files behind nginx's index, at a time of its own.
type shelf struct {
	now   time.Time
	dirs  []string
	files map[string]map[string]stored // by directory
	moved map[string]time.Time         // when an entry of a directory came or went
	seen  func(requests int64)
	asked atomic.Int64
	lists atomic.Int64 // of them for listings
}

type stored struct {
	text string
	at   time.Time
}

func newShelf(dirs, files int) *shelf {
	s := &shelf{
		now:   time.Date(2025, 1, 6, 3, 0, 0, 0, time.UTC),
		files: map[string]map[string]stored{},
		moved: map[string]time.Time{},
	}
	for d := range dirs {
		name := fmt.Sprintf("d%03d", d)
		s.dirs, s.files[name], s.moved[name] = append(s.dirs, name), map[string]stored{}, s.now.AddDate(-1, 0, 0)
		for f := range files {
			s.files[name][fmt.Sprintf("%s-%02d.txt", name, f)] = stored{fmt.Sprintf("first text of file %d\n", f),
				s.now.AddDate(-1, 0, 0)}
		}
	}
	return s
}

// put changes a file, or makes one.
func (s *shelf) put(dir, name, text string) {
	if _, ok := s.files[dir][name]; !ok {
		s.moved[dir] = s.now
	}
	s.files[dir][name] = stored{text, s.now}
}

func (s *shelf) remove(dir, name string) {
	delete(s.files[dir], name)
	s.moved[dir] = s.now
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.seen(s.asked.Add(1))
	dir, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	files, ok := s.files[dir]
	switch {
	case r.URL.Path == "/":
		s.index(w, "/", slices.Sorted(maps.Keys(s.files)), nil)
	case ok && name == "":
		s.lists.Add(1)
		s.index(w, "/"+dir+"/", nil, files)
	case ok && files[name].text != "":
		http.ServeContent(w, r, name, files[name].at, strings.NewReader(files[name].text))
	default:
		http.NotFound(w, r)
	}
}

func (s *shelf) index(w http.ResponseWriter, path string, dirs []string, files map[string]stored) {
	var b strings.Builder
	fmt.Fprintf(&b,
		"<html>\r\n<head><title>Index of %s</title></head>\r\n<body>\r\n<h1>Index of %s</h1><hr><pre><a "+
			"href=\"../\">../</a>\r\n", path, path)
	const at = "02-Jan-2006 15:04"
	for _, d := range dirs {
		fmt.Fprintf(&b, "<a href=\"%s/\">%s/</a>%s%s                   -\r\n", d, d, strings.Repeat(" ", 50-len(d)),
			s.moved[d].Format(at))
	}
	for _, f := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "<a href=\"%s\">%s</a>%s%s %19d\r\n", f, f, strings.Repeat(" ", 51-len(f)),
			files[f].at.Format(at), len(files[f].text))
	}
	b.WriteString("</pre><hr></body>\r\n</html>\r\n")
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprint(w, b.String())
}

// truth is the digest of every file by its path.
func (s *shelf) truth() map[string][32]byte {
	out := map[string][32]byte{}
	for d, files := range s.files {
		for name, f := range files {
			out["/"+d+"/"+name] = sha256.Sum256([]byte(f.text))
		}
	}
	return out
}

// shelfMirror is a mirror of a shelf, synced a few hours after the shelf's time.
type shelfMirror struct {
	t    *testing.T
	s    *shelf
	job  *jobfile.Job
	db   *store.Site
	cut  int64                  // the run is interrupted after so many requests; 0: it is not
	try  func() *mirror.Summary // syncs
	sync func() *mirror.Summary // syncs, and the run must be complete
}

func mirrorShelf(t *testing.T, s *shelf, set func(*jobfile.Job)) *shelfMirror {
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	db, err := st.OpenSite("shelf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	j := jobfile.Default(srv.URL + "/")
	j.Polite.Connections, j.Polite.Delay, j.Polite.Factor, j.Polite.MaxDelay, j.Limits.MinFree, j.Publish.Keep =
		8, 0, 0, 0, 0, "1"
	j.Adaptive.LearnFor = "0s"
	if set != nil {
		set(j)
	}
	client, err := source.NewClient(j, source.Surroundings{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	m := &shelfMirror{
		t:   t,
		s:   s,
		job: j,
		db:  db,
	}
	m.try = func() *mirror.Summary {
		t.Helper()
		s.asked.Store(0)
		s.lists.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.seen = func(n int64) {
			if n == m.cut {
				cancel()
			}
		}
		sum, err := mirror.Run(ctx, mirror.Options{
			Confirm: -1,
			Job:     j,
			State:   st,
			Site:    db,
			Fetcher: client,
			Robots:  source.NewRobots(j, client, nil),
			Hosts:   new(fetch.Hosts),
			Now:     func() time.Time { return s.now.Add(36 * time.Hour) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	m.sync = func() *mirror.Summary {
		t.Helper()
		sum := m.try()
		if sum.Verdict != mirror.Complete {
			t.Fatalf("%+v", sum)
		}
		return sum
	}
	return m
}

// next is another week.
func (m *shelfMirror) next() { m.s.now = m.s.now.AddDate(0, 0, 7) }

// have is the digest of every file of the mirror by its path.
func (m *shelfMirror) have() map[string][32]byte {
	out := map[string][32]byte{}
	if err := m.db.Records.Resources(func(rec *record.Resource) error {
		if rec.InSet && !rec.Listing {
			out[rec.URL.Path()] = rec.Digest
		}
		return nil
	}); err != nil {
		m.t.Fatal(err)
	}
	return out
}

// A site of which listings tell everything is synced for half a year under adaptive: a few directories are
// busy, the others silent but for a change now and then. There are 300 directories with MIRRORD_LONG, and
// half a year; else 100, and 20 weeks.
func TestListingsThatPayInBulk(t *testing.T) {
	t.Parallel()
	const busy = 5
	dirs, weeks := sized(100, 300), sized(20, 30)
	s := newShelf(dirs, 20)
	m := mirrorShelf(t, s, nil)
	m.sync()
	rng := rand.New(rand.NewPCG(4, 1))
	since := map[string]int{} // week of each change that the mirror has not found
	total, worst := int64(0), 0
	for week := 1; week <= weeks; week++ {
		m.next()
		before := s.truth()
		for d := range busy {
			name := s.dirs[d*7]
			if rng.IntN(4) == 0 {
				continue
			}
			s.put(name, fmt.Sprintf("%s-%02d.txt", name, rng.IntN(8)), fmt.Sprintf("text of week %d\n", week))
			if rng.IntN(5) == 0 {
				s.put(name, fmt.Sprintf("%s-new-%02d.txt", name, week), "came\n")
			}
			if gone := fmt.Sprintf("%s-%02d.txt", name, 10+week%10); d == 2 && s.files[name][gone].text != "" {
				s.remove(name, gone)
			}
		}
		if week%8 == 3 { // a silent one
			name := s.dirs[dirs-50+week]
			s.put(name, name+"-03.txt", fmt.Sprintf("text of week %d\n", week))
		}
		want := s.truth()
		for p := range before {
			if before[p] != want[p] {
				since[p] = week
			}
		}
		for p := range want {
			if _, ok := before[p]; !ok {
				since[p] = week
			}
		}
		sum := m.sync()
		have := m.have()
		for p, w := range since {
			got, in := have[p]
			if digest, exists := want[p]; in == exists && got == digest {
				delete(since, p)
				worst = max(worst, week-w)
				continue
			}
			if d := strings.Split(p, "/")[1]; slices.Contains(s.dirs[:busy*7], d) {
				t.Errorf("week %d: %s of a busy directory was missed", week, p)
			}
			if week-w > int(m.job.Limits.MaxSkip) {
				t.Errorf("week %d: %s changed in week %d", week, p, w)
			}
		}
		for p := range want {
			if _, in := have[p]; !in && since[p] == 0 {
				t.Fatalf("week %d: %s has left the mirror", week, p)
			}
		}
		total += s.asked.Load()
		t.Logf("week %2d: %3d requests, %3d listings of directories; spared %v", week, s.asked.Load(),
			s.lists.Load(), sum.Spared)
	}
	t.Logf("%d requests in %d weeks for %d directories; the latest change was found after %d weeks", total,
		weeks, dirs, worst)
	for i := range 3 {
		m.next()
		sum := m.sync()
		t.Logf("nothing changed: %d requests, %d listings; spared %v", s.asked.Load(), s.lists.Load(), sum.Spared)
		if n := s.asked.Load(); n >= int64(dirs) {
			t.Errorf("%d. pass over a site without changes: %d requests for %d directories", i+1, n, dirs)
		}
	}
	if total*100 >= int64(weeks*dirs*sized(95, 60)) { // those who request every listing have 100
		t.Errorf("%d requests in %d weeks for %d directories", total, weeks, dirs)
	}
}

// busyShelf is a mirror of a shelf after some weeks, in which the first directory changed in every one.
func busyShelf(t *testing.T, dirs, files, weeks int, set func(*jobfile.Job)) *shelfMirror {
	s := newShelf(dirs, files)
	m := mirrorShelf(t, s, set)
	m.sync()
	for week := range weeks {
		m.next()
		s.put("d000", "d000-00.txt", fmt.Sprintf("text of week %d\n", week))
		m.sync()
	}
	return m
}

// wantTruth holds the mirror against the site.
func (m *shelfMirror) wantTruth() {
	m.t.Helper()
	have, want := m.have(), m.s.truth()
	for p, d := range want {
		if have[p] != d {
			m.t.Errorf("%s is not as it is on the site", p)
		}
	}
	for p := range have {
		if _, ok := want[p]; !ok {
			m.t.Errorf("%s is still in the mirror", p)
		}
	}
}

func TestTideIsFoundByListingsAtOnce(t *testing.T) {
	t.Parallel()
	m := busyShelf(t, 60, 8, 12, nil)
	m.next()
	m.sync()
	if n := m.s.lists.Load(); n > 30 {
		t.Errorf("%d listings of 60 in a week without changes", n)
	}
	m.next()
	for d, files := range m.s.files { // every file of every second directory, the silent ones among them
		if d[3]%2 == 0 {
			for f := range files {
				m.s.put(d, f, "another edition of "+f+"\n")
			}
		}
	}
	m.sync()
	m.wantTruth()
}

// What a directory's time tells its parent is found at once: that an entry came or went.
func TestParentTellsOfADirectory(t *testing.T) {
	t.Parallel()
	m := busyShelf(t, 40, 8, 12, nil)
	m.next()
	for _, d := range []string{"d017", "d031"} {
		m.s.put(d, d+"-new.txt", "came\n")
	}
	m.s.remove("d023", "d023-05.txt")
	delete(m.s.files, "d012") // as a whole
	m.sync()
	m.wantTruth()
	if n := m.s.lists.Load(); n > 30 {
		t.Errorf("%d listings of 40", n)
	}
}

// When nothing ever pays, max_skip bounds how long a listing is left alone, and nothing leaves the mirror
// because its listing was not asked.
func TestListingsAreAskedWithinMaxSkip(t *testing.T) {
	t.Parallel()
	const dirs, skip = 40, 6
	m := busyShelf(t, dirs, 5, 3, func(j *jobfile.Job) { j.Adaptive.Price, j.Limits.MaxSkip = 1, skip })
	files := len(m.have())
	m.s.put("d020", "d020-02.txt", "changed once\n")
	total, found := int64(0), -1
	for week := range 2 * skip {
		m.next()
		sum := m.sync()
		if total += m.s.lists.Load(); sum.Skipped == 0 && m.s.lists.Load() < dirs {
			t.Errorf("nothing was skipped: %+v", sum)
		}
		have := m.have()
		if len(have) != files {
			t.Fatalf("%d files of %d", len(have), files)
		}
		if found < 0 && have["/d020/d020-02.txt"] == sha256.Sum256([]byte("changed once\n")) {
			found = week
		}
	}
	if found < 0 || found > skip {
		t.Errorf("a change was found after %d runs, max_skip is %d", found, skip)
	}
	if total > 4*dirs {
		t.Errorf("%d listings in %d runs for %d directories: max_skip is %d", total, 2*skip, dirs, skip)
	}
}

// A run that is interrupted among the listings resumes, and finds what a run in one go finds.
func TestInterruptedAmongListings(t *testing.T) {
	t.Parallel()
	for _, after := range []int64{6, 2, 14} {
		if after != 6 && !long() {
			continue
		}
		m := busyShelf(t, 40, 8, 12, nil)
		m.next()
		for _, d := range []string{"d000", "d011", "d029"} {
			m.s.put(d, d+"-new.txt", "came\n")
			m.s.put(d, d+"-01.txt", "another text\n")
		}
		m.s.remove("d000", "d000-05.txt")
		m.cut = after
		if sum := m.try(); sum.Verdict != mirror.Partial {
			t.Fatalf("cut off after %d requests: %v", after, sum.Verdict)
		}
		m.cut = 0
		m.sync()
		m.wantTruth()
	}
}
