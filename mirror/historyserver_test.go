// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/replay"
)

// historyServer serves a recorded site as it was at one of its versions, with contents made from their
// records. Every directory has a page of its own that links to its members, and tells no times.
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

// next moves to the next version, and returns what it changes.
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
// count as the same; and some more bytes when it is larger.
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

func (s *historyServer) advance() []string { return s.next() }

func (s *historyServer) state() map[string][32]byte { return s.truth() }

func (s *historyServer) count() int64 { return s.asked.Load() }

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

// linkedHistory is a history as historyServer serves it: each directory has a page that names the members of
// it.
func linkedHistory(t *testing.T, h *replay.History, versions int) *replay.History {
	t.Helper()
	var b replay.Builder
	by := map[string]string{}
	s := newHistoryServer(h)
	pageOf := func(dir string) string { return strings.TrimPrefix(dir+"/", "/") + "=" }
	before := map[string]string{}
	for v := range versions {
		if v > 0 {
			s.next()
		}
		now := map[string]string{}
		for dir, text := range s.listings {
			dir = strings.Trim(dir, "/")
			now[pageOf(dir)] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
			if dir != "" {
				by[pageOf(dir)] = pageOf(strings.TrimPrefix(path.Dir("/"+dir), "/"))
			}
		}
		for p, n := range s.pages {
			if p = strings.TrimPrefix(p, "/"); s.content[n] != replay.Gone {
				now[p] = fmt.Sprintf("%08d", s.content[n])
				by[p] = pageOf(strings.TrimPrefix(path.Dir("/"+p), "/"))
			}
		}
		var records []replay.Record
		for p, blob := range now {
			if before[p] != blob {
				records = append(records, replay.Record{Path: p, Blob: blob, Size: 100})
			}
		}
		for p := range before {
			if _, ok := now[p]; !ok {
				records = append(records, replay.Record{Path: p})
			}
		}
		slices.SortFunc(records, func(a, b replay.Record) int { return strings.Compare(a.Path, b.Path) })
		if err := b.Add(h.Versions[v].Time, "", records); err != nil {
			t.Fatal(err)
		}
		before = now
	}
	b.Linked(by)
	b.First("=")
	return b.History()
}
