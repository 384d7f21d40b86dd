// SPDX-License-Identifier: Apache-2.0

package site

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// A TrapCounter finds endless spaces whose single URLs look harmless, by counting the distinct URLs of one
// shape. It counts
//   - URLs with a query, per path and set of parameter names ("/list?page=…&sort=…"): Traps.MaxTemplate;
//   - URLs whose query is that of another one in another order, per path, as a search makes them to which
//     each link adds a choice: a twentieth of Traps.MaxTemplate;
//   - dates in a query, or in a path's last part, per path with its numbers left out ("/cal/#/#/"), as a
//     calendar's links "next" and "previous" make them: Traps.MaxDates, MaxPathDates and MaxYears.
//
// Pages without a query that are no dates are never counted: a flat directory of 50 000 files is no trap. It
// is pure, so it does not know what year it is, and takes many years for the sign instead.
//
// Memory is at most some 10 MB, regardless of the number of URLs: when a table is full the smallest counts
// are forgotten (lossy counting, Manku and Motwani 2002), so an error means a trap is found later, never
// that a good page is refused. The same URLs in the same order always give the same answers. The caller
// serializes use.
type TrapCounter struct {
	traps Traps

	templates map[uint64]uint32   // by shape: URLs with a query
	orders    map[uint64]uint32   // by path: URLs whose query is another one's in another order
	queries   map[uint64]struct{} // that came, by path and set of parameters
	dates     map[uint64]uint32   // by shape: distinct dates; by shape and yearSalt: distinct years
	seen      map[uint64]struct{} // (shape, date) and (shape, year) that were counted
}

// The sizes at which the tables are thinned out.
const (
	maxTemplates = 1 << 16
	maxSeen      = 1 << 17
)

const yearSalt = 0x9e3779b97f4a7c15

// NewTrapCounter returns an empty counter with the limits of t.
func NewTrapCounter(t Traps) *TrapCounter {
	return &TrapCounter{
		traps:     t.withDefaults(),
		templates: make(map[uint64]uint32),
		orders:    make(map[uint64]uint32),
		queries:   make(map[uint64]struct{}),
		dates:     make(map[uint64]uint32),
		seen:      make(map[uint64]struct{}),
	}
}

// Add counts u, which the caller has not added before, and reports whether it is one too many of its shape;
// the reason names the shape. A URL that is refused is not counted among those of the shape that refused it.
func (c *TrapCounter) Add(u URL) (reason string, trapped bool) {
	if u.IsZero() {
		return "", false
	}
	query, hasQuery := u.Query()
	d, shape := findDate(u, query)
	if d.parts > 0 {
		limit := c.traps.MaxPathDates
		if d.inQuery {
			limit = c.traps.MaxDates
		}
		if n, full := c.distinct(shape, hashUint(shape, d.value), limit); full {
			return fmt.Sprintf("more than %d dates of %s", n, shapeName(u, d.inQuery)), true
		}
		if d.year > 0 {
			if n, full := c.distinct(shape^yearSalt, hashUint(shape^yearSalt, d.year), c.traps.MaxYears); full {
				return fmt.Sprintf("more than %d years of %s", n, shapeName(u, d.inQuery)), true
			}
		}
	}
	if !hasQuery || c.traps.MaxTemplate < 0 {
		return "", false
	}
	path := hashString(hashString(0, u.Origin()), u.Path())
	if n, full := c.reordered(path, query); full {
		const reason = "more than %d URLs of %s with the parameters of others in another order"
		return fmt.Sprintf(reason, n, u.Path()), true
	}
	h := hashParams(path, query)
	if n := c.templates[h]; n >= uint32(c.traps.MaxTemplate) {
		return fmt.Sprintf("more than %d URLs of %s?%s", n, u.Path(), paramNames(query)), true
	}
	addTo(c.templates, h)
	return "", false
}

// reordered counts a query of a path, by its hash, if another one has the same parameters, and reports
// whether there are too many of them already.
func (c *TrapCounter) reordered(path uint64, query string) (had uint32, full bool) {
	var sum uint64 // addition, so that order does not matter
	n := 0
	for pair := range Params(query) {
		sum += hashString(0, pair)
		n++
	}
	if n < 2 {
		return 0, false
	}
	set := hashUint(path, sum)
	if _, came := c.queries[set]; came {
		if had = c.orders[path]; had >= uint32(max(c.traps.MaxTemplate/20, 1)) {
			return had, true
		}
		addTo(c.orders, path)
		return 0, false
	}
	if len(c.queries) >= maxSeen {
		clear(c.queries)
	}
	c.queries[set] = struct{}{}
	return 0, false
}

// distinct counts value for shape if it is new, and reports whether there are limit of them already.
func (c *TrapCounter) distinct(shape, value uint64, limit int) (n uint32, full bool) {
	if limit < 0 {
		return 0, false
	}
	if _, old := c.seen[value]; old {
		return 0, false
	}
	if n = c.dates[shape]; n >= uint32(limit) {
		return n, true
	}
	if len(c.seen) >= maxSeen {
		// What was seen is forgotten together with the counts, or a date would count twice.
		clear(c.seen)
		clear(c.dates)
		n = 0
	}
	c.seen[value] = struct{}{}
	c.dates[shape] = n + 1
	return n, false
}

// addTo counts one more. A table that is full loses its smallest counts, until half of them are left.
func addTo(m map[uint64]uint32, key uint64) {
	if _, known := m[key]; !known && len(m) >= maxTemplates {
		for limit := uint32(1); len(m) > maxTemplates/2; limit *= 2 {
			maps.DeleteFunc(m, func(_ uint64, n uint32) bool { return n <= limit })
		}
	}
	m[key]++
}

// A date is what looks like one in a URL.
type date struct {
	parts   int    // how many of year, month, day were found; 0 is no date
	value   uint64 // all its numbers
	year    uint64 // 0 for none
	inQuery bool
}

// findDate returns the date that u is about, if any, and the hash of u's shape without numbers.
func findDate(u URL, query string) (d date, shape uint64) {
	if query != "" {
		d = queryDate(query)
		d.inQuery = d.parts > 0
	}
	if d.parts == 0 {
		d = pathDate(u.Path())
	}
	if d.parts == 0 {
		return d, 0
	}
	shape = hashString(hashString(0, u.Origin()), numbers.ReplaceAllString(u.Path(), "#"))
	return d, hashParams(shape, query)
}

// pathDate finds a date that is the last part of a path: /2026/11/, /2026/11/20/index.html,
// /cal-2026-11-20.html, /20261120. Six digits are no month: too many numbered pages look like one.
func pathDate(path string) date {
	path = strings.TrimSuffix(path, "/")
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		if name := path[i+1:]; strings.HasPrefix(name, "index.") || strings.HasPrefix(name, "default.") {
			path = path[:i]
		}
	}
	// Cut a short extension: letters after a dot.
	if i := strings.LastIndexByte(path, '.'); i >= 0 && len(path)-i <= 6 &&
		strings.Trim(path[i+1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		path = path[:i]
	}
	return lastDate(path)
}

// lastDate reads a date at the end of s.
func lastDate(s string) date {
	var nums [3]uint64
	var lens [3]int
	n := 0
	for n < 3 {
		i := len(s)
		for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
			i--
		}
		if lens[n] = len(s) - i; lens[n] == 0 || lens[n] > 8 {
			break
		}
		for _, c := range []byte(s[i:]) {
			nums[n] = nums[n]*10 + uint64(c-'0')
		}
		n++
		if lens[n-1] >= 4 || i == 0 || strings.IndexByte("/-_.", s[i-1]) < 0 {
			break
		}
		s = s[:i-1]
	}
	switch {
	case n == 1 && lens[0] == 8 && nums[0] >= 1900_00_00 && nums[0] < 2200_00_00:
		// yyyymmdd; others are some number
		return newDate(nums[0]/10000, nums[0]/100%100, nums[0]%100, 3)
	case n == 2 && lens[1] == 4: // yyyy/mm
		return newDate(nums[1], nums[0], 1, 2)
	case n == 3 && lens[2] == 4: // yyyy/mm/dd
		return newDate(nums[2], nums[1], nums[0], 3)
	}
	return date{}
}

// newDate returns the date if its year has four digits and its month and day exist.
func newDate(year, month, day uint64, parts int) date {
	if year < 1000 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 {
		return date{}
	}
	return date{parts: parts, value: year<<16 | month<<8 | day, year: year}
}

// The names of parameters that hold a part of a date, in lower case. A "d" or "m" counts only beside a year.
const dateParams = " year month day date yr mon cal week "

// queryDate finds a date in a query: in a value that is one (?d=2026-11-20), or in numbers of parameters that
// are named so.
func queryDate(query string) date {
	var d date
	for pair := range Params(query) {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || len(value) > 32 {
			continue
		}
		if v := lastDate(value); v.parts > 0 && strings.Trim(value, "0123456789-_./") == "" &&
			(len(value) != 8 || isDateParam(name)) {
			d.parts += v.parts
			d.year = v.year
			d.value = hashUint(d.value, v.value)
			continue
		}
		if isDateParam(name) && strings.Trim(value, "0123456789") == "" {
			d.parts++
			d.value = hashString(hashString(hashUint(0, d.value), name), value)
			if n := strings.ToLower(name); len(value) == 4 && (n == "year" || n == "yr") {
				d.year = hashString(0, value) | 1
			}
		}
	}
	return d
}

func isDateParam(name string) bool {
	return name != "" && len(name) <= 8 && strings.Contains(dateParams, " "+strings.ToLower(name)+" ")
}

// numbers are runs of digits.
var numbers = regexp.MustCompile(`[0-9]+`)

// shapeName returns what the counted URLs have in common, for people: numbers as '#'.
func shapeName(u URL, query bool) string {
	name := numbers.ReplaceAllString(u.Path(), "#")
	if q, ok := u.Query(); ok && query {
		name += "?" + paramNames(q)
	}
	return name
}

// paramNames returns the query with its values left out, for people.
func paramNames(query string) string {
	var names []string
	for pair := range Params(query) {
		name, _, hasValue := strings.Cut(pair, "=")
		if hasValue {
			name += "=…"
		}
		if names = append(names, name); len(names) == 8 {
			break
		}
	}
	return strings.Join(names, "&")
}

func hashString(seed uint64, s string) uint64 { return xxh3.HashStringSeed(s, seed) }

func hashUint(seed, v uint64) uint64 {
	return xxh3.HashSeed(binary.LittleEndian.AppendUint64(nil, v), seed)
}

// hashParams hashes the set of the query's parameter names: order and repetition do not count. Names after
// the 64th do not either.
func hashParams(h uint64, query string) uint64 {
	var names []string
	var sum uint64 // addition, so that order does not matter
	for pair := range Params(query) {
		name, _, _ := strings.Cut(pair, "=")
		if name != "" && len(names) < 64 && !slices.Contains(names, name) {
			names = append(names, name)
			sum += hashString(0, name)
		}
	}
	return hashUint(h, sum)
}
