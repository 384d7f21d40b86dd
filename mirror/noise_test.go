// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// lots is a site of which each answer has another quote in its margin.
type lots struct {
	w       *mirrortest.Web
	answers atomic.Int64
	texts   []string
}

func newLots(t *testing.T, pages int) *lots {
	l := &lots{w: mirrortest.Start(t), texts: make([]string, pages)}
	var links strings.Builder
	for i := range pages {
		l.texts[i] = fmt.Sprintf("Article %d is about something.", i)
		l.w.Set(fmt.Sprintf("%s/page%02d.html", home, i), l.page(&l.texts[i]))
		fmt.Fprintf(&links, "<a href=page%02d.html>page</a> ", i)
	}
	l.w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	return l
}

// page is a page of the site with a text.
func (l *lots) page(text *string) mirrortest.Page {
	const body = "<!DOCTYPE html><title>Lots</title><h1>Lots</h1><div id=text><p>%s</div>" +
		"<div class=margin><p class=quote>Quote %s</p></div><hr>foot\n"
	return mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(rw, body, *text, strings.Repeat("x", 1+int(l.answers.Add(1)%90)))
	}}
}

// requests returns how many requests a run made, but for those of robots.txt.
func requests(w *mirrortest.Web, run func()) (n int) {
	w.Requests()
	run()
	for _, q := range w.Requests() {
		if !strings.HasSuffix(q.URL, "/robots.txt") {
			n++
		}
	}
	return n
}

func TestPartsDrawnByLotAreNoChange(t *testing.T) {
	l := newLots(t, 8)
	m := mirrortest.New(t, l.w, job())
	n := requests(l.w, func() { // two answers each of two pages show where they differ
		wantVerdict(t, m.Run(), mirror.Complete, true)
	})
	if n != 9+2 {
		t.Errorf("%d requests, want 2 more than 9", n)
	}
	before := m.Stamps()
	for range 3 {
		n := requests(l.w, func() {
			s := m.Run()
			if wantVerdict(t, s, mirror.Complete, false); s.Fetched != 0 {
				t.Errorf("%d fetched", s.Fetched)
			}
		})
		if n < 9 || n > 11 { // a quote that was not seen yet may be an edit
			t.Errorf("%d requests, want 9, or a few more", n)
		}
	}
	if after := m.Stamps(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("the tree was touched")
	}
	if got := explain(t, m, home+"/page01.html"); !strings.Contains(got,
		`differs only where each answer differs: "<p class=quote>"`) ||
		!strings.Contains(got, `noise: each answer differs at <p class=quote> (a region, 1 here)`) {
		t.Errorf("explain does not say why:\n%s", got)
	}
	m.Site(func(s *store.Site) {
		at, err := report.Masked(s)
		if err != nil || len(at) != 1 || at[0].Where != "<p class=quote>" || at[0].Kind != "region" ||
			at[0].Unsure || at[0].Pages < 2 || at[0].Old == at[0].New ||
			!strings.HasPrefix(at[0].URL, home+"/page") {
			t.Errorf("masked: %+v, %v", at, err)
		}
	})
	l.texts[1] = "Article 1 is about something else."
	if s := m.Run(); s.Changed != 1 || !strings.Contains(m.Tree()["page01.html"], l.texts[1]) {
		t.Errorf("%d changed: the change of a text is hidden", s.Changed)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// What changes from run to run, and is the same in two answers of one run, is news.
func TestNewsIsNotDrawnByLot(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 8)
	news := ""
	for i := range 4 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(rw, "<!DOCTYPE html><title>News</title><div id=news><p>%s</div><p>%s", news,
					strings.Repeat("and so on ", 20))
			}})
	}
	m := mirrortest.New(t, w, job())
	more := 0
	for run := range 12 {
		news = "News of the day: " + strings.Repeat("n", run+1)
		more -= 9
		more += requests(w, func() { wantVerdict(t, m.Run(), mirror.Complete, true) })
		if !strings.Contains(m.Tree()["page02.html"], news) {
			t.Fatalf("run %d: the news are hidden", run+1)
		}
	}
	if more > 8+4*2 { // pages of one template, and those that change each time
		t.Errorf("%d requests more than without, want 16 at most", more)
	}
}

// A file that is packed for each answer is unchanged while it has the same.
func TestFilesPackedForEachAnswer(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Hub", "<a href=mails.gz>mails</a>"))
	text, n := "some mails", int64(0)
	w.Set(home+"/mails.gz", mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
		n++
		rw.Header().Set("Content-Type", "application/gzip")
		z := gzip.NewWriter(rw)
		z.ModTime = time.Unix(n, 0)
		_, _ = z.Write([]byte(text))
		_ = z.Close()
	}})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for range 3 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	text = "other mails"
	wantVerdict(t, m.Run(), mirror.Complete, true)
}

// A link to a random page leads where it did; a link to the newest page does not.
func TestRedirectsThatLeadElsewhere(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 6)
	var links strings.Builder
	for i := range 6 {
		fmt.Fprintf(&links, "<a href=page%02d.html>page</a> ", i)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()+"<a href=random>random</a> <a href=latest>latest</a>"))
	n, latest := 0, 0
	w.Set(home+"/random", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		n++
		http.Redirect(rw, r, fmt.Sprintf("page%02d.html", n%6), http.StatusFound)
	}})
	w.Set(home+"/latest", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, fmt.Sprintf("page%02d.html", latest), http.StatusFound)
	}})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()["index.html"]
	for run := range 3 {
		extra := requests(w, func() { wantVerdict(t, m.Run(), mirror.Complete, false) }) - 9
		if want := max(1-run, 0); extra != want {
			t.Errorf("run %d: %d requests more, want %d", run+2, extra, want)
		}
	}
	latest = 3
	wantVerdict(t, m.Run(), mirror.Complete, true)
	want := strings.Replace(before, "page00.html>latest", "page03.html>latest", 1)
	if got := m.Tree()["index.html"]; got != want {
		t.Errorf("the hub is\n%s\nand was\n%s", got, before)
	}
}

// A page that changed names the pixel of its first answer: each answer has the time in the address of another
// one, and none of these comes into the mirror.
func TestPixelOfAChangedPage(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 6)
	var clock atomic.Int64
	clock.Store(1_795_835_000)
	text := "low water"
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				now := clock.Add(1)
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(rw, "<!DOCTYPE html><title>%d</title><p id=t>%s %s<img src='/run.gif?id=%d&amp;%d' alt=''>",
					i, strings.Repeat("and so on ", 20), text, i, now)
				w.Set(fmt.Sprintf("%s/run.gif?id=%d&%d", home, i, now), mirrortest.Page{Body: "GIF89a"})
			}})
	}
	m := mirrortest.New(t, w, job())
	m.Run()
	m.Run()
	before := m.Paths()
	text = "high water"
	if s := m.Run(); s.Changed != 6 || fmt.Sprint(m.Paths()) != fmt.Sprint(before) {
		t.Errorf("%d changed; paths %v, before %v", s.Changed, m.Paths(), before)
	}
	if s := m.Run(); s.Published {
		t.Errorf("published without an edit: %+v", s)
	}
}

// A program that has no order for its newest messages shows them in another one in each answer: no change,
// from the second run on. A message that changed is one, and so is the order of another list.
func TestOrderDrawnByLot(t *testing.T) {
	w := mirrortest.Start(t)
	var links strings.Builder
	for i := range 6 {
		fmt.Fprintf(&links, "<a href=list%d.html>list</a> ", i)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	answers, texts, ranks := 0, []string{"lamp", "oil", "wick", "flame"}, "<li>one<li>two"
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/list%d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				answers++
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(rw, "<!DOCTYPE html><title>List</title><ol>%s</ol><pre>\n", ranks)
				for k := range texts {
					fmt.Fprintf(rw, "%d: %s\n", i, texts[(k+answers)%len(texts)])
				}
				fmt.Fprint(rw, "</pre>")
			},
		})
	}
	m := mirrortest.New(t, w, job("[polite]", "connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for run := 2; run < 5; run++ {
		answers++
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	texts[2] = "smoke"
	if s := m.Run(); s.Changed != 6 {
		t.Errorf("%d lists changed of 6 that have another message", s.Changed)
	}
	ranks = "<li>two<li>one"
	if s := m.Run(); s.Changed != 6 {
		t.Errorf("%d lists changed of 6 that have another order where it is one", s.Changed)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// Pages without classes into which each answer draws items differ in what no element names. They change by
// what the rest says alone. The items are stored again after a week, beside a change elsewhere.
func TestItemsDrawnIntoPagesWithoutClasses(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 16)
	answers, texts, items := 0, make([]string, 16), "item"
	for i := range texts {
		texts[i] = fmt.Sprintf("Article %d is about something.", i)
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				answers++
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				fmt.Fprintf(rw, "<!DOCTYPE html><title>%d</title><h1>Lots</h1><p>%s %s<p>See also", i, texts[i],
					strings.Repeat("and so on ", 40))
				for k := range 1 + answers*7%5 {
					word := strings.Map(func(r rune) rune { return r - '0' + 'k' }, fmt.Sprint(answers*10+k))
					fmt.Fprintf(rw, "<p>%s %s", items, word)
				}
				fmt.Fprint(rw, "<p>End of the page")
			},
		})
	}
	now := time.Now()
	m := mirrortest.New(t, w, job("[polite]", "connections = 1"))
	m.Now = func() time.Time { return now }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for range 6 {
		now = now.Add(24 * time.Hour)
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	if got := explain(t, m, home+"/page01.html"); !strings.Contains(got, "(a part, 1 here)") {
		t.Errorf("explain does not say why:\n%s", got)
	}
	texts[2], items = "Article 2 is about something else.", "thing"
	if s := m.Run(); s.Changed != 1 || !strings.Contains(m.Tree()["page02.html"], texts[2]) {
		t.Errorf("%d changed: the change of a text is hidden", s.Changed)
	}
	now = now.Add(8 * 24 * time.Hour)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	for i := range 8 { // one of them is looked at before some other page
		texts[i] = fmt.Sprintf("Article %d is about something else again.", i)
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	again := 0
	for _, body := range m.Tree() {
		again += min(strings.Count(body, "<p>thing "), 1)
	}
	if again <= 8 { // those whose text changed
		t.Error("old parts stay")
	}
	wantText(t, s, "parts of pages that each answer draws were stored again")
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// An edit in a part of a page for which each answer draws items is found although nothing else changes, and
// the draws make no version: at most one in 53 runs, because what all answers had may have been drawn by
// chance, and the order of requests decides which come.
func TestEditInWhatIsDrawnInBulk(t *testing.T) {
	for name, drawn := range map[string]int{"few": 3, "some": 6} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 8)
			edit, random := "", rand.New(rand.NewPCG(1, uint64(drawn)))
			for i := range 8 {
				w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
					Handle: func(rw http.ResponseWriter, _ *http.Request) {
						rw.Header().Set("Content-Type", "text/html; charset=utf-8")
						fmt.Fprintf(rw, "<!DOCTYPE html><title>%d</title><h1>Lots</h1><p>Article %[1]d %s<p>See also", i,
							strings.Repeat("and so on ", 80))
						if i == 5 {
							fmt.Fprint(rw, edit)
						}
						for _, k := range random.Perm(60)[:drawn] {
							fmt.Fprintf(rw, "<p>item %c%c", 'a'+k%8, 'a'+k/8)
						}
						fmt.Fprint(rw, "<p>End of the page")
					},
				})
			}
			now := time.Now()
			m := mirrortest.New(t, w, job("[polite]", "connections = 1"))
			m.Now = func() time.Time { return now }
			week := func() *mirror.Summary {
				now = now.Add(7 * 24 * time.Hour)
				return m.Run()
			}
			wantVerdict(t, m.Run(), mirror.Complete, true)
			for range 3 { // it may learn more
				week()
			}
			unasked := 0
			quiet := func(weeks int) {
				for range weeks {
					if s := week(); s.Published {
						t.Log(s)
						unasked++
					}
				}
			}
			quiet(20)
			for _, edit = range []string{"<p>Closed on Mondays.", "<p>On Tuesdays.", "<p>Closed on Mondays."} {
				runs := 1
				for s := week(); !s.Published && runs < 12; s = week() {
					runs++
				}
				if !strings.Contains(m.Tree()["page05.html"], edit) || runs > 9 {
					t.Errorf("after %d runs the page lacks the edit, or late", runs)
				}
				quiet(10)
			}
			if unasked > 1 {
				t.Errorf("%d versions of a site that did not change", unasked)
			}
		})
	}
}
