// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// issueCases are sites that broke other programs, as their issues tell. Heads are as recorded there, with the
// names of this zoo.
func issueCases() []Exhibit {
	return []Exhibit{
		{
			// On an update a page declares its length and the connection ends half way: HTTrack deleted the good copy.
			Name: "a body that ends early on the second visit",
			From: "xroche/httrack#562",
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					if v.Run < 2 || !v.At("/docs/2.html") {
						return nil
					}
					a := v.Page()
					a.Cut = true
					return a
				})
			},
			Want: keepsOld("/docs/2.html"),
			Part: "/docs/2.html",
		},
		{
			// The connection closes before any answer on later visits.
			Name: "a connection that drops before the response",
			From: "xroche/httrack#746",
			Site: func() *Site {
				return Village(8).Add("/reset.bin", "edition {n} of a binary").Link("/", `<a href="/reset.bin">file</a>`).
					Twist(When(2, 0, &Reply{Reset: true}, "/reset.bin"))
			},
			Want: keepsOld("/reset.bin"),
			Part: "/reset.bin",
		},
		{
			// One dropped hub page cost its whole subtree.
			Name: "a hub page that fails",
			From: "xroche/httrack#1390",
			Site: func() *Site { return Village(8).Twist(When(2, 0, &Reply{Reset: true}, "/docs/")) },
			Want: keepsOld("/docs/"),
			Part: "/docs/",
		},
		{
			// A page redirects to itself to set a cookie. The job keeps cookies.
			Name: "a cookie wall that redirects to itself",
			From: "xroche/httrack#15",
			Job:  `auth.cookies = true`,
			Site: func() *Site { return Village(8).Twist(cookieWall("/news/*")) },
			Want: everFresh(),
		},
		{
			Name: "a cookie wall, and a job without cookies",
			From: "xroche/httrack#537",
			Site: func() *Site { return Village(8, "docs", "news", "shop").Twist(cookieWall("/shop/*")) },
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all /shop/*@-"},
				{Run: 4, Verdict: "complete", Pages: "all /shop/*@-"},
			},
			Part: "/shop/*",
		},
		{
			Name: "robots.txt redirects to itself",
			From: "xroche/httrack#258",
			Site: func() *Site {
				return Village(8).Twist(When(1, 0, Moved(301, Home+"/robots.txt"), "/robots.txt"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 50},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 50},
			},
			Part: "/robots.txt",
		},
		{
			Name: "Content-Range in an answer of 200",
			From: "xroche/httrack#7",
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					a := v.Page()
					if a.Status == 0 {
						a.Header = append(a.Header, fmt.Sprintf("Content-Range: bytes 0-%d/%d", len(a.Body)-1, len(a.Body)))
					}
					return a
				})
			},
			Want: everFresh(),
		},
		{
			Name: "pages that answer 403 on an update",
			From: "xroche/httrack#176",
			Site: func() *Site {
				return Village(8).Twist(When(3, 0, Status(403), "/news/1.html", "/news/2.html", "/docs/7.html"))
			},
			Want: []Want{
				{Run: 2, Verdict: "complete", Pages: "all"},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /news/1.html@? /news/2.html@? /docs/7.html@?"},
			},
			Part: "/news/1.html /news/2.html /docs/7.html",
		},
		{
			// 21 pages come, then 429 for everything that is asked too fast, without Retry-After.
			Name: "a content network that answers 429 after twenty pages",
			From: "webrecorder/browsertrix-crawler#392",
			Site: func() *Site { return Village(30).Twist(limiter(429, 20, time.Minute)) },
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 130},
				{Run: 2, Verdict: "complete", Pages: "all", Requests: 130},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 130},
			},
		},
		{
			Name: "seeds of which three have no name",
			From: "webrecorder/browsertrix-crawler#563",
			Job: `url = ["http://1234nix.example.org/", "http://faili.example.org/", "http://www.example.org/", ` +
				`"http://failhere.example.org/"]`,
			Site: func() *Site { return Village(8) },
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all", Says: []string{"1234nix.example.org"}},
				{Run: 4, Verdict: "complete", Pages: "all", Says: []string{"1234nix.example.org"}},
			},
		},
		{
			Name: "a seed that redirects to www",
			From: "webrecorder/browsertrix-crawler#475",
			Job:  `url = ["http://example.org/"]`,
			Site: func() *Site {
				return Village(8).Add("http://example.org/x", "").
					Twist(When(1, 0, Moved(301, Home+"/"), "http://example.org/*"))
			},
			Want: []Want{
				{Run: 1, Verdict: "partial", Pages: "none", Says: []string{"is that the url to give"}, Requests: 3},
				{Run: 4, Verdict: "partial", Pages: "none", Says: []string{"is that the url to give"}, Requests: 3},
			},
			Part: "http://example.org/*",
		},
		{
			Name: "many seeds at a host that goes offline",
			From: "webrecorder/browsertrix-crawler#879",
			Job: `url = ["http://www.example.org/", ` +
				strings.TrimSuffix(many(12, `"http://old.example.org/%d/", `), ", ") + `]`,
			Site: func() *Site {
				s := Village(8).Origin("http://old.example.org", From(2, BlackHole))
				for i := 1; i <= 12; i++ {
					s.Add(fmt.Sprintf("http://old.example.org/%d/", i), Doc(fmt.Sprint("Old ", i), Edition))
				}
				return s
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 60},
				{Run: 2, Verdict: "gaps", Pages: "all http://old*@1", Within: 5 * time.Minute},
				{Run: 4, Verdict: "complete|gaps", Pages: "all http://old*@1", Within: 5 * time.Minute},
			},
			Part: "http://old*",
		},
		{
			// The name ends with .gz, the head says gzip, and the body is neither.
			Name: "a sitemap.xml.gz that is not compressed",
			From: "webrecorder/browsertrix-crawler#578",
			Site: func() *Site {
				s := Village(8)
				s.Add("/robots.txt", "User-agent: *\nSitemap: "+Home+"/sitemap.xml.gz\n")
				return s.Twist(When(1, 0, &Reply{
					Header: []string{"Content-Type: application/xml", "Content-Encoding: gzip"},
					Body: "<?xml version=\"1.0\"?><urlset><url><loc><![CDATA[" + Home +
						"/docs/1.html]]></loc></url></urlset>",
				}, "/sitemap.xml.gz"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all"},
			},
			Part: "/sitemap.xml.gz",
		},
		{
			// Every path answers with the same page, whose relative links lead one level deeper.
			Name: "soft 404 with relative links",
			From: "webrecorder/browsertrix#3375",
			Site: func() *Site {
				return Village(10).Link("/", `<a href="products/">Products</a>`).Twist(func(v Visit) *Reply {
					if !v.At("/products/*") {
						return nil
					}
					return HTML("Shop", `<p>Page not found. <a href="products/">Products</a> <a href="about/">About</a>`)
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Extra: 100, Requests: 160},
				{Run: 4, Verdict: "complete", Pages: "all", Extra: 100, Requests: 260},
			},
			Part: "/products/*",
		},
		{
			Name: "404 with an empty body",
			From: "webrecorder/browsertrix-crawler#789",
			Site: func() *Site {
				return Village(8).Link("/docs/", `<a href="/wp-content/uploads/2023/01/policy.pdf">policy</a>`).
					Twist(When(1, 0, &Reply{Status: 404}, "/wp-content/*"))
			},
			Want: everFresh(),
			Part: "/wp-content/*",
		},
		{
			// Pages are taken back with 403, which has nothing to do with how fast anybody asks.
			Name: "403 for pages that were taken back",
			From: "webrecorder/browsertrix-crawler#1124",
			Site: func() *Site {
				return Village(12).Link("/", many(7, `<a href="/drafts/%d.html">draft</a> `)).
					Twist(When(1, 0, Status(403), "/drafts/*"))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all"},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 50},
			},
			Part: "/drafts/*",
		},
		{
			// The head of the entry page: 301, Cache-Control: private, and a Location that names the port.
			Name: "an entry that moves to https with its port",
			From: "openzim/zim-requests#730",
			Job:  `url = ["http://www.example.org/en-US/"]`,
			Site: func() *Site {
				s := &Site{Pages: map[string]string{}}
				for u, body := range Village(8, "en-US").Pages {
					s.Add("https"+strings.TrimPrefix(u, "http"), body)
				}
				s.Pages["http://www.example.org/robots.txt"] = "User-agent: *\nDisallow:\n"
				return s.Twist(func(v Visit) *Reply {
					if v.Origin != Home || v.Path == "/robots.txt" {
						return nil
					}
					return Status(301, "Cache-Control: private", "Location: https://www.example.org:443"+v.Path)
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all https://www.example.org/@? *.png@? *.css@?"},
				{Run: 4, Verdict: "complete", Pages: "all https://www.example.org/@? *.png@? *.css@?"},
			},
			Part: "http://*",
		},
		{
			Name: "no robots.txt",
			From: "rockdaboot/wget2#358",
			Site: func() *Site {
				s := Village(8)
				delete(s.Pages, Home+"/robots.txt")
				return s
			},
			Want: everFresh(),
		},
		{
			// 429 without a body and without Retry-After, for ever.
			Name: "one URL that always answers 429",
			From: "rockdaboot/wget2#383",
			Site: func() *Site { return Village(8).Twist(When(1, 0, &Reply{Status: 429}, "/docs/5.html")) },
			Want: []Want{
				{Run: 1, Verdict: "complete|gaps", Pages: "all /docs/5.html@-", Requests: 40},
				{Run: 4, Verdict: "complete", Pages: "all /docs/5.html@-", Requests: 40},
			},
			Part: "/docs/5.html",
		},
		{
			Name: "a directory that redirects to another mirror",
			From: "rockdaboot/wget2#331",
			Site: func() *Site {
				return Village(8).Link("/", `<a href="/pub/images">images</a>`).
					Twist(When(1, 0, Moved(302, "http://ftp.example.net/pub/linux/images/"), "/pub/*"))
			},
			Want: everFresh(),
			Part: "/pub/*",
		},
		{
			Name: "a site with some broken links",
			From: "rockdaboot/wget2#322",
			Site: func() *Site {
				return Village(8).Link("/news/", many(9, `<a href="/wp-content/r%d">broken</a> `))
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Requests: 45},
				{Run: 4, Verdict: "complete", Pages: "all", Requests: 45},
			},
		},
		{
			// The server answers 200 with the same bytes to every conditional request.
			Name: "a server that ignores conditional requests",
			From: "rockdaboot/wget2#124",
			Site: func() *Site {
				s := Village(8)
				for u, body := range s.Pages {
					s.Pages[u] = strings.ReplaceAll(body, "edition {n}", "edition 1")
				}
				return s.Twist(func(v Visit) *Reply {
					a := v.Page()
					if a.Status == 0 {
						a.Header = append(a.Header[:1], "X-Powered-By: nothing")
					}
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all", Version: 1},
				{Run: 4, Verdict: "complete", Pages: "all", Version: 1},
			},
		},
		{
			// What the extractors report: Failed to establish a new connection: [Errno 111] Connection refused.
			Name: "pictures at an https host that refuses",
			From: "ArchiveBox/ArchiveBox#1608",
			Site: func() *Site {
				return Village(8).Link("/docs/", many(6, `<img src="https://bespoke.example.org/2024/%d.png">`)).
					Origin("https://bespoke.example.org", Always(Refused))
			},
			Want: []Want{
				{Run: 1, Verdict: "gaps", Pages: "all", Down: "https://bespoke.example.org"},
				{
					Run:     4,
					Verdict: "complete",
					Pages:   "all",
					Left:    "https://bespoke.example.org",
					Says:    []string{"https://bespoke.example.org"},
				},
			},
		},
		{
			// Random pages answer 403, other ones in each run.
			Name: "a bunch of random 403",
			From: "ArchiveBox/ArchiveBox#136",
			Site: func() *Site {
				return Village(12).Twist(func(v Visit) *Reply {
					var i int
					if n, _ := fmt.Sscanf(v.Path, "/docs/%d.html", &i); n == 1 && i%5 == v.Run%5 {
						return Status(403)
					}
					return nil
				})
			},
			Want: []Want{
				{Run: 2, Verdict: "complete|gaps", Pages: "all /docs/2.html@? /docs/7.html@? /docs/12.html@?"},
				{Run: 4, Verdict: "complete|gaps", Pages: "all /docs/4.html@? /docs/9.html@?"},
			},
			Part: "/docs/*.html",
		},
		{
			Name: "Last-Modified of 1970 on what changes",
			From: "browscap/browscap#2274 (wget)",
			Site: func() *Site {
				return Village(8).Twist(func(v Visit) *Reply {
					a := v.Page()
					if a.Status == 0 {
						a.Header = append(a.Header[:1], "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT")
					}
					return a
				})
			},
			Want: []Want{
				{Run: 1, Verdict: "complete", Pages: "all"},
				{Run: 2, Verdict: "complete", Pages: "all *@+"},
				{Run: 4, Verdict: "complete", Pages: "all *@+"},
			},
			Part: "*",
		},
	}
}

// keepsOld is wanted when one page fails from the second run on.
func keepsOld(u string) []Want {
	return []Want{
		{Run: 1, Verdict: "complete", Pages: "all"},
		{Run: 2, Verdict: "complete|gaps", Pages: "all " + u + "@1", Says: []string{u}},
		{Run: 4, Verdict: "complete", Pages: "all " + u + "@1", Says: []string{u}},
	}
}

// cookieWall redirects clients without a cookie to the same URL, with a cookie.
func cookieWall(pattern string) Twist {
	return func(v Visit) *Reply {
		if !v.At(pattern) || strings.Contains(v.Header.Get("Cookie"), "seen=1") {
			return nil
		}
		return Status(http.StatusFound, "Location: "+v.URL, "Set-Cookie: seen=1; path=/")
	}
}
