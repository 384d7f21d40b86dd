// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"strings"
	"testing"
	"time"
)

// TestBrokenBesideInBulk gives an ordinary site parts that are broken for ever in ways that take more than
// one answer to be seen. The rest is as fresh as without them.
func TestBrokenBesideInBulk(t *testing.T) {
	const other = "http://other.example.org"
	site := func() *Site {
		return withCDN(3).Link("/docs/", `<a href="/docs/data.pdf">data</a>`).
			Add("/docs/data.pdf", "%PDF edition {n}").
			Add("/sitemap.xml", `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>`+Home+
				`/docs/1.html</loc></url></urlset>`).
			Add("/robots.txt", "User-agent: *\nSitemap: "+Home+"/sitemap.xml\n")
	}
	c := &Exhibit{}
	without := c.Play(t, site(), lasting)
	for _, way := range []struct {
		name   string
		broken string // the part, in the form of Want.Pages
		within time.Duration
		twist  Twist
	}{
		{
			name:   "a redirect loop through two hosts",
			broken: "/news/3.html " + other + "/*",
			twist: func(v Visit) *Reply {
				switch {
				case v.At("/news/3.html"):
					return Moved(302, other+"/back")
				case v.At(other + "/back"):
					return Moved(302, Home+"/news/3.html")
				}
				return nil
			},
		},
		{
			name:   "an endless redirect",
			broken: "/news/3.html /on/*",
			twist: func(v Visit) *Reply {
				if v.At("/news/3.html", "/on/*") {
					return Moved(302, "/on"+strings.TrimPrefix(v.Path, "/on")+"x")
				}
				return nil
			},
		},
		{
			name:   "every second answer is 503",
			broken: "/news/3.html",
			twist: func(v Visit) *Reply {
				if v.At("/news/3.html") && ((v.Nth+v.Run)%2 == 0) {
					return Status(503)
				}
				return nil
			},
		},
		{
			name:   "a large file is always cut in the middle",
			broken: "/docs/data.pdf",
			twist: When(1, 0, &Reply{
				Header: []string{"Content-Type: application/pdf", `ETag: "a"`, "Accept-Ranges: bytes"},
				Body:   strings.Repeat("x", 3<<20),
				Cut:    true,
			}, "/docs/data.pdf"),
		},
		{
			name:   "the sitemap never answers",
			broken: "/sitemap.xml",
			twist:  When(1, 0, &Reply{Hang: true}, "/sitemap.xml"),
		},
		{
			name:   "robots.txt of another host never answers",
			broken: "http://cdn.example.org/*",
			twist:  When(1, 0, &Reply{Hang: true}, "http://cdn.example.org/robots.txt"),
		},
		{
			name:   "robots.txt of another host trickles",
			broken: "http://cdn.example.org/*",
			twist: When(1, 0, &Reply{
				Header: []string{"Content-Type: text/plain"},
				Body:   strings.Repeat("# waiting\n", 20_000),
				Drip:   10 * time.Millisecond,
			}, "http://cdn.example.org/robots.txt"),
		},
		{
			name:   "a stream without end",
			broken: "/docs/data.pdf",
			within: 2 * time.Hour,
			twist: When(1, 0, &Reply{
				Header:  []string{"Content-Type: audio/mpeg"},
				Body:    strings.Repeat("x", 1500),
				Drip:    time.Second,
				Endless: true,
			}, "/docs/data.pdf"),
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := site().Twist(way.twist)
			if strings.Contains(way.broken, other) {
				s.Origin(other, Always(Up))
			}
			with := c.Play(t, s, lasting)
			parts := strings.Fields(way.broken)
			problems := sameBut(without, with, s, parts[0], parts...)
			within := way.within
			if within == 0 {
				within = 15 * time.Minute
			}
			for i := range with {
				if took := with[i].Took; took > within {
					problems = append(problems, "run took "+took.String(), indented(with[i].Text))
				}
			}
			expect(t, "beside: "+way.name, problems)
		})
	}
}
