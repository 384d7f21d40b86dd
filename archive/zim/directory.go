// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// directory holds the entries that were added to a file, and the types that they may have.
type directory struct {
	types     []string
	typeOf    map[string]uint16
	entries   []entry
	names     []byte // path, NUL, title, NUL of each entry
	redirects map[uint32]string
	counts    []int // of content entries, by type
}

// newDirectory returns a directory for entries of some MIME types and those of the writer itself.
func newDirectory(types []string) (*directory, error) {
	d := &directory{typeOf: map[string]uint16{}, redirects: map[uint32]string{}}
	for _, t := range append(slices.Clone(types), textType, listingType) {
		if _, twice := d.typeOf[t]; twice {
			continue
		}
		if t == "" || strings.ContainsRune(t, 0) || len(d.types) >= maxTypes {
			return nil, fmt.Errorf("%w: %q is no MIME type, or one too many", ErrEntry, t)
		}
		d.typeOf[t] = uint16(len(d.types))
		d.types = append(d.types, t)
	}
	d.counts = make([]int, len(d.types))
	return d, nil
}

// entry is an entry that was added.
type entry struct {
	names         uint64 // offset in directory.names
	cluster, blob uint32
	mime          uint16
	namespace     byte
	front         bool
}

// check returns the record of an entry that can stand in the file.
func (d *directory) check(e Entry) (entry, error) {
	mime, known := d.typeOf[e.Type]
	bad := func(why string) error { return fmt.Errorf("%q: %w: %s", e.Path, ErrEntry, why) }
	switch {
	case !known:
		return entry{}, bad(fmt.Sprintf("its type %q is not in the list", e.Type))
	case e.Path == "", strings.ContainsRune(e.Path, 0), strings.ContainsRune(e.Title, 0):
		return entry{}, bad("an empty path, or a NUL")
	case len(d.entries) >= maxEntries:
		return entry{}, bad("one entry too many")
	}
	return entry{mime: mime, namespace: e.Namespace, front: e.Front}, nil
}

// add appends an entry.
func (d *directory) add(e Entry, rec entry) {
	rec.names = uint64(len(d.names))
	d.names = append(append(d.names, e.Path...), 0)
	if e.Title != e.Path {
		d.names = append(d.names, e.Title...)
	}
	d.names = append(d.names, 0)
	d.entries = append(d.entries, rec)
	if rec.namespace == Content && rec.mime != redirectType {
		d.counts[rec.mime]++
	}
}

// redirect appends an entry that redirects to the content entry at a path.
func (d *directory) redirect(e Entry, rec entry, target string) {
	rec.mime = redirectType
	d.redirects[uint32(len(d.entries))] = target
	d.add(e, rec)
}

// counter is the metadata that counts content by type.
func (d *directory) counter() []byte {
	var parts []string
	for i, n := range d.counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", d.types[i], n))
		}
	}
	slices.Sort(parts)
	return []byte(strings.Join(parts, ";"))
}

func (d *directory) path(i uint32) []byte { return until0(d.names[d.entries[i].names:]) }

// title is the path for entries without one.
func (d *directory) title(i uint32) []byte {
	path := d.path(i)
	if t := until0(d.names[d.entries[i].names+uint64(len(path))+1:]); len(t) > 0 {
		return t
	}
	return path
}

func until0(b []byte) []byte { return b[:bytes.IndexByte(b, 0)] }

// order returns the entries as added, by namespace and path.
func (d *directory) order() ([]uint32, error) {
	order := make([]uint32, len(d.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(d.entries[a].namespace, d.entries[b].namespace),
			bytes.Compare(d.path(a), d.path(b)))
	})
	for k := 1; k < len(order); k++ {
		a, b := order[k-1], order[k]
		if d.entries[a].namespace == d.entries[b].namespace && bytes.Equal(d.path(a), d.path(b)) {
			return nil, fmt.Errorf("%c/%s: %w: it stands twice", d.entries[b].namespace, d.path(b), ErrEntry)
		}
	}
	return order, nil
}

// find returns the index of an entry.
func (d *directory) find(order []uint32, namespace byte, path string) (uint32, error) {
	k, ok := slices.BinarySearchFunc(order, path, func(i uint32, path string) int {
		return cmp.Or(cmp.Compare(d.entries[i].namespace, namespace), cmp.Compare(string(d.path(i)), path))
	})
	if !ok {
		return 0, fmt.Errorf("%q: %w: a redirect or the main page points to it, and it was not added", path,
			ErrEntry)
	}
	return uint32(k), nil
}

// byTitle returns the indexes of all entries by namespace and title.
func (d *directory) byTitle(order []uint32) []uint32 {
	titles := make([]uint32, len(order))
	for k := range titles {
		titles[k] = uint32(k)
	}
	slices.SortFunc(titles, func(a, b uint32) int {
		i, j := order[a], order[b]
		return cmp.Or(cmp.Compare(d.entries[i].namespace, d.entries[j].namespace),
			bytes.Compare(d.title(i), d.title(j)), cmp.Compare(a, b))
	})
	return titles
}

// appendDirent appends the directory entry of entry i.
func (d *directory) appendDirent(dst []byte, order []uint32, i uint32) ([]byte, error) {
	e := &d.entries[i]
	dst = binary.LittleEndian.AppendUint16(dst, e.mime)
	dst = append(dst, 0, e.namespace, 0, 0, 0, 0)
	if e.mime == redirectType {
		k, err := d.find(order, Content, d.redirects[i])
		if err != nil {
			return nil, err
		}
		dst = binary.LittleEndian.AppendUint32(dst, k)
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, e.cluster)
		dst = binary.LittleEndian.AppendUint32(dst, e.blob)
	}
	end := uint64(len(d.names))
	if int(i)+1 < len(d.entries) {
		end = d.entries[i+1].names
	}
	return append(dst, d.names[e.names:end]...), nil
}
