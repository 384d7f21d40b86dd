// SPDX-License-Identifier: Apache-2.0

// Package robots reads robots.txt and the other ways in which a site tells robots what they may do, and
// decides by them.
//
// The source is RFC 9309 (Robots Exclusion Protocol), section numbers stand in the code; where it is silent,
// what github.com/google/robotstxt does (Apache-2.0; read, not copied). Three departures from the latter,
// which follow the RFC: escaped unreserved characters are decoded before comparison (2.2.2), reserved ones
// equal their escapes, and a long line is not cut. Beyond the RFC, Crawl-delay and Request-rate are
// understood, and status 429 counts as "unreachable".
//
// A File is what one origin serves; Agent picks the Rules that bind one robot; Rules.Allowed decides one URL
// and names the line it rests on. Everything is pure and immutable after construction, so safe for concurrent
// use. Fetching, following redirects (at most five, 2.3.1.2) and caching (at most 24 hours, 2.4) are the
// caller's.
package robots

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// FileCopy is one origin's robots.txt as it was last obtained, or that there was none.
type FileCopy struct {
	Fetched time.Time `json:"fetched"`        // when it was last confirmed
	Status  int       `json:"status"`         // 200, or the 3xx or 4xx that means that there are no rules
	Body    []byte    `json:"body,omitempty"` // at most ReadBytes
	ETag    string    `json:"etag,omitempty"`
}

// MaxBytes is how much of a robots.txt counts (2.5: at least 500 KiB must be parsed). A fetcher need not read
// more.
const MaxBytes = 500 << 10

// ReadBytes is how much a fetcher reads: one byte more shows that the file is longer.
const ReadBytes = MaxBytes + 1

// MaxDelay bounds CrawlDelay: a greater wish is cut to it.
const MaxDelay = 24 * time.Hour

// A File is a parsed robots.txt.
type File struct {
	fixed    bool   // there is no text that decides, closed does
	closed   bool   // everything is disallowed
	reason   string // why
	groups   []group
	sitemaps []string
	cut      bool // it is longer than MaxBytes
}

// Cut reports whether the file is longer than MaxBytes, so that its end does not count.
func (f *File) Cut() bool { return f.cut }

// A group is the lines from its first User-agent to the next group's.
type group struct {
	agents []string // product tokens in lower case; "*" for all
	rules  []pattern
	delays []delay
}

// A delay binds the group's agents[from:to]: those above its line and below an earlier delay. Rules bind all
// of a group's agents, but people write "User-agent: a, Crawl-delay: 9, User-agent: b, Crawl-delay: 1", which
// is one group by the RFC, and mean two.
type delay struct {
	from, to int
	time.Duration
}

// A Rule is the line on which a decision rests. The zero Rule means that no line matched.
type Rule struct {
	Line  int    // from 1; 0 when no line of a file decided
	Text  string // the line without its comment; or, with Line 0, why it is missing
	Allow bool
}

func (r Rule) String() string {
	switch {
	case r.Line > 0:
		return fmt.Sprintf("robots.txt line %d: %s", r.Line, r.Text)
	case r.Text != "":
		return "robots.txt: " + r.Text
	}
	return "robots.txt: no rule matches"
}

// AllowAll returns a file that allows everything; reason says why there are no rules ("status 404").
func AllowAll(reason string) *File { return &File{fixed: true, reason: reason} }

// DisallowAll returns a file that disallows everything; reason says why ("connection refused").
func DisallowAll(reason string) *File { return &File{fixed: true, closed: true, reason: reason} }

// FromStatus returns what the final answer to the request for robots.txt means (2.3.1): 2xx is parsed; 3xx,
// which is only final when there were too many redirects, and 4xx allow all; 429, 5xx, and invalid statuses
// disallow all.
func FromStatus(status int, body []byte) *File {
	switch {
	case status >= 200 && status < 300:
		return Parse(body)
	case status >= 300 && status < 400:
		return AllowAll(
			fmt.Sprintf("status %d: redirected too often, so there are no rules (RFC 9309 2.3.1.2)", status))
	case status == 429:
		return DisallowAll("status 429: too many requests, so nothing may be asked for now")
	case status >= 400 && status < 500:
		return AllowAll(fmt.Sprintf("status %d: there are no rules (RFC 9309 2.3.1.3)", status))
	}
	return DisallowAll(
		fmt.Sprintf("status %d: unreachable, so nothing may be asked for now (RFC 9309 2.3.1.4)", status))
}

// Sitemaps returns the values of the Sitemap lines, in order, each once. They are foreign text: resolve
// before use.
func (f *File) Sitemaps() []string { return f.sitemaps }

// Rules are what binds one robot on one origin.
type Rules struct {
	file     *File
	product  string
	patterns []pattern // most octets first; of equals, allow first
	delay    time.Duration
	paced    bool
}

// Agent returns the rules for a product token ("mirrord"; a version after it is ignored): those of all groups
// that name it, in any case (2.2.1), else those of all groups for "*", else none. It sorts them, so keep the
// Rules rather than ask again.
func (f *File) Agent(product string) *Rules {
	r := &Rules{file: f, product: productToken(product)}
	if !r.merge(f.groups, r.product) {
		r.merge(f.groups, "*")
	}
	slices.SortStableFunc(r.patterns, func(a, b pattern) int {
		switch {
		case a.octets != b.octets:
			return b.octets - a.octets
		case a.rule.Allow != b.rule.Allow && a.rule.Allow:
			return -1
		case a.rule.Allow != b.rule.Allow:
			return 1
		}
		return 0
	})
	return r
}

func (r *Rules) merge(groups []group, agent string) (found bool) {
	if agent == "" {
		return false
	}
	for _, g := range groups {
		if !slices.Contains(g.agents, agent) {
			continue
		}
		found = true
		r.patterns = append(r.patterns, g.rules...)
		for _, d := range g.delays {
			if slices.Contains(g.agents[d.from:d.to], agent) {
				r.delay, r.paced = max(r.delay, d.Duration), true
			}
		}
	}
	return found
}

// CrawlDelay returns the least time between two requests that the site asks for, the greatest if it says
// several.
func (r *Rules) CrawlDelay() (time.Duration, bool) { return r.delay, r.paced }

// Allowed decides a URL, given as path and query ("/a/b?c"; a fragment is ignored), and returns the rule that
// decides: of those that match the one with the most octets, of equals an allow (2.2.2). Without a match
// everything is allowed, and /robots.txt always is. It takes time linear in the URL for each rule that is
// tried.
func (r *Rules) Allowed(pathAndQuery string) (ok bool, rule Rule) {
	u, _, _ := strings.Cut(pathAndQuery, "#")
	if u == "/robots.txt" {
		return true, Rule{Text: "/robots.txt itself is always allowed", Allow: true}
	}
	if r.file.fixed {
		return !r.file.closed, Rule{Text: r.file.reason, Allow: !r.file.closed}
	}
	if len(r.patterns) == 0 {
		return true, Rule{Allow: true}
	}
	var buf [256]byte
	url := newTarget(buf[:0], u)
	for i := range r.patterns {
		if p := &r.patterns[i]; p.match(&url) {
			return p.rule.Allow, p.rule
		}
	}
	return true, Rule{Allow: true}
}

// productToken returns the product token at the start of a user agent's name, in lower case (2.2.1: letters,
// '_', '-').
func productToken(s string) string {
	i := 0
	for i < len(s) && (('a' <= s[i]|0x20 && s[i]|0x20 <= 'z') || s[i] == '_' || s[i] == '-') {
		i++
	}
	return strings.ToLower(s[:i])
}
