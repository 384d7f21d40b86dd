// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Traps are the limits by which a single URL shows that it belongs to an endless space of them. The zero
// value is the default; a negative value switches a limit off. Each limit can lose good pages when set too
// low, and costs only requests when too high.
//
// Sources: Heritrix PathologicalPathDecideRule and TooManyPathSegmentsDecideRule; Manning, Raghavan, Schütze,
// section 20.1.1.
type Traps struct {
	MaxDepth  int // segments of the path; default 32
	MaxURLLen int // bytes of the whole URL; default 2048, and never over 32000, which a database key can hold
	// a segment or series of segments this often in a row (x/x/x, a/b/a/b/a/b); default 3. Numbers: twice as
	// often
	MaxRepeat int
	MaxSame   int // one segment this often anywhere in the path; default 6. Numbers do not count
	// one query parameter this often, nested in its own value too (next=/login?next=…); default 3 nested or with
	// the same value, thrice that with others
	MaxParam int

	MaxTemplate  int // for TrapCounter: URLs with a query of one path and set of parameter names; default 2000
	MaxDates     int // for TrapCounter: dates in the query of one path; default 200
	MaxPathDates int // for TrapCounter: dates that are a path's last part (/2026/11/20/); default 4000
	MaxYears     int // for TrapCounter: years in either place; default 60
}

// maxSegments bounds the segments that are compared with one another, for when MaxDepth does not.
const maxSegments = 256

// maxKeyedURL is the longest URL whose Key a database takes.
const maxKeyedURL = 32000

func (t Traps) withDefaults() Traps {
	for _, f := range []struct {
		field *int
		value int
	}{{&t.MaxDepth, 32}, {&t.MaxURLLen, 2048}, {&t.MaxRepeat, 3}, {&t.MaxSame, 6}, {&t.MaxParam, 3},
		{&t.MaxTemplate, 2000}, {&t.MaxDates, 200}, {&t.MaxPathDates, 4000}, {&t.MaxYears, 60}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if t.MaxURLLen < 0 || t.MaxURLLen > maxKeyedURL {
		t.MaxURLLen = maxKeyedURL
	}
	return t
}

// Check reports whether u by itself shows that it is part of a trap, and the limit that says so.
func (t Traps) Check(u URL) (reason string, trapped bool) {
	t = t.withDefaults()
	if u.IsZero() {
		return "", false
	}
	if n := len(u.s); n > t.MaxURLLen {
		return fmt.Sprintf("URL of %d bytes, the limit is %d", n, t.MaxURLLen), true
	}
	path := u.Path()
	depth := strings.Count(path, "/")
	if path[len(path)-1] == '/' {
		depth--
	}
	if t.MaxDepth > 0 && depth > t.MaxDepth {
		return fmt.Sprintf("path of %d segments, the limit is %d", depth, t.MaxDepth), true
	}
	if depth >= 3 {
		var buf [64]string
		segs := buf[:0]
		for p := path[1:]; p != "" && len(segs) < maxSegments; {
			var seg string
			seg, p, _ = strings.Cut(p, "/")
			segs = append(segs, seg)
		}
		if s, n := repeated(segs, t.MaxRepeat); n > 0 {
			return fmt.Sprintf("path repeats %s %d times", quote(s+"/"), n), true
		}
		if s, n := frequent(segs, t.MaxSame); n > 0 {
			return fmt.Sprintf("path has the segment %s %d times", quote(s), n), true
		}
	}
	if q, ok := u.Query(); ok && t.MaxParam > 0 {
		if reason, trapped = checkParams(q, t.MaxParam); trapped {
			return reason, true
		}
	}
	if name := sessionName(u); name != "" {
		return fmt.Sprintf("session id %s", name), true
	}
	return "", false
}

// repeated returns the first series of segments that stands limit times or more in a row, and how often it
// does. Segments that are numbers only need twice as many: /1/1/1/ are coordinates or dates.
func repeated(segs []string, limit int) (string, int) {
	if limit < 2 {
		return "", 0
	}
	for period := 1; period*limit <= len(segs); period++ {
		run := 0 // how many segments in a row equal the one a period before
		for i := period; i < len(segs); i++ {
			if segs[i] != segs[i-period] {
				run = 0
				continue
			}
			run++
			if run%period != 0 {
				continue
			}
			series := segs[i-period+1 : i+1]
			need := limit
			if allNumbers(series) {
				need *= 2
			}
			if n := run/period + 1; n >= need {
				return strings.Join(series, "/"), n
			}
		}
	}
	return "", 0
}

func frequent(segs []string, limit int) (string, int) {
	if limit < 2 || len(segs) < limit {
		return "", 0
	}
	for i, s := range segs[:len(segs)-limit+1] {
		n := 1
		for _, o := range segs[i+1:] {
			if o == s {
				n++
			}
		}
		if n >= limit && !allNumbers(segs[i:i+1]) {
			return s, n
		}
	}
	return "", 0
}

func allNumbers(segs []string) bool {
	for _, s := range segs {
		if s == "" || strings.Trim(s, "0123456789") != "" {
			return false
		}
	}
	return true
}

// checkParams finds parameters that occur too often in the query, by themselves or inside the escaped value
// of another. It looks at the first 100 parameters only, so that its cost stays bounded.
func checkParams(q string, limit int) (reason string, trapped bool) {
	all := slices.Collect(Params(q))
	for i, pair := range all[:min(len(all), 100)] {
		name, _, hasValue := strings.Cut(pair, "=")
		if name == "" {
			continue
		}
		same, named := 1, 1
		for _, other := range all[i+1:] {
			if other == pair {
				same++
			}
			if strings.HasPrefix(other, name+"=") {
				named++
			}
		}
		if same >= limit || named >= 3*limit {
			return fmt.Sprintf("query repeats the parameter %s %d times", quote(name), max(same, named)), true
		}
		if hasValue && len(name) >= 2 {
			if n := nested(pair, name); n >= limit {
				return fmt.Sprintf("query nests the parameter %s %d times", quote(name), n), true
			}
		}
	}
	return "", false
}

// Params are the parameters of a query that are not empty: name=value, or name.
func Params(query string) iter.Seq[string] {
	return strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' })
}

func cutParam(q string) (pair, rest string) {
	if i := strings.IndexAny(q, "&;"); i >= 0 {
		return q[:i], q[i+1:]
	}
	return q, ""
}

// nested counts how often name occurs in s as a parameter's name: followed by '=', plain or escaped once or
// more (%3D, %253D), and not preceded by a letter of another name.
func nested(s, name string) int {
	n := 0
	for i := 0; ; {
		j := strings.Index(s[i:], name)
		if j < 0 {
			return n
		}
		j += i
		i = j + len(name)
		if j > 0 && isAlnum(s[j-1]) && !((j >= 3 && s[j-3] == '%') || (j >= 5 && s[j-5:j-2] == "%25")) {
			continue
		}
		after := s[i:]
		if strings.HasPrefix(after, "%") {
			after = after[1:]
			for strings.HasPrefix(after, "25") {
				after = after[2:]
			}
			if len(after) >= 2 && after[0] == '3' && after[1]|0x20 == 'd' {
				n++
			}
		} else if strings.HasPrefix(after, "=") {
			n++
		}
	}
}

func isAlnum(c byte) bool {
	return ('0' <= c && c <= '9') || ('a' <= c|0x20 && c|0x20 <= 'z')
}
