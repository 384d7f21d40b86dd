// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"mirrord/site"
)

// ErrTaken says that a path is owned, or that it would need a file where a directory is, or the reverse.
var ErrTaken = errors.New("path is taken")

// Namer gives each URL of a set a mirror path of its own. First Reserve the paths of earlier versions: an
// owner keeps its path for ever. Then Assign the new URLs, each once and in the order of Less: the same sets
// give the same paths.
//
// Paths are compared without case and in one normalization form, and no path is a directory of another one,
// so the tree is the same on every file system. A Namer keeps one 64-bit hash per file and directory, not the
// paths; two paths with the same hash cost the later URL its preferred name and nothing else. The zero value
// has the zero Layout. Not safe for concurrent use.
type Namer struct {
	Layout Layout

	owned   map[uint64]struct{} // hashes of folded paths; the lowest bit says directory
	buf     []byte
	lastDir []byte // folded directory of the last claim: its parents are known to be directories
}

// NewNamer returns a Namer with capacity for n URLs.
func NewNamer(l Layout, n int) *Namer {
	return &Namer{Layout: l, owned: make(map[uint64]struct{}, n)}
}

// Reserve claims a path that a URL owns since an earlier version. It fails with ErrPath or ErrTaken.
func (n *Namer) Reserve(path string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	return n.take(path)
}

// take is Reserve for a path that was checked.
func (n *Namer) take(path string) error {
	if !n.claim(path) {
		return fmt.Errorf("reserve %q: %w", path, ErrTaken)
	}
	return nil
}

// Assign returns the mirror path of u and claims it: Preferred when it is free, else Qualified. mime is as
// for Preferred. offered is the SafeName under which the server offers the file, "" for none: it gives a file
// of an unknown type its extension.
func (n *Namer) Assign(u site.URL, mime, offered string) string {
	if u.IsZero() {
		return ""
	}
	ext := offeredExtension(offered, mime)
	p := n.Layout.Preferred(u, mime)
	if ext != "" {
		p = n.Layout.name(u, mime, ext, false)
	}
	if n.claim(p) {
		return p
	}
	q := n.Layout.name(u, mime, ext, true)
	if n.claim(q) {
		return q
	}
	for _, path := range []string{p, q} {
		if s := n.sidestep(path); len(s) <= MaxPath && n.claim(s) {
			return s
		}
	}
	_, ext = splitExtension(q)
	for salt := u.String(); ; salt += " " {
		sum := sha256.Sum256([]byte(salt))
		if s := "~" + hex.EncodeToString(sum[:16]) + ext; n.claim(s) {
			return s
		}
	}
}

// sidestep qualifies each directory of a path whose place a file has: with a file "a", "a/b" becomes
// "a~0123456789/b".
func (n *Namer) sidestep(path string) string {
	for i := 0; i < len(path); i++ {
		if path[i] != '/' || !n.has(n.fold(path[:i]), 0) {
			continue
		}
		dir := path[:i]
		start := strings.LastIndexByte(dir, '/') + 1
		dir = dir[:start] + cut(dir[start:], MaxSegment-hashLen) + qualifier(dir)
		path = dir + path[i:]
		i = len(dir)
	}
	return path
}

// claim takes path and reports whether it was free.
func (n *Namer) claim(path string) bool {
	key := n.fold(path)
	if n.has(key, 0) || n.has(key, 1) {
		return false
	}
	if n.owned == nil {
		n.owned = map[uint64]struct{}{}
	}
	slash := strings.LastIndexByte(path, '/')
	if slash >= 0 {
		for slash = len(key) - 1; key[slash] != '/'; slash-- {
		}
		if string(key[:slash]) != string(n.lastDir) {
			for i, c := range key[:slash+1] {
				if c == '/' && n.has(key[:i], 0) {
					return false
				}
			}
			for i, c := range key[:slash+1] {
				if c == '/' {
					n.owned[keyHash(key[:i], 1)] = struct{}{}
				}
			}
			n.lastDir = append(n.lastDir[:0], key[:slash]...)
		}
	}
	n.owned[keyHash(key, 0)] = struct{}{}
	return true
}

func (n *Namer) has(key []byte, kind uint64) bool {
	_, ok := n.owned[keyHash(key, kind)]
	return ok
}

func keyHash(key []byte, kind uint64) uint64 { return xxh3.Hash(key)&^3 | 2 | kind }

// fold returns the form of a path in which those that are one name on some file system are equal; valid until
// the next fold.
func (n *Namer) fold(path string) []byte {
	if isASCII(path) {
		path = strings.ToLower(path)
	} else {
		path = Fold(path)
	}
	n.buf = append(n.buf[:0], path...)
	return n.buf
}

// Fold returns a path without case and in normalization form C. Two paths of one PHM never have the same
// Fold.
func Fold(path string) string {
	// Full case folding, and then the simple mappings of NTFS and HFS+ on top: ı and ſ have upper cases of ASCII
	// there.
	return norm.NFC.String(strings.ToLower(strings.ToUpper(cases.Fold().String(norm.NFC.String(path)))))
}
