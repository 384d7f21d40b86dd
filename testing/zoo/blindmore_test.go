// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// paceCases are sites that limit how fast they are asked.
func paceCases() []Exhibit {
	return []Exhibit{
		{
			Name: "a rate limiter at two requests a second",
			Site: func() *Site { return Village(15).Twist(limiter(429, 2, time.Second)) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 80},
				{Run: 2, Verdict: "complete", Pages: "all", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 80},
			},
		},
		{
			Name: "a rate limiter with Retry-After",
			Site: func() *Site { return Village(15).Twist(limiter(429, 10, 30*time.Second, "Retry-After: 30")) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 80},
			},
		},
		{
			Name: "a rate limiter with Retry-After that answers 503",
			Job:  "polite.connections = 8",
			Site: func() *Site { return Village(15).Twist(limiter(503, 10, 30*time.Second, "Retry-After: 30")) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 80},
			},
		},
		{
			Name: "a rate limiter and many connections",
			Job:  "polite.connections = 12",
			Site: func() *Site { return Village(15).Twist(limiter(429, 2, time.Second)) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 100},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 100},
			},
		},
		{
			Name: "everything answers 429 for ever",
			Site: func() *Site { return Village(15).Twist(When(2, 0, Status(429, "Retry-After: 30"), "/*")) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "partial", Pages: "all *@1", Requests: 12, Says: []string{"429"}},
				{Run: 4, Verdict: "partial", Pages: "all *@1", Requests: 12, Says: []string{"429"}},
			},
			Part: "*",
		},
		{
			Name: "a section answers 429 with Retry-After",
			Site: func() *Site {
				return Village(20).Twist(When(2, 0, Status(429, "Retry-After: 30"), "/docs/*.html"))
			},
			Want: []Want{
				{Run: 2, Verdict: "gaps", Pages: "all /docs/*.html@1", Requests: 100},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*.html@1", Requests: 100},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "a section answers 429",
			Site: func() *Site { return Village(20).Twist(When(2, 0, Status(429), "/docs/*.html")) },
			Want: []Want{
				{Run: 2, Verdict: "gaps", Pages: "all /docs/*.html@1", Requests: 100},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*.html@1", Requests: 100},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "the whole site asks to wait for two minutes",
			Site: func() *Site {
				return Village(10).Twist(func(v Visit) *Reply {
					if v.Run == 2 && v.In > 3*time.Second && v.In < 2*time.Minute {
						return Status(503, "Retry-After: 120")
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 2, Verdict: "complete", Pages: "all", Requests: 50},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
	}
}

// silenceCases are sites of which requests get no header.
func silenceCases() []Exhibit {
	midway := func(job string) Exhibit {
		return Exhibit{
			Name: "silence begins in the middle of a run " + job,
			Job:  job,
			Site: func() *Site {
				return Village(20).Twist(func(v Visit) *Reply {
					if v.Run == 2 && v.In > 5*time.Second {
						return &Reply{Hang: true}
					}
					return nil
				})
			},
			Want: []Want{ // 5 s, polite.timeout, and the gap of politeness
				{Run: 2, Verdict: "partial", Pages: "all *@+", Within: 37 * time.Second},
				{Run: 3, Verdict: "complete", Pages: "all *@+"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		}
	}
	return []Exhibit{
		midway(""),
		midway("polite.connections = 1"),
		{
			Name: "the entry page and a section never answer",
			Site: func() *Site { return Village(8).Twist(When(2, 0, &Reply{Hang: true}, "/", "/docs/*")) },
			Want: []Want{
				{Run: 2, Verdict: "gaps", Pages: "all /@1 /docs/*@1", Requests: 60},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /@1 /docs/*@1", Requests: 60},
			},
			Part: "/ /docs/*",
		},
		{
			Name: "a slow site",
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					a := v.Page()
					a.After = 25 * time.Second
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 30},
				{Run: 2, Verdict: "complete", Pages: "all", Requests: 30},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 30},
			},
			Part: "*",
		},
	}
}

// limiter answers a status to what exceeds a number of requests in a time.
func limiter(status, most int, in time.Duration, fields ...string) Twist {
	var mu sync.Mutex
	var recent []time.Time
	return func(v Visit) *Reply {
		mu.Lock()
		defer mu.Unlock()
		for len(recent) > 0 && v.Now.Sub(recent[0]) >= in {
			recent = recent[1:]
		}
		if len(recent) >= most {
			return Status(status, fields...)
		}
		recent = append(recent, v.Now)
		return nil
	}
}

// contentCases are sites that say something else than they mean.
func contentCases() []Exhibit {
	return []Exhibit{
		{
			Name: "36 honest notes of one template",
			Site: func() *Site {
				s := Village(36, "notes")
				for i := 1; i <= 36; i++ {
					s.Add(fmt.Sprintf("/notes/%d.html", i), Doc("Note", Edition+fmt.Sprintf("<p>Number %02d.", i)))
				}
				return s
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
		},
		{
			Name: "a chain of CGI pages without end",
			Job:  `programs.suffixes = []` + "\n" + `programs.dirs = []`,
			Site: func() *Site {
				return Village(17).Link("/", `<a href="/cgi-bin/next.cgi?step=1">on</a>`).Twist(func(v Visit) *Reply {
					if !v.At("/cgi-bin/*") {
						return nil
					}
					var step int
					fmt.Sscan(v.Query.Get("step"), &step)
					return HTML("Next", fmt.Sprintf(`<a href="/cgi-bin/next.cgi?step=%d">on and on</a>`, step+1))
				})
			},
			Want: []Want{
				{
					Run:      1,
					Verdict:  "complete",
					Pages:    "all",
					Extra:    110,
					Requests: 160,
					Says:     []string{"/cgi-bin/next.cgi"},
				},
				{Run: 2, Verdict: "complete", Pages: "all", Extra: 110, Requests: 260},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 110, Requests: 260},
			},
			Part: "/cgi-bin/*",
		},
		{
			Name: "a calendar without end",
			Site: func() *Site {
				return Village(10).Link("/", `<a href="/cal/2000/01/">calendar</a>`).Twist(func(v Visit) *Reply {
					var y, m int
					if n, _ := fmt.Sscanf(v.Path, "/cal/%d/%d/", &y, &m); n != 2 {
						return nil
					}
					next := y*12 + m
					return HTML(fmt.Sprintf("%d-%02d", y, m), fmt.Sprintf(`No events. <a href="/cal/%04d/%02d/">next</a>`,
						next/12, next%12+1))
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Extra: 210, Requests: 260},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 210, Requests: 460},
			},
			Part: "/cal/*",
		},
		{
			Name: "soft 404 with status 200",
			Site: func() *Site {
				return Village(10).Link("/docs/", many(6, `<a href="/lost/%d.html">lost</a> `)).Twist(func(v Visit) *Reply {
					if a := v.Page(); a.Status == http.StatusNotFound && v.Path != "/favicon.ico" {
						return HTML("Sorry", "<p>We could not find "+v.Path+", but have a look at our offers.")
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Extra: 7, Requests: 36},
				{Run: 2, Verdict: "complete", Pages: "all", Extra: 7},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 7},
			},
			Part: "/lost/*",
		},
		{
			Name: "a consent wall comes down over everything",
			Site: func() *Site {
				return Village(10).Twist(When(2, 0, HTML("Before you continue",
					"<p>We value your privacy. <button>Accept all</button>"), "*.html", "*/"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "suspicious", Pages: "all *@1"},
				{Run: 4, Verdict: "suspicious", Pages: "all *@1"},
			},
			Part: "*",
		},
		{
			Name: "a consent wall is lifted again",
			Site: func() *Site {
				return Village(10).Twist(When(2, 2, HTML("Before you continue",
					"<p>We value your privacy. <button>Accept all</button>"), "*.html", "*/"))
			},
			Want: []Want{
				{Run: 2, Verdict: "suspicious", Pages: "all *@1"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "a consent wall that redirects at first",
			Site: func() *Site {
				return Village(10).Add("/consent", Doc("Consent", "<p>Please agree.")).Twist(func(v Visit) *Reply {
					if v.Run == 2 && !v.At("/consent*", "/robots.txt", "*.css", "*.png") {
						return Moved(302, "/consent?to="+v.Path)
					}
					if v.Path == "/consent" {
						return HTML("Consent", "<p>Please agree.")
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all /consent@?"},
				{Run: 2, Verdict: "suspicious", Pages: "all *@1 /consent@?", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all /consent@?"},
			},
			Part: "*",
		},
		{
			Name: "a session id for each visit",
			Site: func() *Site {
				visits := 0
				var mu sync.Mutex
				return Village(8).Twist(func(v Visit) *Reply {
					plain, _, _ := strings.Cut(v.URL, "?")
					a := v.site.page(plain, v.Run, v.Now)
					if a.Status != 0 || !strings.Contains(a.Header[0], "html") {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					sid := v.Query.Get("PHPSESSID")
					if sid == "" {
						visits++
						sid = fmt.Sprintf("%032x", visits*7919)
					}
					a.Body = strings.ReplaceAll(a.Body, `.html"`, `.html?PHPSESSID=`+sid+`"`)
					a.Header = []string{"Content-Type: text/html"}
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Extra: 0, Requests: 60},
				{Run: 2, Verdict: "complete", Pages: "all", Extra: 0, Requests: 60},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 0, Requests: 60},
			},
		},
		{
			Name: "a language redirect",
			Site: func() *Site {
				s := Village(8, "en", "de")
				return s.Twist(func(v Visit) *Reply {
					if v.Path != "/" {
						return nil
					}
					if strings.HasPrefix(v.Header.Get("Accept-Language"), "de") || v.Run == 3 {
						return Moved(302, "/de/")
					}
					return Moved(302, "/en/")
				}).Link("/en/", `<a href="/de/">Deutsch</a>`).Link("/de/", `<a href="/en/">English</a>`)
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all /@? /logo.png@?"},
				{Run: 3, Verdict: "complete", Pages: "all /@? /logo.png@?"},
				{Run: 4, Verdict: "complete", Pages: "all /@? /logo.png@?"},
			},
			Part: "/",
		},
		{
			Name: "moved to https between runs",
			Site: func() *Site {
				s := Village(8)
				for u, body := range Village(8).Pages {
					s.Add("https"+strings.TrimPrefix(u, "http"), body)
				}
				return s.Origin("https://www.example.org", func(v Visit) Outage {
					if v.Run == 1 {
						return Refused
					}
					return Up
				}).Twist(func(v Visit) *Reply {
					if v.Run > 1 && v.Origin == Home {
						return Moved(301, "https"+strings.TrimPrefix(v.URL, "http"))
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all https:*@?"},
				{Run: 2, Verdict: "complete", Pages: "all http:*@?", Requests: 80},
				{Run: 4, Verdict: "complete", Pages: "all http:*@?", Requests: 80},
			},
			Part: "http:*",
		},
		{
			Name: "clock wrong by a day, ahead",
			Site: func() *Site { return wrongClock(24 * time.Hour) },
			Want: everFresh(),
		},
		{
			Name: "clock wrong by a day, behind",
			Site: func() *Site { return wrongClock(-24 * time.Hour) },
			Want: everFresh(),
		},
		{
			Name: "Last-Modified of now on everything",
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					a := v.Page()
					if a.Status == 0 {
						a.Header = []string{a.Header[0], "Last-Modified: " + v.Now.UTC().Format(http.TimeFormat)}
					}
					return a
				})
			},
			Want: everFresh(),
		},
		{
			Name: "every conditional request answers 304",
			Job:  `policy = "full"`,
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					if v.Header.Get("If-None-Match") != "" || v.Header.Get("If-Modified-Since") != "" {
						if v.At("/docs/*") {
							return &Reply{Status: 304}
						}
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete", Pages: "all /docs/*@+", Requests: 40},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*@+", Requests: 50},
			},
			Part: "/docs/*",
		},
	}
}

func everFresh() []Want {
	return []Want{
		{Run: 1, Verdict: "complete", Pages: "all"},
		{Run: 2, Verdict: "complete", Pages: "all"},
		{Run: 4, Verdict: "complete", Pages: "all"},
	}
}

// wrongClock is a site that takes another time for now.
func wrongClock(by time.Duration) *Site {
	s := Village(8)
	s.Dated = true
	return s.Twist(func(v Visit) *Reply {
		now := v.Now.Add(by)
		a := v.site.page(v.URL, v.Run, now)
		if a.Status == 0 {
			a.Header = append(a.Header, "Date: "+now.UTC().Format(http.TimeFormat))
		}
		return a
	})
}

// sitemapCases are sites whose sitemap does not help.
func sitemapCases() []Exhibit {
	sitemap := func(text string) func() *Site {
		return func() *Site {
			s := Village(8).Add("/sitemap.xml", text)
			s.Add("/robots.txt", "User-agent: *\nSitemap: "+Home+"/sitemap.xml\n")
			return s
		}
	}
	const head = `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
	return []Exhibit{
		{
			Name: "a sitemap that is cut off",
			Site: sitemap(head + `<url><loc>http://www.example.org/docs/1.html</loc><lastmod>1999-01-01</lastmod></url><url><loc>http://www.exam`),
			Want: everFresh(),
		},
		{
			Name: "a sitemap of dead pages",
			Site: sitemap(head + many(30, `<url><loc>http://www.example.org/old/%d.html</loc></url>`) + `</urlset>`),
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 100},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 100},
			},
			Part: "/old/*",
		},
		{
			Name: "a sitemap whose lastmod never changes",
			Site: sitemap(head + many(8, `<url><loc>http://www.example.org/docs/%d.html</loc><lastmod>1999-01-01</lastmod></url>`) + `</urlset>`),
			Want: everFresh(),
		},
		{
			Name: "a sitemap that answers 500",
			Site: func() *Site { return sitemap(head)().Twist(When(1, 0, Status(500), "/sitemap.xml")) },
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "/sitemap.xml",
		},
	}
}
