// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// program answers what nothing else does by page, but with 404 when page returns nothing.
func program(w *mirrortest.Web, page func(r *http.Request) string) {
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		body := page(r)
		if body == "" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, body)
	}})
}

// leadTo makes the entry page of a hub of 34 pages lead to a program.
func leadTo(w *mirrortest.Web, to string) {
	hub(w, 34)
	page := w.Page(home + "/")
	page.Body += fmt.Sprintf("<a href=%q>more</a>", to)
	w.Set(home+"/", page)
}

func calendar(r *http.Request) string {
	var y, m int
	if _, err := fmt.Sscanf(r.URL.Query().Get("month"), "%d-%d", &y, &m); err != nil {
		return ""
	}
	at := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	fmt.Fprintf(&b, "<title>%s</title><h1>%[1]s</h1> Mo Tu We Th Fr Sa Su ", at.Format("January 2006"))
	for d := range 30 {
		fmt.Fprintf(&b, "<td>%d</td> ", d+1)
	}
	for _, by := range []int{-1, 1} {
		to := at.AddDate(0, by, 0)
		fmt.Fprintf(&b, `<a href="/cal.php?month=%s">%s</a> `, to.Format("2006-01"), to.Format("January"))
	}
	return b.String()
}

// adjacent is a calendar whose months have the days of their neighbors, too, and a page for each day.
func adjacent(r *http.Request) string {
	var y, m, d int
	if n, _ := fmt.Sscanf(r.URL.Path, "/cal/%d/%d/%d/", &y, &m, &d); n == 3 {
		at := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
		return fmt.Sprintf("<title>%s</title>No events. <a href=\"/cal/%s/\">next day</a>",
			at.Format("Monday, January 2, 2006"), at.AddDate(0, 0, 1).Format("2006/01/02"))
	}
	if n, _ := fmt.Sscanf(r.URL.Path, "/cal/%d/%d/", &y, &m); n != 2 {
		return ""
	}
	at := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	fmt.Fprintf(&b, "<title>%s</title>Mo Tu We Th Fr Sa Su ", at.Format("January 2006"))
	begin := at.AddDate(0, 0, -int(at.Weekday()+6)%7)
	for d := range 42 {
		day := begin.AddDate(0, 0, d)
		fmt.Fprintf(&b, `<a href="/cal/%s/">%d</a> `, day.Format("2006/01/02"), day.Day())
	}
	next := at.AddDate(0, 1, 0)
	fmt.Fprintf(&b, `<a href="/cal/%s/">%s</a>`, next.Format("2006/01"), next.Format("January"))
	return b.String()
}

// deeper is a site that answers every path below /shop/ with one page, whose relative links lead deeper.
func deeper(r *http.Request) string {
	if !strings.HasPrefix(r.URL.Path, "/shop/") {
		return ""
	}
	links := ""
	for _, s := range strings.Fields("shoes hats coats bags belts") {
		links += fmt.Sprintf("<a href=%q>%s</a> ", s+"/", s)
	}
	return fmt.Sprintf(`<title>Shop</title>There is no page %s. %s <img src="logo.png"> Made in %d ms.`,
		r.URL.Path, links, len(r.URL.Path)*7)
}

// An endless chain is left out by its pattern, soon, and the rest of the site is published, in each run.
func TestChainsAreLeftOutInBulk(t *testing.T) {
	list := func(r *http.Request) string {
		var start int
		if n, _ := fmt.Sscanf(r.URL.Query().Get("start"), "%d", &start); n == 0 {
			return ""
		}
		items := ""
		for i := start; (i < start+10) && (i < 55); i++ {
			items += "<li>" + letters(i, 5)
		}
		return fmt.Sprintf(`<title>List</title>%s showing %d to %d <a href="/list.php?start=%d">next</a>`,
			items, start, start+10, start+10)
	}
	for _, c := range []struct {
		name, to string
		below    string // addresses of the chain begin so
		pattern  string
		page     func(*http.Request) string
		good     int // pages of the chain that stay, at least
		most     int // requests for its pages in the first run
		again    int // in later ones
	}{
		{"calendar", "/cal.php?month=2026-11", "/cal.php", "/cal.php?month=…", calendar, 1, 60, 30},
		{"calendar with days", "/cal/2026/11/", "/cal/", "/cal/#/#/", adjacent, 43, 160, 100}, // two chains
		{"days of a calendar", "/cal/2026/11/20/", "/cal/", "/cal/#/#/#/", adjacent, 1, 100, 50},
		{"list beyond its end", "/list.php?start=0", "/list", "/list.php?start=…", list, 6, 50, 25},
		{"the same page", "/x.php?n=1", "/x.php", "/x.php?n=…", func(r *http.Request) string {
			n := r.URL.Query().Get("n")
			if n == "" {
				return ""
			}
			return fmt.Sprintf(`<title>X</title>nothing here <a href="/x.php?n=1%s">next</a>`, n)
		}, 1, 20, 10},
		{"ever deeper", "/shop/", "/shop/", "/shop/…", deeper, 1, 60, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			leadTo(w, c.to)
			program(w, c.page)
			m := mirrortest.New(t, w, job())
			for run := range 3 {
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, run == 0)
				wantText(t, s, c.pattern+" was left out as a trap", "limits.traps")
				n := 0
				for _, r := range w.Requests() {
					if strings.HasPrefix(r.URL, home+c.below) {
						n++
					}
				}
				if most := []int{c.most, c.again, c.again}[run]; n > most {
					t.Errorf("run %d: %d requests for the chain", run+1, n)
				}
				if (s.Files < 35+c.good) || (s.Files > 35+c.good+30) {
					t.Errorf("run %d: %d files", run+1, s.Files)
				}
			}
			m.Set("limits.traps", "off")
			m.Set("limits.max_files", "85")
			if s := m.Run(); s.Files < 85 {
				t.Errorf("taken in: %s", mirrortest.Text(s))
			}
		})
	}
}

// An archive of numbered pages, each with something of its own, is never left out, however alike they are.
func TestArchivesAreNoChainsInBulk(t *testing.T) {
	const months = 200
	for _, c := range []struct {
		name, path string                 // of a page, with its number
		page       func(i int) string     // its content, without the link to the next one
		more       func(i int) (p string) // addresses that the pages lead to
	}{
		{"texts", "/a.php?page=%d", func(i int) string { return letters(i, 40) }, nil},
		{"short texts", "/a.php?page=%d", func(i int) string { return letters(i, 5) }, nil},
		{"numbers", "/a.php?page=%d", func(i int) string { return mirrortest.Words(uint32(i+1), 60) }, nil},
		{"pictures without text", "/photo/%d.html", func(i int) string {
			return fmt.Sprintf("<img src=/img%d.png>", i)
		}, nil},
		{"weather of each day", "/weather/2026/%d/", func(i int) string {
			return fmt.Sprintf("At noon it was %d.%d degrees and %d mm of rain fell.", i*7919%40, i*104729%10, i*31%23)
		}, nil},
		{"months of a blog, with titles", "/blog/%d/", func(i int) string {
			return fmt.Sprintf("<a href=/posts/%d-news/>Weekly news</a> <a href=/posts/%[1]d-report/>Report</a>", i)
		}, func(i int) string { return fmt.Sprintf("/posts/%d-news/", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			leadTo(w, fmt.Sprintf(c.path, 1))
			program(w, func(r *http.Request) string {
				var i int
				if n, _ := fmt.Sscanf(r.URL.RequestURI(), c.path, &i); (n == 1) && (i >= 1) && (i <= months) {
					return fmt.Sprintf(`<title>Archive</title>%s%s page %d <a href="%s">next</a>`,
						longMenu(), c.page(i), i, fmt.Sprintf(c.path, i+1))
				}
				if n, _ := fmt.Sscanf(r.URL.Path, "/posts/%d-news/", &i); n == 1 {
					return letters(i, 30)
				}
				return ""
			})
			m := mirrortest.New(t, w, job())
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if text := mirrortest.Text(s); (s.Files < 35+months) || strings.Contains(text, "trap") {
				t.Error(text)
			}
		})
	}
}

// A code browser lists its commits from each of them, in as many lines as a parameter says that is handed on
// to every link, and twice that and half of it, without end. The mirror ends, and has each commit and file.
func TestListsOfGrowingLengthInBulk(t *testing.T) {
	w, asked := mirrortest.Start(t), atomic.Int64{}
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		rw.Header().Set("Content-Type", "text/html")
		view, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		commit, lines, hand := browserCommits-1, 10, ""
		if len(id) > 2 {
			commit = numberIn(id, 0)
		}
		if n := r.URL.Query().Get("revcount"); n != "" {
			lines, _ = strconv.Atoi(n)
			hand = "?revcount=" + n
		}
		link := func(view string, n int, hand string) {
			fmt.Fprintf(rw, "<a href='/%s/%s%s'>%s</a> ", view, commitID(n)[:12], hand, view)
		}
		fmt.Fprintf(rw, "<title>%s</title><p>", view)
		if view == "rev" || view == "file" {
			fmt.Fprint(rw, mirrortest.Words(uint32(commit*2+len(view)), 60))
		}
		for n := commit; n >= 0 && n > commit-lines && view != "file"; n-- {
			fmt.Fprintf(rw, "<p>%s ", mirrortest.Words(uint32(1000+n), 5))
			link("rev", n, hand)
		}
		for _, view := range []string{"shortlog", "graph", "rev", "file"} {
			link(view, commit, hand)
		}
		if view == "shortlog" || view == "graph" {
			link(view, commit, fmt.Sprint("?revcount=", min(2*lines, 1<<60)))
			link(view, commit, fmt.Sprint("?revcount=", max(lines/2, 1)))
			link(view, max(commit-lines, 0), hand)
		}
	}})
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	all := strings.Join(slices.Collect(maps.Values(m.Tree())), "\n")
	for n := range browserCommits {
		for _, view := range []string{"rev", "file"} {
			if !strings.Contains(all, mirrortest.Words(uint32(n*2+len(view)), 60)) {
				t.Errorf("the %s of commit %d is missing", view, n)
			}
		}
	}
	if asked.Load() > 12*4*browserCommits {
		t.Errorf("%d requests:\n%s", asked.Load(), mirrortest.Text(s))
	}
}
