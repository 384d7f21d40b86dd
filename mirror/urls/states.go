// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"mirrord/site"
)

// Stated is a URL of a browser of code, such as /tree/notes?id=4f3a2b1: it shows a view, which is the URL
// without the states, in one or two states of a repository.
type Stated struct {
	States []uint64 // hashes of them
	View   uint64
	Place  string // the directory of the view, with its parameters
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

// StatedOf returns the states of a URL, which are hashes in its path and query; none for most URLs.
func StatedOf(u site.URL) (x Stated) {
	if !HasState(u.String()) {
		return x
	}
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
