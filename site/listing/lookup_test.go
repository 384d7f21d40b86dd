// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"mirrord/site"
)

// Find returns the entry of that decoded name.
func (l *Listing) Find(name string) (Entry, bool) {
	i, ok := slices.BinarySearchFunc(l.Entries, name, func(e Entry, name string) int {
		return cmp.Compare(e.Name, name)
	})
	if !ok {
		return Entry{}, false
	}
	return l.Entries[i], true
}

// Lookup returns the entry that u, a direct child of the directory dir, is called by, however u's path is
// percent-encoded. A directory is found with its slash and without. No URL with a query is found.
func (l *Listing) Lookup(dir, u site.URL) (Entry, bool) {
	name, isDir, ok := child(dir, u)
	if !ok {
		return Entry{}, false
	}
	e, ok := l.Find(name)
	return e, ok && (e.Dir || !isDir)
}

// Digest returns a fingerprint of the names, kinds, times and sizes, regardless of their order on the page
// and the software that made it.
func (l *Listing) Digest() [sha256.Size]byte {
	h := sha256.New()
	var b []byte
	for _, e := range l.Entries {
		b = binary.AppendUvarint(b[:0], uint64(len(e.Name)))
		b = append(b, e.Name...)
		if e.Dir {
			b = append(b, '/')
		}
		b = append(b, 0)
		b = append(e.appendState(b), 0)
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
