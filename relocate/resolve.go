// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"strings"

	"mirrord/site"
)

// MaxURLBytes bounds the memory of all resolved URLs of a document: a long base and many short links would
// otherwise be quadratic.
const MaxURLBytes = 64 << 20

// maxBaseBytes bounds the same of the bases that parts of a document have.
const maxBaseBytes = 16 << 20

// The blocks in which resolved URLs are kept, in bytes: the first one, and the size from which on they no
// longer double.
const (
	leastURLBlock = 4 << 10
	mostURLBlock  = 256 << 10
)

// climbs reports whether a plain reference leads above the root on its way. A browser stays at the root;
// a reader that follows it through directories, as a browser does under file://, leaves the copy.
func climbs(base site.URL, ref []byte) bool {
	if !bytes.Contains(ref, []byte("..")) {
		return false
	}
	depth := strings.Count(base.Dir(), "/") - 1
	for segment := range bytes.SplitSeq(ref, []byte("/")) {
		switch string(segment) {
		case "..":
			if depth--; depth < 0 {
				return true
			}
		case "", ".": // no directory is entered
		default:
			depth++
		}
	}
	return false
}

// resolve sets the URL of l, against a base.
func (sc *scanner) resolve(base site.URL, l *Link) {
	n := len(sc.urls)
	if sc.urlsBefore+n > MaxURLBytes {
		sc.d.Truncated |= BoundURLs
		return
	}
	// a new block: the content of the old one is not moved
	if need := len(base.String()) + len(l.Ref); cap(sc.urls)-n < need {
		sc.urlsBefore += n
		sc.urls, n = make([]byte, 0, max(need, min(max(2*cap(sc.urls), leastURLBlock), mostURLBlock))), 0
	}
	out, _, err := base.AppendResolve(sc.urls, l.Ref)
	if err != nil {
		return
	}
	sc.urls = out
	l.URL = sc.urls[n:len(sc.urls):len(sc.urls)]
}
