// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"strings"
	"time"
	"unicode"
)

// Directives are what a page says to robots about itself. Several sources add up: the most restrictive wins.
//
// Source: Google Search Central, "Robots meta tag, data-nosnippet, and X-Robots-Tag specifications"; there is
// no RFC.
type Directives struct {
	NoIndex   bool
	NoFollow  bool // the page's links are not to be followed
	NoArchive bool // no copy is to be shown
	NoSnippet bool
	NoImages  bool // noimageindex: images of this page are not to be taken

	UnavailableAfter time.Time // zero: never
	Unavailable      bool      // UnavailableAfter has passed
}

// Or returns what d and o say together.
func (d Directives) Or(o Directives) Directives {
	d.NoIndex = d.NoIndex || o.NoIndex
	d.NoFollow = d.NoFollow || o.NoFollow
	d.NoArchive = d.NoArchive || o.NoArchive
	d.NoSnippet = d.NoSnippet || o.NoSnippet
	d.NoImages = d.NoImages || o.NoImages
	d.Unavailable = d.Unavailable || o.Unavailable
	if d.UnavailableAfter.IsZero() ||
		(!o.UnavailableAfter.IsZero() && o.UnavailableAfter.Before(d.UnavailableAfter)) {
		d.UnavailableAfter = o.UnavailableAfter
	}
	return d
}

// ParseMeta reads the content of a <meta name="robots">, or of one whose name is ours.
func ParseMeta(content string, now time.Time) Directives {
	return parseDirectives(content, "", now)
}

// ParseXRobotsTag reads the values of all X-Robots-Tag headers of a response. "otherbot: noindex, nofollow"
// binds the robot of that product token alone, up to the next such prefix or the end of the value; what has
// no prefix binds all.
func ParseXRobotsTag(values []string, product string, now time.Time) Directives {
	var d Directives
	for _, v := range values {
		d = d.Or(parseDirectives(v, productToken(product), now))
	}
	return d
}

// parseDirectives reads a list; with a product, "name:" selects whom the rest is for.
func parseDirectives(s, product string, now time.Time) Directives {
	var d Directives
	bound := true
	for s != "" {
		var item string
		item, s, _ = strings.Cut(s, ",")
		item = trimSpace(item)
		name, value, hasValue := strings.Cut(item, ":")
		name = strings.ToLower(trimSpace(name))
		for hasValue && product != "" && !isValued(name) {
			bound = name == "*" || productToken(name) == product
			item = trimSpace(value)
			name, value, hasValue = strings.Cut(item, ":")
			name = strings.ToLower(trimSpace(name))
		}
		if name == "unavailable_after" {
			// The date may have commas of its own.
			end, rest := 0, s
			for rest != "" && !isDirective(rest) {
				_, rest, _ = strings.Cut(rest, ",")
				end = len(s) - len(rest)
			}
			if end > 0 {
				value += "," + strings.TrimSuffix(s[:end], ",")
			}
			s = rest
		}
		if !bound {
			continue
		}
		if name == "unavailable_after" {
			if t, ok := parseDate(trimSpace(value)); ok {
				d = d.Or(Directives{UnavailableAfter: t, Unavailable: now.After(t)})
			}
			continue
		}
		// Only commas separate, but "noindex nofollow" and "noindex; nofollow" mean what they say.
		for _, word := range strings.FieldsFunc(item, func(r rune) bool { return r == ';' || unicode.IsSpace(r) }) {
			d.add(strings.ToLower(word))
		}
	}
	return d
}

func (d *Directives) add(word string) {
	switch word {
	case "noindex":
		d.NoIndex = true
	case "nofollow":
		d.NoFollow = true
	case "none":
		d.NoIndex, d.NoFollow = true, true
	case "noarchive", "nocache":
		d.NoArchive = true
	case "nosnippet":
		d.NoSnippet = true
	case "noimageindex":
		d.NoImages = true
	}
}

// The names of directives with a value, and of those without.
func isValued(name string) bool {
	switch name {
	case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
		return true
	}
	return false
}

// isDirective reports whether the next item of a list is a directive, or is for another robot, and not a part
// of a date.
func isDirective(list string) bool {
	item, _, _ := strings.Cut(list, ",")
	name, _, hasValue := strings.Cut(item, ":")
	name = strings.ToLower(trimSpace(name))
	if hasValue {
		return isValued(name) || (name != "" && productToken(name) == name)
	}
	switch name {
	case "all", "index", "follow", "archive", "noindex", "nofollow", "none", "noarchive", "nocache", "nosnippet",
		"noimageindex",
		"notranslate", "indexifembedded", "noodp", "noydir":
		return true
	}
	return false
}

// parseDate reads the formats that the source names: RFC 822, RFC 850 and ISO 8601, each with some freedom.
func parseDate(s string) (time.Time, bool) {
	s = strings.Join(strings.Fields(s), " ")
	for _, layout := range []string{
		time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822, time.RFC822Z, time.RFC3339,
		"Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST",
		"2 Jan 2006 15:04:05 -0700",
		"Monday, 2-Jan-2006 15:04:05 MST", "02-Jan-2006 15:04:05 MST", "2-Jan-06 15:04:05 MST",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
