// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"strings"
	"time"

	"mirrord/testing/mirrortest"
)

// trapCases are endless chains of pages, and honest sites with many pages that are nearly alike.
func trapCases() []Exhibit {
	return []Exhibit{
		{
			Name: "a calendar of days without end",
			Site: func() *Site {
				return Village(10).Link("/", `<a href="/day?at=2026-11-20">today</a>`).Twist(func(v Visit) *Reply {
					at, err := time.Parse(time.DateOnly, v.Query.Get("at"))
					if (err != nil) || (v.Path != "/day") {
						return nil
					}
					return HTML(at.Format("Monday, 2 January 2006"), fmt.Sprintf(
						`<p>Nothing is planned. <a href="/day?at=%s">before</a> <a href="/day?at=%s">after</a>`,
						at.AddDate(0, 0, -1).Format(time.DateOnly), at.AddDate(0, 0, 1).Format(time.DateOnly)))
				})
			},
			Want: []Want{
				{
					Run:      1,
					Verdict:  "complete",
					Pages:    "all",
					Extra:    60,
					Requests: 160,
					Says:     []string{"/day?at=… was left out as a trap"},
				},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 60, Requests: 130},
			},
			Part: "/day*",
		},
		{
			// The months are a trap, but for the current one, which the entry page names.
			Name: "a calendar of which the entry page names a month",
			Site: func() *Site {
				month := func(n int) string {
					at := time.Date(2026, time.Month(n), 1, 0, 0, 0, 0, time.UTC)
					return at.Format("/cal/2006/01/")
				}
				s := Village(10)
				for run := 1; run <= lasting; run++ {
					s.Add(month(run), "")
				}
				return s.Twist(func(v Visit) *Reply {
					if v.At("/") {
						a := v.Page()
						a.Body = strings.Replace(a.Body, "</body>", `<a href="`+month(v.Run)+`">now</a></body>`, 1)
						a.Header[1] = "ETag: " + tag(a.Body)
						return a
					}
					var y, m int
					if n, _ := fmt.Sscanf(v.Path, "/cal/%d/%d/", &y, &m); n != 2 {
						return nil
					}
					return HTML("Calendar", fmt.Sprintf(`<p>Nothing is planned. <a href="%s">next</a>`, month(12*y-24312+m+1)))
				})
			},
			Want: []Want{
				{
					Run:      1,
					Verdict:  "complete",
					Pages:    "all /cal/*@- /cal/2026/01/@+ /cal/2026/02/@?",
					Requests: 80,
					Says:     []string{"/cal/#/#/ was left out as a trap"},
				},
				{Run: 2, Verdict: "complete", Pages: "all /cal/*@? /cal/2026/02/@+ /cal/2026/03/@-", Requests: 60},
				{Run: 4, Verdict: "complete", Pages: "all /cal/*@? /cal/2026/04/@+ /cal/2026/05/@-", Requests: 60},
			},
			Part: "/cal/*",
		},
		{
			// The navigation of the error page is relative, and it says how long it took.
			Name: "soft 404 with a relative menu",
			Site: func() *Site {
				return Village(10).Link("/", `<a href="/shop/">Shop</a>`).Twist(func(v Visit) *Reply {
					if !v.At("/shop/*") {
						return nil
					}
					return HTML("Shop", fmt.Sprintf("<p>There is no %s. ", v.Path)+many(8, `<a href="menu%d/">menu</a> `)+
						fmt.Sprintf("<p>Made in %d ms.", 3+v.Count%40))
				})
			},
			Want: []Want{
				{
					Run:      1,
					Verdict:  "complete",
					Pages:    "all",
					Extra:    100,
					Requests: 160,
					Says:     []string{"/shop/… was left out as a trap"},
				},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 100, Requests: 160},
			},
			Part: "/shop/*",
		},
		{
			Name: "an archive of months that all have posts",
			Site: func() *Site {
				s := Village(4).Link("/", `<a href="/blog/1996/01/">archive</a>`)
				for i := range 80 {
					month := func(i int) string { return fmt.Sprintf("/blog/%d/%02d/", 1996+i/12, i%12+1) }
					post := fmt.Sprintf("/post-%s/", strings.ReplaceAll(mirrortest.Words(uint32(i), 3), " ", "-"))
					next := ""
					if i < 79 {
						next = fmt.Sprintf(`<a href="%s">next month</a>`, month(i+1))
					}
					s.Add(month(i), Doc("Archive", fmt.Sprintf(`One post: <a href="%s">read it</a> %s`, post, next)))
					s.Add(post, Doc("Post", Edition+mirrortest.Words(uint32(5000+i), 30)))
				}
				return s
			},
			Want: honest(),
			Part: "/blog/* /post-*",
		},
		{
			// Each page names the one after it and the one before it; all words of most pages are in others too.
			Name: "a reference of functions that are alike",
			Site: func() *Site {
				s := Village(4).Link("/", `<a href="/api/fn1.html">reference</a>`)
				types := strings.Fields("int long float double char short")
				for i := 1; i <= 100; i++ {
					s.Add(fmt.Sprintf("/api/fn%d.html", i), Doc("Function", fmt.Sprintf(
						`<pre>%s fn%d(%s, %s)</pre> Returns %[1]s. <a href="/api/fn%[5]d.html">before</a> <a href="/api/fn%[6]d.html">next</a>`,
						types[i%6], i, types[i/6%6], types[i/36%6], max(i-1, 1), min(i+1, 100))))
				}
				return s
			},
			Want: honest(),
			Part: "/api/*",
		},
		{
			Name: "a gallery whose pages have nothing but photos",
			Site: func() *Site {
				s := Village(4).Link("/", `<a href="/photo.php?n=1">photos</a>`)
				for i := 1; i <= 80; i++ {
					s.Add(fmt.Sprintf("/photo.php?n=%d", i), Doc("Photo", fmt.Sprintf(
						`<img src="/photo%d.png"> %[1]d of 80 <a href="/photo.php?n=%d">next</a>`, i, min(i+1, 80))))
					s.Add(fmt.Sprintf("/photo%d.png", i), fmt.Sprint("\x89PNG\r\n\x1a\n", i))
				}
				return s
			},
			Want: honest(),
			Part: "/photo*",
		},
	}
}

// honest wants all pages of a site, in each run, and no word of a trap.
func honest() (out []Want) {
	for _, w := range everFresh() {
		w.Silent = append(w.Silent, "trap")
		out = append(out, w)
	}
	return out
}
