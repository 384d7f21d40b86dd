// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mirrord/testing/mirrortest"
)

// Home is the origin of the sites of the zoo. Addresses that begin with "/" are below it.
const Home = "http://www.example.org"

// Outage is a fault of an origin as a whole.
type Outage int

// The faults of origins.
const (
	Up          Outage = iota
	Refused            // nothing listens on the port
	Unreachable        // a router says so
	NoName             // the host has no address
	NotTLS             // plain HTTP on the port of https
	BadCert            // the certificate is of another name
	Silent             // the connection opens, and nothing is ever answered
	BlackHole          // the connection never opens
	Hangup             // the connection opens and is closed
)

// Site is a web site, of one host or several, with its faults.
type Site struct {
	// Pages are the bodies by address. "{n}" in a body is the number of the run, and some words that no other
	// run has, so that a published page shows its age.
	Pages map[string]string

	// Twists answer instead of a page, the first that does not return nil.
	Twists []Twist

	// Origins has the faults of an origin, such as "https://www.example.org". Origins that have no page
	// and do not stand here refuse connections, or have no name when no other origin has their host.
	Origins map[string]func(v Visit) Outage

	Dated bool // pages have Last-Modified, of the day of their last change, and no ETag
}

// Twist is one misbehaviour. It returns nil for what it leaves alone.
type Twist func(v Visit) *Reply

// Visit is one request.
type Visit struct {
	URL    string // absolute
	Origin string
	Path   string // without query
	Query  url.Values
	Header http.Header

	Run   int           // from 1
	In    time.Duration // since the run began
	Now   time.Time
	Nth   int // of the requests for this URL in this run, from 1
	Count int // of the requests to this origin in this run, from 1

	site *Site
}

// Page is what the site answers without its twists.
func (v Visit) Page() *Reply { return v.site.page(v.URL, v.Run, v.Now) }

// At reports whether the visit is to one of some addresses, in which "*" stands for anything.
func (v Visit) At(patterns ...string) bool {
	for _, p := range patterns {
		if match(absolute(p), v.URL) {
			return true
		}
	}
	return false
}

// Reply is what a visit gets.
type Reply struct {
	Status int // 0 is 200
	Header []string
	Body   string

	After time.Duration // the header comes so late
	Drip  time.Duration // one byte of the body in each of these
	Hang  bool          // no header ever comes
	// the body is sent as a whole once in each Drip, for ever, without a length
	Endless bool
	Cut     bool // the connection ends half way through the body
	Reset   bool // the connection ends before the header
}

// Status is an answer of a status with fields, each "Name: value", and a small body.
func Status(code int, fields ...string) *Reply {
	return &Reply{
		Status: code,
		Header: append([]string{"Content-Type: text/html"}, fields...),
		Body:   fmt.Sprintf("<title>%d %s</title>\n", code, http.StatusText(code)),
	}
}

// Moved redirects to another address.
func Moved(code int, to string) *Reply { return Status(code, "Location: "+to) }

// HTML is a page that is not one of the site's.
func HTML(title, body string, fields ...string) *Reply {
	return &Reply{
		Header: append([]string{"Content-Type: text/html; charset=utf-8"}, fields...),
		Body:   Doc(title, body),
	}
}

// When makes a twist of requests at some addresses from a run on, up to one; 0 is for ever.
func When(from, to int, a *Reply, patterns ...string) Twist {
	return func(v Visit) *Reply {
		if v.Run < from || (to > 0 && v.Run > to) || !v.At(patterns...) {
			return nil
		}
		return a
	}
}

// Always is a fault that never ends.
func Always(f Outage) func(Visit) Outage { return func(Visit) Outage { return f } }

// From is a fault from a run on.
func From(run int, f Outage) func(Visit) Outage {
	return func(v Visit) Outage {
		if v.Run < run {
			return Up
		}
		return f
	}
}

// Doc is a document with a title, a body and its age.
func Doc(title, body string) string {
	return `<!DOCTYPE html>
<html lang="en"><head><title>` + title + `</title>
<link rel="stylesheet" href="/style.css"></head>
<body><h1>` + title + `</h1>
` + body + `
</body></html>
`
}

// Edition is how a page says which run it was made for.
const Edition = "<p>This is edition {n} of the page.</p>"

// Village is an ordinary site: an entry page, a style sheet, a picture, and sections of n pages each. All
// pages change from run to run and have words of their own.
func Village(n int, sections ...string) *Site {
	if sections == nil {
		sections = []string{"docs", "news"}
	}
	s := &Site{Pages: map[string]string{}}
	var home strings.Builder
	home.WriteString(Edition + `<img src="/logo.png" alt=""> `)
	for i, name := range sections {
		fmt.Fprintf(&home, `<a href="/%s/">%s</a> `, name, name)
		var hub strings.Builder
		hub.WriteString(Edition + `<a href="/">home</a> `)
		for j := 1; j <= n; j++ {
			fmt.Fprintf(&hub, `<a href="/%s/%d.html">%d</a> `, name, j, j)
			s.Add(fmt.Sprintf("/%s/%d.html", name, j), Doc(fmt.Sprintf("%s, part %d", name, j),
				Edition+`<a href="./">up</a> <p>`+mirrortest.Words(uint32(1000*(i+1)+j), 60)))
		}
		s.Add("/"+name+"/", Doc("All of "+name, hub.String()+mirrortest.Words(uint32(100+i), 40)))
	}
	s.Add("/", Doc("The village", home.String()+mirrortest.Words(7, 40)))
	s.Add("/style.css", "body { color: #123 }\n")
	s.Add("/logo.png", "\x89PNG\r\n\x1a\nlogo")
	s.Add("/robots.txt", "User-agent: *\nDisallow: /private/\n")
	return s
}

// Add gives the site a page.
func (s *Site) Add(address, body string) *Site {
	s.Pages[absolute(address)] = body
	return s
}

// Link puts links, or any other HTML, into a page in front of its end.
func (s *Site) Link(address, html string) *Site {
	u := absolute(address)
	s.Pages[u] = strings.Replace(s.Pages[u], "</body>", html+"\n</body>", 1)
	return s
}

// Twist adds misbehaviour.
func (s *Site) Twist(t ...Twist) *Site {
	s.Twists = append(s.Twists, t...)
	return s
}

// Origin sets the fault of an origin.
func (s *Site) Origin(origin string, f func(Visit) Outage) *Site {
	if s.Origins == nil {
		s.Origins = map[string]func(Visit) Outage{}
	}
	s.Origins[origin] = f
	return s
}

func absolute(address string) string {
	if strings.HasPrefix(address, "/") {
		return Home + address
	}
	return address
}

// match is a glob in which "*" stands for anything.
func match(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	for s = s[len(head):]; ; s = s[1:] {
		if match(rest, s) {
			return true
		}
		if s == "" {
			return false
		}
	}
}

// birth is before the first run of any case.
func birth() time.Time { return time.Date(1999, 12, 1, 12, 0, 0, 0, time.UTC) }

// page is what the site has at a URL.
func (s *Site) page(u string, run int, now time.Time) *Reply {
	body, ok := s.Pages[u]
	if !ok {
		return &Reply{
			Status: http.StatusNotFound,
			Header: []string{"Content-Type: text/html"},
			Body:   "<title>404</title><h1>Not found</h1>",
		}
	}
	changes := strings.Contains(body, "{n}")
	// A change of nothing but a number would be a counter, which is no news to the engine.
	body = strings.ReplaceAll(body, "{n}", strconv.Itoa(run)+" "+mirrortest.Words(uint32(77*run), 9))
	path, _, _ := strings.Cut(u, "?")
	a := &Reply{Body: body, Header: []string{"Content-Type: " + mirrortest.TypeOf(path)}}
	if s.Dated {
		at := birth()
		if changes {
			at = now.Truncate(24 * time.Hour)
		}
		a.Header = append(a.Header, "Last-Modified: "+at.UTC().Format(http.TimeFormat))
		return a
	}
	a.Header = append(a.Header, "ETag: "+tag(body))
	return a
}

func tag(body string) string {
	sum := sha256.Sum256([]byte(body))
	return `"` + hex.EncodeToString(sum[:6]) + `"`
}
