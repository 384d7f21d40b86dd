// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"strconv"
	"strings"

	"mirrord/site"
)

// PatternOf names the URLs that differ from u only in numbers and hashes of their path and in the values of
// their query; "" for a URL that has neither.
func PatternOf(u site.URL) string {
	u = u.Normal()
	path := u.Path()
	if strings.ContainsAny(path, digits) {
		steps := strings.Split(path, "/")
		for i, s := range steps {
			if steps[i] = foldNumbers(s); isHash(s) {
				steps[i] = "#"
			}
		}
		path = strings.Join(steps, "/")
	}
	q, _ := u.Query()
	if q == "" {
		if path == u.Path() {
			return ""
		}
		return u.Origin() + path
	}
	var names []string
	for pair := range site.Params(q) {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name+"=…")
	}
	slices.Sort(names)
	return u.Origin() + path + "?" + strings.Join(slices.Compact(names), "&")
}

// isHash reports whether a step of a path may be a hash, such as the name of a commit.
func isHash(step string) bool {
	return (len(step) >= shortHash) && strings.ContainsAny(step, digits) && (strings.Trim(step, hexDigits) == "")
}

// without returns a URL without the parameters that another one has, too; u itself when there are none.
func without(u, from site.URL) site.URL {
	q, _ := from.Query()
	for pair := range site.Params(q) {
		name, _, _ := strings.Cut(pair, "=")
		u = site.WithoutParam(u, name)
	}
	return u
}

// foldNumbers writes "#" for each number, but not in an escaped byte such as %20.
func foldNumbers(path string) string {
	var b strings.Builder
	b.Grow(len(path))
	inNumber := false
	for i := 0; i < len(path); i++ {
		c := path[i]
		isDigit := (c >= '0') && (c <= '9')
		switch {
		case (c == '%') && (i+2 < len(path)):
			b.WriteString(path[i : i+3])
			i += 2
		case !isDigit:
			b.WriteByte(c)
		case !inNumber:
			b.WriteByte('#')
		}
		inNumber = isDigit
	}
	return b.String()
}

const (
	digits    = "0123456789"
	hexDigits = digits + "abcdef"
)

// numbersOf adds the numbers of a URL to a set, without leading zeros.
func numbersOf(u string, into map[string]bool) {
	for _, n := range strings.FieldsFunc(u, func(r rune) bool { return (r < '0') || (r > '9') }) {
		into[strings.TrimLeft(n, "0")] = true
	}
}

// withoutNumbers writes "#" for the words that are numbers of a set, and for days that follow one another: a
// page that says only which of many it is says nothing new.
func withoutNumbers(words []string, numbers map[string]bool) (out []string) {
	for i, w := range words {
		isNumber := strings.Trim(w, digits) == ""
		switch {
		case (i > 0) && isNext(words[i-1], w):
		case isNumber && numbers[strings.TrimLeft(w, "0")], (i+1 < len(words)) && isNext(w, words[i+1]):
			out = append(out, "#")
		default:
			out = append(out, w)
		}
	}
	return out
}

// isNext reports whether b is the number after a, or both are the days at the end of a month.
func isNext(a, b string) bool {
	if (strings.Trim(a, digits) != "") || (strings.Trim(b, digits) != "") { // most words: an error would be made
		return false
	}
	m, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	ends := (n == 1) && (m >= 28) && (m <= 31)
	return (err1 == nil) && (err2 == nil) && ((n == m+1) || ends)
}

// dirOf is the URL of the directory of u.
func dirOf(u site.URL) string { return u.Origin() + u.Dir() }

// isBelow reports whether u is in a directory below dir.
func isBelow(u site.URL, dir string) bool {
	d := dirOf(u)
	return (len(d) > len(dir)) && strings.HasPrefix(d, dir)
}
