// SPDX-License-Identifier: Apache-2.0

package relocate

import "strings"

// pathSafe holds the bytes that a written path keeps: those a URL path may hold, without the few that some
// context (an attribute, CSS, srcset) would want escaped.
var pathSafe = func() (t [256]bool) {
	for c := range t {
		t[c] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			strings.IndexByte("-._~/!$*+;=:@", byte(c)) >= 0
	}
	return t
}()

// Relative appends the relative reference that leads from one mirror path to another. Mirror paths are
// slash-separated and do not begin with a slash. All that a path cannot hold as it is, and ' ( ) " & and the
// comma, is percent-encoded, so that the result needs no escape in any context. A page's reference to itself
// is its own base name.
func Relative(dst []byte, from, to string) []byte {
	common := 0 // length of the directories both share, with their last slash
	for i := 0; i < len(from) && i < len(to) && from[i] == to[i]; i++ {
		if from[i] == '/' {
			common = i + 1
		}
	}
	start := len(dst)
	for range strings.Count(from[common:], "/") {
		dst = append(dst, "../"...)
	}
	rest := to[common:]
	if len(dst) == start {
		first := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			first = rest[:i]
		}
		// would read as the directory's index, a root or a scheme
		if first == "" || strings.IndexByte(first, ':') >= 0 {
			dst = append(dst, "./"...)
		}
	}
	for i := range len(rest) {
		if c := rest[i]; pathSafe[c] {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}
