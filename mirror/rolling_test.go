// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

func newsItem(i int) string {
	return fmt.Sprintf("/news/%s-%d.html", []string{"storm", "vote", "match", "trial"}[i%4], 7919*i)
}

// newsPage is a front page with 45 other pages and the newest items, up to last, which each need a picture.
func newsPage(w *mirrortest.Web, last, shown int, sitemap bool) {
	var links, news, urls strings.Builder
	for i := range 45 {
		fmt.Fprintf(&links, "<a href=/page%02d.html>%d</a> ", i, i)
		p := fmt.Sprintf("%s/page%02d.html", home, i)
		w.Set(p, mirrortest.HTML(fmt.Sprint("Page ", i), "<p>"+prose(i, 0)))
	}
	for i := last; i > last-shown; i-- {
		p := newsItem(i)
		fmt.Fprintf(&news, "<li><a href=%q>%d</a> ", p, i)
		fmt.Fprintf(&urls, "<url><loc>%s</loc></url>", home+p)
		img := fmt.Sprintf("/img%d/a.png", i) // no two in one folder
		w.Set(home+img, mirrortest.Page{Body: fmt.Sprint("png", i)})
		says := fmt.Sprintf("<img src=%q><p>%s", img, prose(500+i, 0))
		w.Set(home+p, mirrortest.HTML(fmt.Sprint("Item ", i), says))
	}
	if sitemap {
		rules := "User-agent: *\nDisallow:\nSitemap: " + home + "/news.xml\n"
		w.Set(home+"/robots.txt", mirrortest.Page{Body: rules})
		w.Set(home+"/news.xml", mirrortest.Page{
			Header: map[string]string{"Content-Type": "application/xml"},
			Body:   `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + urls.String() + "</urlset>",
		})
		news.Reset()
	}
	w.Set(home+"/", mirrortest.HTML("News", links.String()+news.String()))
}

// A list of the newest pages rolls: what leaves it still answers, and as many others came. Nothing waits for
// acceptance, run after run. A list that gets shorter, and one whose pages are gone, are a loss as ever.
func TestRollingList(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		for _, sitemap := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, sitemap %v", policy, sitemap), func(t *testing.T) {
				w := mirrortest.Start(t)
				newsPage(w, 10, 10, sitemap)
				m := mirrortest.New(t, w, fmt.Sprintf("policy = %q\n", policy)+job())
				wantVerdict(t, m.Run(), mirror.Complete, true)
				last := 10
				for _, more := range []int{8, 3, 10, 9, 8, 30, 8} { // of 30 only the newest were ever seen
					last += more
					newsPage(w, last, 10, sitemap)
					s := m.Run()
					wantVerdict(t, s, mirror.Complete, true)
					if s.Files < 46+2*10 || (policy == "full" && s.Files > 47+2*10) {
						t.Errorf("%d files, want 66 or 67; more only while orphans wait", s.Files)
					}
				}
			})
		}
	}
	for name, change := range map[string]func(w *mirrortest.Web){
		"half as long": func(w *mirrortest.Web) { newsPage(w, 12, 3, false) },
		"gone": func(w *mirrortest.Web) {
			for i := 3; i < 11; i++ {
				w.Remove(home + newsItem(i))
			}
			newsPage(w, 20, 10, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			newsPage(w, 10, 10, false)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			change(w)
			wantVerdict(t, m.Run(), mirror.Suspicious, false)
		})
	}
}
