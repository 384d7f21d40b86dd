// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode"

	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxText bounds a rule's text as it is shown.
const maxText = 300

// The names of lines.
const (
	userAgent   = "user-agent"
	allow       = "allow"
	disallow    = "disallow"
	sitemap     = "sitemap"
	crawlDelay  = "crawl-delay"
	requestRate = "request-rate"
)

// directiveOf returns the name of a line, "" for one that is not known. Misspellings are known that are
// common enough for Google's parser to know. Reading them fails to the polite side; "allow" has none.
func directiveOf(name string) string {
	switch name = strings.ToLower(name); name {
	case userAgent, "useragent", "user agent":
		return userAgent
	case disallow, "dissallow", "dissalow", "disalow", "diasllow", "disallaw":
		return disallow
	case sitemap, "site-map":
		return sitemap
	case crawlDelay, "crawldelay", "crawl delay":
		return crawlDelay
	case allow, requestRate:
		return name
	}
	return ""
}

// Parse reads a robots.txt. It never fails: a line that makes no sense is left out (2.2). Only
// the first MaxBytes count, and a line that is cut by them does not.
func Parse(body []byte) *File {
	p := parser{file: &File{}, sitemaps: make(map[string]bool)}
	// RFC 9309 has UTF-8 only, but some editors write UTF-16, and the owner means what the file says.
	if text, _, err := transform.Bytes(utf.BOMOverride(transform.Nop), body); err == nil {
		body = text
	}
	for _, c := range []byte("\xef\xbb\xbf") { // a byte order mark, or the start of one
		if len(body) > 0 && body[0] == c {
			body = body[1:]
		} else {
			break
		}
	}
	cut := false
	if len(body) > MaxBytes {
		// The line end may be the first byte that does not count.
		end := bytes.LastIndexAny(body[:MaxBytes+1], "\r\n")
		body, cut = body[:max(end, 0)], true
	}
	for len(body) > 0 {
		line := body
		if i := bytes.IndexAny(body, "\r\n"); i >= 0 {
			line = body[:i]
			if body[i] == '\r' && i+1 < len(body) && body[i+1] == '\n' {
				i++
			}
			body = body[i+1:]
		} else {
			body = nil
		}
		p.number++
		p.line(line)
	}
	p.file.cut = cut
	return p.file
}

// A parser is the state between two lines.
type parser struct {
	file     *File
	number   int  // of the line
	inRules  bool // the current group has a rule, so a User-agent starts another one
	inDelays bool // a delay was the last thing in it, so it does not bind the agents that follow
	from     int  // index of the first agent that the next delay binds
	sitemaps map[string]bool
}

func (p *parser) line(line []byte) {
	if i := bytes.IndexByte(line, '#'); i >= 0 {
		line = line[:i]
	}
	text := trimSpace(string(line))
	if text == "" {
		return
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		// "Disallow /x": two words without a colon are what their writer meant.
		f := strings.Fields(text)
		if len(f) != 2 || directiveOf(f[0]) == "" {
			return
		}
		name, value = f[0], f[1]
	}
	name, value = trimSpace(name), trimSpace(value)
	switch d := directiveOf(name); d {
	case userAgent:
		p.agent(value)
	case allow, disallow:
		p.rule(d == allow, value, text)
	case sitemap:
		// Sitemap lines stand outside of groups (2.2.4 and sitemaps.org).
		if value != "" && !p.sitemaps[value] {
			p.sitemaps[value] = true
			p.file.sitemaps = append(p.file.sitemaps, value)
		}
	case crawlDelay, requestRate:
		p.pace(d, value)
	} // other records are legal and must not disturb groups (2.2.4)
}

func (p *parser) agent(value string) {
	if p.inRules || len(p.file.groups) == 0 {
		p.file.groups = append(p.file.groups, group{})
		p.inRules, p.inDelays, p.from = false, false, 0
	}
	g := &p.file.groups[len(p.file.groups)-1]
	token := productToken(value)
	if f := strings.Fields(value); len(f) > 0 && strings.Trim(f[0], "*") == "" {
		token = "*"
	}
	if token == "" {
		return
	}
	if p.inDelays {
		p.inDelays, p.from = false, len(g.agents) // so the ranges are disjoint
	}
	g.agents = append(g.agents, token)
}

func (p *parser) rule(allow bool, value, text string) {
	if len(p.file.groups) == 0 {
		return
	}
	p.inRules = true
	if value == "" {
		return // an empty pattern matches nothing (2.2.2)
	}
	if value[0] != '/' && value[0] != '*' {
		return
	}
	g := &p.file.groups[len(p.file.groups)-1]
	g.rules = append(g.rules, newPatterns(value, Rule{Line: p.number, Text: clip(text), Allow: allow})...)
}

func (p *parser) pace(d, value string) {
	if len(p.file.groups) == 0 {
		return
	}
	gap, ok := parseDelay(value)
	if d == requestRate {
		gap, ok = parseRate(value)
	}
	if !ok {
		return
	}
	gap = min(gap, MaxDelay)
	g := &p.file.groups[len(p.file.groups)-1]
	if p.inDelays {
		last := &g.delays[len(g.delays)-1]
		last.Duration = max(last.Duration, gap)
		return
	}
	g.delays = append(g.delays, delay{p.from, len(g.agents), gap})
	p.inDelays = true
}

// parseDelay reads seconds with an optional fraction, and lets units and other words follow. Not in the RFC;
// sites write it so.
func parseDelay(s string) (time.Duration, bool) {
	i := 0
	for i < len(s) && (('0' <= s[i] && s[i] <= '9') || s[i] == '.' || s[i] == ',') {
		i++
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s[:i], ",", "."), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is +Inf
		return 0, false
	}
	switch rest := strings.TrimSpace(s[i:]); {
	case strings.HasPrefix(rest, "ms"):
		f /= 1000
	case strings.HasPrefix(rest, "m"):
		f *= 60
	case strings.HasPrefix(rest, "h"):
		f *= 3600
	}
	// Floats above MaxDelay may not fit a Duration.
	return time.Duration(min(f, 2*MaxDelay.Seconds()) * float64(time.Second)), true
}

// parseRate reads "documents/seconds" of the 1996 draft's Request-rate, whose time may have a unit and be
// followed by hours of the day.
func parseRate(s string) (time.Duration, bool) {
	docs, per, ok := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(docs), 64)
	if !ok || err != nil || !(n > 0 && n < 1e9) {
		return 0, false
	}
	d, ok := parseDelay(strings.TrimSpace(per))
	return time.Duration(min(float64(d)/n, float64(2*MaxDelay))), ok
}

// trimSpace removes white space of any kind, and byte order marks and zero width spaces, which editors leave
// behind.
func trimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '\uFEFF' || r == '\u200B' || r == 0
	})
}

// clip shortens foreign text and makes it valid UTF-8, to be kept and shown.
func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "…"
	}
	return strings.ToValidUTF8(strings.Clone(s), "\uFFFD")
}
