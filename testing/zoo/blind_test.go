// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"strings"
	"time"
)

// many are n links or pictures.
func many(n int, format string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// withCDN is a village whose pictures and a style sheet come from another host of its domain.
func withCDN(pictures int) *Site {
	s := Village(5).Link("/", many(pictures, `<img src="http://cdn.example.org/%d.svg" alt="">`))
	for i := 1; i <= pictures; i++ {
		s.Add(fmt.Sprintf("http://cdn.example.org/%d.svg", i),
			fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg"><desc>edition {n} of %d</desc></svg>`, i))
	}
	return s
}

// originCases are sites of which an origin is down. They were written from the text of the issue, before a
// look at the code that treats them, as were those of the other tables of this file.
func originCases() []Exhibit {
	const other = "http://www.example.org:8081"
	httpsLink := func(f Outage) func() *Site {
		return func() *Site {
			return Village(5).Link("/", `<a href="https://www.example.org/docs/1.html">safe</a>`).
				Origin("https://www.example.org", Always(f))
		}
	}
	linked := []Want{
		{Run: 1, Verdict: "complete|gaps", Pages: "all", Down: "https://www.example.org"},
		{Run: 2, Verdict: "complete|gaps", Pages: "all", Down: "https://www.example.org"},
		{Run: 4, Verdict: "complete", Pages: "all", Left: "https://www.example.org", Says: []string{"https:"}},
	}
	return []Exhibit{
		{Name: "https link, port refused", Site: httpsLink(Refused), Want: linked},
		{Name: "https link, plain http on the port", Site: httpsLink(NotTLS), Want: linked},
		{Name: "https link, certificate of another name", Site: httpsLink(BadCert), Want: linked},
		{
			Name: "picture on a closed port",
			Site: func() *Site {
				return Village(5).Link("/news/", `<img src="`+other+`/counter.gif">`).Origin(other, Always(Refused))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all", Down: other, Says: []string{other}},
				{Run: 4, Verdict: "complete", Pages: "all", Left: other, Says: []string{other}},
			},
		},
		{
			Name: "picture on an unreachable host",
			Site: func() *Site {
				return Village(5).Link("/news/", many(9, `<img src="http://img.example.org/%d.gif">`)).
					Origin("http://img.example.org", Always(Unreachable))
			},
			Want: []Want{
				{Run: 1, Verdict: "gaps", Pages: "all", Down: "http://img.example.org"},
				{Run: 4, Verdict: "complete", Pages: "all", Left: "http://img.example.org"},
			},
		},
		{
			Name: "content network down from the start",
			Site: func() *Site { return withCDN(8).Origin("http://cdn.example.org", Always(Refused)) },
			Want: []Want{
				{
					Run:     1,
					Verdict: "gaps",
					Pages:   "all http://cdn*@-",
					Down:    "http://cdn.example.org",
					Says:    []string{"cdn.example.org"},
				},
				{Run: 2, Verdict: "complete|gaps", Pages: "all http://cdn*@-", Down: "http://cdn.example.org"},
				{
					Run:     4,
					Verdict: "complete",
					Pages:   "all http://cdn*@-",
					Left:    "http://cdn.example.org",
					Says:    []string{"accepted as missing", "cdn.example.org"},
				},
			},
			Part: "http://cdn*",
		},
		{
			Name: "content network goes down for ever",
			Site: func() *Site { return withCDN(8).Origin("http://cdn.example.org", From(2, BlackHole)) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "gaps", Pages: "all http://cdn*@1", Says: []string{"cdn."}, Within: 10 * time.Minute},
				{Run: 4, Verdict: "complete|gaps", Pages: "all http://cdn*@1"},
			},
			Part: "http://cdn*",
		},
		{
			Name: "pictures of a dead host that are others in each run",
			Site: func() *Site {
				return Village(5).Origin("http://img.example.org", Always(Refused)).Twist(func(v Visit) *Reply {
					if !v.At("/news/") {
						return nil
					}
					a := v.Page()
					pictures := many(6, fmt.Sprintf(`<img src="http://img.example.org/%d-%%d.png">`, v.Run))
					a.Body, a.Header = strings.Replace(a.Body, "</body>", pictures+"</body>", 1), a.Header[:1]
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "gaps", Pages: "all", Says: []string{"6 URLs", "since 2000-01-01"}},
				{Run: 2, Verdict: "gaps", Pages: "all", Says: []string{"6 URLs", "since 2000-01-01"}},
				{Run: 4, Verdict: "complete", Pages: "all", Says: []string{"6 URLs", "since 2000-01-01", "4 runs"}},
			},
		},
		{
			Name: "content network answers 503",
			Site: func() *Site {
				return withCDN(12).Twist(When(2, 0, Status(503), "http://cdn.example.org/*"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "gaps", Pages: "all http://cdn*@1", Down: "http://cdn.example.org"},
				{Run: 4, Verdict: "complete|gaps", Pages: "all http://cdn*@1", Down: "http://cdn.example.org"},
			},
			Part: "http://cdn*",
		},
		{
			Name: "content network is silent for one run",
			Site: func() *Site {
				return withCDN(8).Origin("http://cdn.example.org", func(v Visit) Outage {
					if v.Run == 2 {
						return Silent
					}
					return Up
				})
			},
			Want: []Want{
				{Run: 2, Verdict: "gaps", Pages: "all http://cdn*@1", Within: 5 * time.Minute},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "http://cdn*",
		},
		{
			Name: "whole site answers 503 in one run",
			Site: func() *Site { return Village(10).Twist(When(2, 2, Status(503), "/*")) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "partial", Pages: "all *@1", Requests: 8, Says: []string{Home}, Down: Home},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "whole site refuses connections in one run",
			Site: func() *Site {
				return Village(20).Origin(Home, func(v Visit) Outage {
					if v.Run == 2 {
						return Refused
					}
					return Up
				})
			},
			Want: []Want{
				{Run: 2, Verdict: "partial", Pages: "all *@1", Down: Home, Within: 5 * time.Minute},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
		{
			Name: "outage of hours in the middle",
			Site: func() *Site {
				return Village(20).Origin(Home, func(v Visit) Outage {
					if v.Run == 2 && v.In > 8*time.Second && v.In < 5*time.Hour {
						return Refused
					}
					return Up
				}).Twist(func(v Visit) *Reply {
					if v.Run == 2 && v.In > 8*time.Second && v.In < 5*time.Hour {
						return &Reply{Reset: true}
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "partial|complete", Pages: "all *@+", Within: 24 * time.Hour},
				{Run: 3, Verdict: "complete", Pages: "all *@+"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "*",
		},
	}
}

// partCases are sites of which some URLs are broken.
func partCases() []Exhibit {
	return []Exhibit{
		{
			Name: "one URL asks to wait for a day",
			Site: func() *Site {
				return Village(10).Twist(When(1, 0, Status(503, "Retry-After: 86400"), "/docs/3.html"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all /docs/3.html@-", Says: []string{"/docs/3.html"}},
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/3.html@-"},
				{Run: 4, Verdict: "complete", Pages: "all /docs/3.html@-"},
			},
			Part: "/docs/3.html",
		},
		{
			Name: "one URL asks to wait for a day, from the second run on",
			Site: func() *Site {
				return Village(10).Twist(When(2, 0, Status(429, "Retry-After: 86400"), "/docs/3.html"))
			},
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/3.html@1"},
				{Run: 4, Verdict: "complete", Pages: "all /docs/3.html@1"},
			},
			Part: "/docs/3.html",
		},
		{
			// How many retries fall before the pause of the template goes by their random waits: 48 to 63 were seen.
			Name: "one template answers 500",
			Site: func() *Site { return Village(8).Twist(When(1, 0, Status(500), "/docs/*.html")) },
			Want: []Want{
				{Run: 1, Verdict: "gaps", Pages: "all /docs/*.html@-", Requests: 70, Says: []string{"/docs/1.html"}},
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/*.html@-", Requests: 70},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*.html@-", Requests: 70, Says: []string{"8 URLs"}},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "one template begins to answer 502",
			Site: func() *Site { return Village(8).Twist(When(2, 0, Status(502), "/docs/*.html")) },
			Want: []Want{
				{Run: 2, Verdict: "gaps", Pages: "all /docs/*.html@1", Requests: 70},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*.html@1", Requests: 70},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "30 pages in a row answer 500",
			Site: func() *Site { return Village(30).Twist(When(2, 0, Status(500), "/docs/*.html")) },
			Want: []Want{
				{
					Run:      2,
					Verdict:  "gaps",
					Pages:    "all /docs/*.html@1",
					Requests: 220,
					Silent:   []string{"left for the next"},
				},
				{Run: 4, Verdict: "complete", Pages: "all /docs/*.html@1", Requests: 220},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "one URL trickles",
			Site: func() *Site {
				return Village(10).Twist(func(v Visit) *Reply {
					if !v.At("/news/2.html") {
						return nil
					}
					a := v.Page()
					a.Drip = 5 * time.Second
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all /news/2.html@-", Within: 5 * time.Minute},
				{Run: 4, Verdict: "complete", Pages: "all /news/2.html@-", Within: 5 * time.Minute},
			},
			Part: "/news/2.html",
		},
		{
			Name: "one URL never answers",
			Site: func() *Site { return Village(10).Twist(When(2, 0, &Reply{Hang: true}, "/news/2.html")) },
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /news/2.html@1", Within: 15 * time.Minute},
				{Run: 4, Verdict: "complete", Pages: "all /news/2.html@1", Within: 15 * time.Minute},
			},
			Part: "/news/2.html",
		},
		{
			Name: "one of three seeds is dead",
			Job:  `url = ["http://www.example.org/docs/", "http://dead.example.org/", "http://www.example.org/news/"]`,
			Site: func() *Site {
				return Village(6).Origin("http://dead.example.org", Always(Refused))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all /@- /logo.png@-", Says: []string{"dead.example.org"}},
				{Run: 2, Verdict: "complete|gaps", Pages: "all /@- /logo.png@-"},
				{Run: 4, Verdict: "complete", Pages: "all /@- /logo.png@-", Says: []string{"dead.example.org"}},
			},
		},
		{
			Name: "one of two seeds dies later",
			Job:  `url = ["http://www.example.org/docs/", "http://www.example.org/news/"]`,
			Site: func() *Site { return Village(6).Twist(When(3, 0, Status(500), "/docs/")) },
			Want: []Want{
				{Run: 2, Verdict: "complete", Pages: "all /@- /logo.png@-"},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /docs/@2 /@- /logo.png@-"},
			},
			Part: "/docs/",
		},
		{
			Name: "all seeds are dead",
			Job:  `url = ["http://www.example.org/docs/", "http://www.example.org/news/"]`,
			Site: func() *Site { return Village(6).Twist(When(1, 2, Status(500), "/docs/", "/news/")) },
			Want: []Want{
				{Run: 1, Verdict: "partial", Pages: "none"},
				{Run: 2, Verdict: "partial", Pages: "none"},
				{Run: 4, Verdict: "complete", Pages: "all /@- /logo.png@-"},
			},
			Part: "/docs/ /news/",
		},
		{
			Name: "a deploy answers 404 for a minute",
			Site: func() *Site {
				return Village(20).Twist(func(v Visit) *Reply {
					if v.Run == 2 && v.In > 3*time.Second && v.In < 63*time.Second {
						return Status(404)
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete|gaps|partial", Pages: "all *@+", Requests: 120},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 120},
			},
			Part: "*",
		},
		{
			Name: "a small site loses a page",
			Site: func() *Site { return Village(5, "notes").Twist(When(2, 0, Status(410), "/notes/4.html")) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete", Pages: "all /notes/4.html@?"},
				{Run: 4, Verdict: "complete", Pages: "all /notes/4.html@-"},
			},
			Part: "/notes/4.html",
		},
		{
			Name: "a section behind a login",
			Site: func() *Site {
				return Village(6, "docs", "news", "members").Twist(func(v Visit) *Reply {
					if v.At("/members/*") {
						return Moved(302, "/login?next="+v.Path)
					}
					return nil
				}).Add("/login", Doc("Log in", "<form>Name and password</form>")).
					Twist(When(1, 0, HTML("Log in", "<form>Name and password</form>"), "/login?*"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all /members/*@? /login@?", Extra: 10},
				{Run: 4, Verdict: "complete", Pages: "all /members/*@? /login@?", Extra: 10},
			},
			Part: "/members/* /login*",
		},
		{
			Name: "a section closes with 401",
			Site: func() *Site {
				return Village(6, "docs", "news", "members").
					Twist(When(2, 0, Status(401, `WWW-Authenticate: Basic realm="members"`), "/members/*"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete|gaps", Pages: "all /members/*@?"},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /members/*@?"},
			},
			Part: "/members/*",
		},
	}
}
