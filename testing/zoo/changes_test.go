// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"strings"
	"time"

	"mirrord/testing/mirrortest"
)

// changeCases are sites and jobs that change between runs.
func changeCases() []Exhibit {
	const wall = "<p>We value your privacy. <button>Accept all</button>"
	return []Exhibit{
		{
			Name: "a held back run is repeated rarely",
			Each: 2 * time.Hour,
			Site: func() *Site {
				return Village(10).Twist(When(2, 4, HTML("Before you continue", wall), "*.html", "*/"))
			},
			Want: []Want{
				{Run: 2, Verdict: "suspicious", Pages: "all *@1"},
				{Run: 3, Verdict: "suspicious", Pages: "all *@1", Requests: 10},
				{Run: 4, Verdict: "suspicious", Pages: "all *@1", Requests: 10},
				{Run: 5, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "a resumed run that is too old",
			Job:  `schedule = "@every 24h"`,
			Each: 72 * time.Hour,
			Site: func() *Site {
				down := func(v Visit) bool { return v.Run == 2 && v.In > 8*time.Second }
				return Village(20).Origin(Home, func(v Visit) Outage {
					if down(v) {
						return Refused
					}
					return Up
				}).Twist(func(v Visit) *Reply {
					if down(v) {
						return &Reply{Reset: true}
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 2, Verdict: "partial", Pages: "all *@1"},
				{Run: 3, Verdict: "complete|gaps", Pages: "all *@+"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "pages get another extension",
			Site: func() *Site {
				s := Village(10)
				for u, body := range Village(10).Pages {
					if strings.HasSuffix(u, ".html") {
						s.Add(strings.TrimSuffix(u, ".html")+".htm", body)
					}
				}
				return s.Twist(func(v Visit) *Reply {
					short, isLong := strings.CutSuffix(v.URL, ".html")
					switch {
					case v.Run == 1 && v.At("*.htm"):
						return Status(404)
					case v.Run > 1 && isLong:
						return Moved(301, short+".htm")
					case v.Run > 1 && v.At("*/"):
						a := v.Page()
						a.Body = strings.ReplaceAll(a.Body, ".html", ".htm")
						a.Header[1] = "ETag: " + tag(a.Body)
						return a
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all *.htm@-"},
				{Run: 2, Verdict: "complete", Pages: "all *.html@?", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all *.html@-"},
			},
			Part: "*.html",
		},
		{
			// As bundlers do: page requisites have other names after each deploy, and the old one is gone.
			Name: "style sheets are named after their build",
			Site: func() *Site { return built("-%x.css") },
			Want: everRenamed(),
			Part: "/assets/*",
		},
		{
			// Caches are to take an answer for a new one; the server does not look at the query.
			Name: "style sheets have another query in each run",
			Site: func() *Site { return built(".css?v=%x") },
			Want: everRenamed(),
			Part: "/assets/*",
		},
		{
			// As programs fail whose errors are not shown.
			Name: "pages are empty in one run",
			Site: func() *Site {
				empty := &Reply{Header: []string{"Content-Type: text/html"}}
				return Village(10).Twist(When(2, 2, empty, "/docs/*.html"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "gaps", Pages: "all /docs/*.html@1", Requests: 60, Says: []string{"empty page"}},
				{Run: 3, Verdict: "complete", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "a page is empty for ever",
			Site: func() *Site {
				empty := &Reply{Header: []string{"Content-Type: text/html"}}
				return Village(10).Twist(When(2, 0, empty, "/docs/3.html"))
			},
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/3.html@1", Says: []string{"empty page"}},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /docs/3.html@1"},
				{Run: 5, Verdict: "complete", Pages: "all /docs/3.html@?", Silent: []string{"empty page"}},
			},
			Part: "/docs/3.html",
		},
		{
			// Each condition costs one request in vain, and none is sent again.
			Name: "a server that answers 412 to conditions",
			Site: func() *Site {
				return Village(10).Twist(func(v Visit) *Reply {
					if v.Header.Get("If-None-Match") != "" {
						return Status(412)
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete", Pages: "all", Requests: 70},
				{Run: 3, Verdict: "complete", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
		},
		{
			Name: "pages that turn into files of another type",
			Site: func() *Site {
				return Village(10).Twist(func(v Visit) *Reply {
					if v.Run < 2 || !v.At("/docs/*.html") {
						return nil
					}
					return &Reply{
						Header: []string{"Content-Type: application/pdf"},
						Body:   fmt.Sprintf("%%PDF-1.4 edition %d of %s", v.Run, v.Path),
					}
				})
			},
			Want: everFresh(),
		},
		{
			Name: "the job excludes a section later",
			Site: func() *Site { return Village(10) },
			Before: func(run int, m *mirrortest.Mirror) {
				if run == 3 {
					m.Set("scope.exclude", `["http://www.example.org/news/*"]`)
				}
			},
			Want: []Want{
				{Run: 2, Verdict: "complete", Pages: "all"},
				{Run: 3, Verdict: "complete", Pages: "all /news/*.html@-  /news/@-"},
				{Run: 4, Verdict: "complete", Pages: "all /news/*.html@- /news/@-"},
			},
			Part: "/news/*",
		},
		{
			Name:   "most of a site fails at first",
			Accept: 3,
			Site: func() *Site {
				return Village(12).Twist(When(1, 0, Status(500), "/docs/*.html", "/news/*.html"))
			},
			Want: []Want{
				{Run: 1, Verdict: "partial", Pages: "none", Requests: 140},
				{Run: 3, Verdict: "partial", Pages: "none", Requests: 140},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /docs/*.html@- /news/*.html@-", Requests: 140},
				{Run: 5, Verdict: "complete|gaps", Pages: "all /docs/*.html@- /news/*.html@-", Requests: 140},
			},
			Part: "*", // which URL is known to answer differs with a broken page beside
		},
		{
			Name: "mixed schemes and ports",
			Site: func() *Site {
				s := Village(6).Link("/docs/", `<img src="https://www.example.org/secure.svg">`).
					Link("/news/", `<img src="http://www.example.org:8080/port.svg">`)
				for _, u := range []string{"https://www.example.org/secure.svg", "http://www.example.org:8080/port.svg"} {
					s.Add(u, `<svg xmlns="http://www.w3.org/2000/svg"><desc>edition {n}</desc></svg>`)
				}
				return s
			},
			Want: everFresh(),
		},
		{
			Name: "the name of the site does not resolve in one run",
			Site: func() *Site { return Village(10).Origin(Home, inRun(2, NoName)) },
			Want: []Want{
				{Run: 2, Verdict: "partial", Pages: "all *@1", Down: Home},
				{Run: 3, Verdict: "complete", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "a certificate that is wrong in one run",
			Job:  `url = ["https://www.example.org/"]`,
			Site: func() *Site {
				s := &Site{Pages: map[string]string{}}
				for u, body := range Village(10).Pages {
					s.Add("https"+strings.TrimPrefix(u, "http"), body)
				}
				return s.Origin("https://www.example.org", inRun(2, BadCert))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "partial", Pages: "all *@1", Down: "https://www.example.org"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			// RFC 9309 2.3.1.4: what cannot be had forbids everything.
			Name: "robots.txt answers 500 in two runs",
			Site: func() *Site { return Village(10).Twist(When(2, 3, Status(500), "/robots.txt")) },
			Want: []Want{
				{Run: 2, Verdict: "partial", Pages: "all *@1", Requests: 5, Says: []string{"robots.txt"}},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "a page that vanishes and comes back",
			Site: func() *Site { return Village(10).Twist(When(2, 2, Status(404), "/docs/3.html")) },
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/3.html@?"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
		},
		{
			Name: "404 on what was there, for ever",
			Site: func() *Site {
				return Village(20).Twist(When(2, 0, Status(404), "/docs/3.html", "/docs/4.html"))
			},
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/3.html@? /docs/4.html@?"},
				{Run: 4, Verdict: "complete", Pages: "all /docs/3.html@- /docs/4.html@-"},
			},
			Part: "/docs/3.html /docs/4.html",
		},
	}
}

// inRun is a fault of one run.
func inRun(run int, f Outage) func(Visit) Outage {
	return func(v Visit) Outage {
		if v.Run == run {
			return f
		}
		return Up
	}
}

// built is a village whose entry page needs eight style sheets that are named after the run.
func built(ending string) *Site {
	return Village(10).Twist(func(v Visit) *Reply {
		end := fmt.Sprintf(ending, 0xb117d*v.Run)
		switch {
		case v.At("/"):
			a := v.Page()
			sheets := many(8, `<link rel="stylesheet" href="/assets/part%d`+end+`">`)
			a.Body = strings.Replace(a.Body, "</head>", sheets+"</head>", 1)
			a.Header[1] = "ETag: " + tag(a.Body)
			return a
		case v.At("/assets/*" + end):
			return &Reply{
				Header: []string{"Content-Type: text/css"},
				Body:   "p { color: #abc } /* " + v.Path + " */",
			}
		}
		return nil
	})
}

// everRenamed wants all pages of a site as fresh as the run, in each run, and what they need.
func everRenamed() (out []Want) {
	for run := 1; run <= lasting; run++ {
		out = append(out, Want{
			Run:      run,
			Verdict:  "complete",
			Pages:    "all",
			Extra:    16,
			Requests: 80,
		})
	}
	return out
}
