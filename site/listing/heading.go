// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"strings"

	"mirrord/site"
)

// A heading is the kind of words by which a page says that it is the index of a directory.
type heading uint8

const (
	headNone  heading = iota
	headOther         // of a directory that is not u
	headIndexOf
	headDirectory // "Directory listing for"
	headIIS
)

// readHeading judges a title or heading of the page u.
func readHeading(text string, u site.URL) heading {
	text = trim(text)
	kind, path := headNone, ""
	if rest, ok := strings.CutPrefix(text, "Index of /"); ok {
		kind, path = headIndexOf, rest
	} else if rest, ok := strings.CutPrefix(text, "Directory listing for /"); ok {
		kind, path = headDirectory, rest
	} else if host, rest, ok := strings.Cut(text, " - /"); ok &&
		(strings.EqualFold(host, u.Hostname()) || strings.EqualFold(host, u.Host())) {
		kind, path = headIIS, rest
	}
	if kind != headNone && !agree(path, u) {
		return headOther
	}
	return kind
}

// agree reports whether the decoded path and that of u can be the same directory: one is the end of the
// other, in whole segments. They differ when a proxy maps one tree into another. A root agrees with a root
// only.
func agree(path string, u site.URL) bool {
	a, b := segments(path), segments(u.Path())
	for i := range b {
		b[i] = site.Unescape(b[i])
	}
	n := min(len(a), len(b))
	if n == 0 {
		return len(a) == len(b)
	}
	for i := 1; i <= n; i++ {
		if x, y := a[len(a)-i], b[len(b)-i]; x != y && bare(x) != bare(y) {
			return false
		}
	}
	return true
}

// bare returns s without spaces and control characters, which may be lost on a page.
func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

func segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// caddyHeading reports whether text is caddy's title (the last segment) or its breadcrumbs (the path with
// blanks between).
func caddyHeading(text string, u site.URL) bool {
	text = trim(text)
	segs := segments(u.Path())
	if len(segs) == 0 {
		return text == "/"
	}
	return text == site.Unescape(segs[len(segs)-1]) || squeeze(text) == squeeze(site.Unescape(u.Path()))
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// white is what trim removes: white space, no-break spaces among it.
const white = " \t\r\n\f\u00a0"

func trim(s string) string { return strings.Trim(s, white) }

// isParentLabel reports whether text is what a server calls the link to the parent directory.
func isParentLabel(text string) bool {
	switch strings.ToLower(strings.TrimSuffix(trim(text), "/")) {
	case "..", "parent directory", "[to parent directory]", "go up", "up":
		return true
	}
	return false
}

// isSortLink reports whether href, as written, asks for the same directory in another order.
func isSortLink(href string) (apache, caddy bool) {
	q, ok := strings.CutPrefix(strings.TrimPrefix(href, "./"), "?")
	if !ok {
		return false, false
	}
	if strings.HasPrefix(q, "sort=") {
		return false, true
	}
	if len(q) >= 7 && (q[:2] == "C=" && strings.Contains(q, "O=")) {
		return true, false
	}
	return len(q) == 3 && strings.IndexByte("NMSD", q[0]) >= 0 && q[1] == '=' && (q[2] == 'A' || q[2] == 'D'),
		false // Apache 1.3
}

// isName reports whether display can be what a server shows for name: the name, perhaps with the mark of a
// directory or a link, perhaps cut short. Bytes that are not printable ASCII do not count: character sets and
// control characters are shown as may be.
func isName(display, name string) bool {
	display, name = trim(display), trim(name)
	if display == name || strings.TrimSuffix(display, "/") == name || strings.TrimSuffix(display, "@") == name {
		return true
	}
	if sameName(display, name) || sameName(strings.TrimSuffix(display, "/"), name) {
		return true
	}
	for _, mark := range []string{"..>", "...", "…"} {
		if cut, ok := strings.CutSuffix(display, mark); ok && cut != "" {
			return strings.HasPrefix(plain(name), plain(cut))
		}
	}
	return false
}

func sameName(a, b string) bool { return plain(a) == plain(b) }

// plain returns the printable ASCII characters of s but space.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, s)
}
