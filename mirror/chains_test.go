// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
)

// program answers what nothing else does: paths with a query by page, all else with 404.
func program(w *mirrortest.Web, page func(r *http.Request) string) {
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		body := ""
		if r.URL.RawQuery != "" {
			body = page(r)
		}
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

// An endless chain is left out by its pattern, soon, and the rest of the site is published, in each run.
func TestChainsAreLeftOut(t *testing.T) {
	list := func(r *http.Request) string {
		var start int
		fmt.Sscanf(r.URL.Query().Get("start"), "%d", &start)
		items := ""
		for i := start; (i < start+10) && (i < 55); i++ {
			items += "<li>" + letters(i, 5)
		}
		return fmt.Sprintf(`<title>List</title>%s showing %d to %d <a href="/list.php?start=%d">next</a>`,
			items, start, start+10, start+10)
	}
	for _, c := range []struct {
		name, to, pattern string
		page              func(*http.Request) string
		good              int // pages of the chain that stay
	}{
		{"calendar", "/cal.php?month=2026-11", "/cal.php?month=…", calendar, 1},
		{"list beyond its end", "/list.php?start=0", "/list.php?start=…", list, 6},
		{"the same page", "/x.php?n=1", "/x.php?n=…", func(r *http.Request) string {
			return fmt.Sprintf(`<title>X</title>nothing here <a href="/x.php?n=1%s">next</a>`, r.URL.Query().Get("n"))
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			leadTo(w, c.to)
			program(w, c.page)
			m := mirrortest.New(t, w, job())
			for run := range 3 {
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, run == 0)
				wantText(t, s, c.pattern+" was left out as a trap", "limits.max_stale")
				n := 0
				for _, r := range w.Requests() {
					if strings.Contains(r.URL, "?") {
						n++
					}
				}
				if most := []int{100, 20, 20}[run]; n > most {
					t.Errorf("run %d: %d requests for the chain", run+1, n)
				}
				if (s.Files < 35+c.good) || (s.Files > 35+c.good+12) {
					t.Errorf("run %d: %d files", run+1, s.Files)
				}
			}
			m.Set("limits.max_stale", "0")
			m.Set("limits.max_variants", "60")
			if s := m.Run(); s.Files < 35+50 {
				t.Errorf("taken in: %s", mirrortest.Text(s))
			}
		})
	}
}

// An archive of numbered pages, each with a text of its own, is never cut.
func TestArchivesAreNoChains(t *testing.T) {
	for name, text := range map[string]func(i int) string{
		"texts":           func(i int) string { return letters(i, 40) },
		"short texts":     func(i int) string { return letters(i, 5) },
		"numbers":         func(i int) string { return mirrortest.Words(uint32(i+1), 60) },
		"images, no text": func(i int) string { return fmt.Sprintf("<img src=/img%d.png>", i) },
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			leadTo(w, "/a.php?page=1")
			program(w, func(r *http.Request) string {
				var i int
				if fmt.Sscanf(r.URL.Query().Get("page"), "%d", &i); i > 500 {
					return ""
				}
				return fmt.Sprintf(`<title>Archive</title>%s%s page %d <a href="/a.php?page=%d">next</a>`,
					longMenu(), text(i), i, i+1)
			})
			m := mirrortest.New(t, w, job())
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Files < 535 {
				t.Error(mirrortest.Text(s))
			}
		})
	}
}
