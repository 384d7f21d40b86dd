// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"encoding/binary"

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

// maxURL is the longest URL that site accepts, in bytes.
const maxURL = 64 << 10

// recentBits is the binary logarithm of the size of the cache of resolved references.
const recentBits = 8

// resolver resolves the references of a document against one base. What most references are, an unreserved
// relative path or one seen a moment ago, it answers itself; a test holds that against
// site.URL.AppendResolve, which does the rest.
type resolver struct {
	base   site.URL
	dir    []byte // the base's URL up to the last slash of its path
	root   int    // length of its origin and first slash
	depth  int    // directories below the root
	recent [1 << recentBits]recentRef
}

type recentRef struct {
	ref, url []byte
}

func (r *resolver) init(base site.URL) {
	r.base = base
	r.dir = append(append(r.dir[:0], base.Origin()...), base.Dir()...)
	r.root = len(base.Origin()) + 1
	r.depth = bytes.Count(r.dir[r.root:], []byte("/"))
	clear(r.recent[:])
}

// climbs reports whether a plain reference leads above the root on its way. A browser stays at the root;
// a reader that follows it through directories, as a browser does under file://, leaves the copy.
func (r *resolver) climbs(ref []byte) bool {
	depth := r.depth
	for len(ref) >= 3 && ref[0] == '.' && ref[1] == '.' && ref[2] == '/' {
		if depth--; depth < 0 {
			return true
		}
		ref = ref[3:]
	}
	for parents := bytes.Contains(ref, []byte("..")); parents; {
		i := bytes.IndexByte(ref, '/')
		parents = i >= 0
		segment := ref
		if parents {
			segment, ref = ref[:i], ref[i+1:]
		}
		switch string(segment) {
		case "..":
			if depth--; depth < 0 {
				return true
			}
		case "", ".": // no directory is entered
		default:
			depth++
			parents = parents && bytes.Contains(ref, []byte(".."))
		}
	}
	return false
}

// hashRef mixes the length and the last bytes of a reference, which is where those of one page differ.
func hashRef(ref []byte) uint64 {
	h := uint64(len(ref))
	if len(ref) >= 8 {
		h ^= binary.LittleEndian.Uint64(ref[len(ref)-8:])
	} else {
		for _, c := range ref {
			h = h<<8 ^ uint64(c)
		}
	}
	return h * nameMix >> (64 - recentBits)
}

// resolve sets the URL of l.
func (sc *scanner) resolve(r *resolver, l *Link, plain bool) {
	slot := &r.recent[hashRef(l.Ref)]
	if slot.ref != nil && bytes.Equal(slot.ref, l.Ref) {
		l.URL = slot.url
		return
	}
	n := len(sc.urls)
	if sc.urlsBefore+n > MaxURLBytes {
		sc.d.Truncated |= BoundURLs
		return
	}
	// a new block: the content of the old one is not moved
	if need := len(r.dir) + len(l.Ref); cap(sc.urls)-n < need {
		sc.urlsBefore += n
		sc.urls, n = make([]byte, 0, max(need, min(max(2*cap(sc.urls), leastURLBlock), mostURLBlock))), 0
	}
	if !plain || !sc.resolvePlain(r, l.Ref) {
		out, _, err := r.base.AppendResolve(sc.urls, l.Ref)
		if err != nil {
			return
		}
		sc.urls = out
	}
	l.URL = sc.urls[n:len(sc.urls):len(sc.urls)]
	slot.ref, slot.url = l.Ref, l.URL
}

// resolvePlain appends the URL of a plain reference (see Link.Plain) and reports whether it could: "../" may
// stand in front, other dot segments are left to site.
func (sc *scanner) resolvePlain(r *resolver, ref []byte) bool {
	dir := r.dir
	for len(ref) > 2 && ref[0] == '.' && ref[1] == '.' && ref[2] == '/' {
		ref = ref[3:]
		if len(dir) > r.root {
			dir = dir[:bytes.LastIndexByte(dir[:len(dir)-1], '/')+1]
		}
	}
	if len(ref) == 0 || ref[0] == '/' || ref[len(ref)-1] == '.' || bytes.Contains(ref, []byte("./")) ||
		len(dir)+len(ref) > maxURL {
		return false
	}
	sc.urls = append(append(sc.urls, dir...), ref...)
	return true
}
