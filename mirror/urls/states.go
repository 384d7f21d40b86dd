// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/site"
)

// Stated is a URL of a browser of code, such as /tree/notes?id=4f3a2b1: it shows a view, which is the URL
// without the states, in one or two states of a repository. Or it is a list in another order, such as
// /report?sort=owner: that is a view of the list, which is its state.
type Stated struct {
	States []uint64 // hashes of them
	View   uint64
	Place  string // the directory of the view, with its parameters
	Orders bool   // the state is a list
}

// RepeatsFact is where a site keeps the places whose pages mostly repeat others: RepeatPlace by Stated.Place.
const RepeatsFact = "repeats"

// RepeatPlace is a place of which pages that were not requested are left to the origin.
type RepeatPlace struct {
	Pages  int    `json:"pages"`  // that were requested
	Repeat int    `json:"repeat"` // of these
	Last   string `json:"last"`   // of those
	Run    int    `json:"run"`
}

const (
	shortState = 7 // bytes
	// OfCurrent and FirstOfView end the places of URLs that pages without a state name, and of others that are
	// the first of their view.
	OfCurrent   = " named by pages without"
	FirstOfView = " first"
)

// orders are names of parameters that say in which order a list is, as letters only.
var orders = []string{
	"asc", "ascending", "desc", "descending", "order", "orderby", "orderdir", "ordering", "sort", "sortby",
	"sortcol", "sortcolumn", "sortdir", "sortfield", "sortkey", "sortorder",
}

// isOrder reports whether a parameter says in which order a list is: sort=owner, @sort=-id.
func isOrder(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	letters := func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		if 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}
	return slices.Contains(orders, strings.Map(letters, strings.ReplaceAll(name, "%40", "")))
}

// Unordered returns the URL of a list without what says in which order it is; ok is false when nothing does.
func Unordered(u site.URL) (list site.URL, ok bool) {
	q, _ := u.Query()
	list = u
	for pair := range site.Params(q) {
		if name, _, _ := strings.Cut(pair, "="); isOrder(pair) {
			list, ok = site.WithoutParam(list, name), true
		}
	}
	return list, ok
}

// ListOf returns the state that a list is to its orders, in any order of its parameters.
func ListOf(list site.URL) uint64 {
	q, _ := list.Query()
	pairs := slices.Sorted(site.Params(q))
	return xxh3.HashString("list " + list.Origin() + list.Path() + "?" + strings.Join(pairs, "&"))
}

// StatedOf returns the states of a URL, which are hashes in its path and query, or else the list that it
// orders; none for most URLs.
func StatedOf(u site.URL) (x Stated) {
	if !HasState(u.String()) {
		return x
	}
	if x = hashesOf(u); len(x.States) > 0 {
		return x
	}
	list, ok := Unordered(u)
	if !ok {
		return x
	}
	return Stated{
		States: []uint64{ListOf(list)},
		View:   xxh3.HashString(u.String()),
		Place:  u.Origin() + numbers.ReplaceAllString(u.Path(), "*") + " in another order",
		Orders: true,
	}
}

// numbers are those in a path of lists that are alike.
var numbers = regexp.MustCompile(`[0-9]+`)

// hashesOf returns the states of a URL that are hashes.
func hashesOf(u site.URL) (x Stated) {
	state := func(s string) bool {
		is := IsState(s)
		if h := xxh3.HashString("state " + s); is && !slices.Contains(x.States, h) {
			x.States = append(x.States, h)
		}
		return is
	}
	steps := strings.Split(u.Path(), "/")
	for i, s := range steps {
		if state(s) {
			steps[i] = site.TokenMark
		}
	}
	q, _ := u.Query()
	var pairs, kinds []string
	for pair := range site.Params(q) {
		name, value, _ := strings.Cut(pair, "=")
		kind := pair
		if state(value) {
			pair = name + "=" + site.TokenMark
		}
		if strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") != "" || len(value) > shortValue {
			kind = name + "=*" // else it may name what to show
		}
		pairs, kinds = append(pairs, pair), append(kinds, kind)
	}
	if len(x.States) == 0 {
		return x
	}
	slices.Sort(pairs)
	slices.Sort(kinds)
	x.View = xxh3.HashString(u.Origin() + strings.Join(steps, "/") + "?" + strings.Join(pairs, "&"))
	if last := len(steps) - 1; steps[last] != site.TokenMark {
		steps[last] = ""
	}
	x.Place = u.Origin() + strings.Join(steps, "/")
	if len(kinds) > 0 {
		x.Place += "?" + strings.Join(kinds, "&")
	}
	return x
}

// IsState reports whether a part of a URL may name a state: a hash with letters, which no date has.
func IsState(s string) bool {
	return len(s) >= shortState && strings.Trim(s, "0123456789abcdef") == "" &&
		strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdef")
}

// HasState reports whether a URL may have a state. For most it is false, and cheap.
func HasState[T string | []byte](u T) bool {
	n, digit := 0, false
	for i := range len(u) {
		switch c := u[i]; {
		case c == '?' && ordersAny(string(u[i+1:])):
			return true
		case '0' <= c && c <= '9':
			n, digit = n+1, true
		case 'a' <= c && c <= 'f':
			n++
		default:
			n, digit = 0, false
		}
		if n >= shortState && digit {
			return true
		}
	}
	return false
}

// ordersAny reports whether a query says in which order a list is.
func ordersAny(query string) bool {
	for pair := range site.Params(query) {
		if isOrder(pair) {
			return true
		}
	}
	return false
}
