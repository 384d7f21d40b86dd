// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Close adds what a ZIM file needs besides: the counter of types, the main page, the listings; then dirents,
// pointers, header and MD5. It must be called also after an error, to wait for what runs beside the caller.
func (w *Writer) Close() error {
	if w.err == nil {
		_ = w.note(w.finish())
	}
	for _, c := range w.pending {
		<-c.done
	}
	w.pending = nil
	return w.err
}

func (w *Writer) finish() error {
	if err := w.add(Entry{Namespace: Metadata, Path: counterName, Type: textType}, w.counter()); err != nil {
		return err
	}
	if w.o.MainPage != "" {
		if err := w.Redirect(Entry{Namespace: WellKnown, Path: mainPage}, w.o.MainPage); err != nil {
			return err
		}
	}
	for _, c := range []**OpenCluster{&w.packed, &w.plain} {
		if err := w.seal(c); err != nil {
			return err
		}
	}
	lists := w.open()
	for i, name := range []string{listingV0, listingV1} {
		e := Entry{Namespace: Index, Path: name, Type: listingType}
		rec, err := w.record(e)
		if err != nil {
			return err
		}
		rec.cluster, rec.blob = lists, uint32(i+1)
		w.keep(e, rec)
	}
	if err := w.flush(0); err != nil {
		return err
	}
	end := w.out.n + w.keptRoom()
	sum := w.sumOf(w.header(end))
	err := w.writeKept(func() { sum.more(w.out.n) })
	if err == nil && w.out.n > end { // they took more
		if err := sum.end(w, false); err != nil {
			return err
		}
		end = w.out.n
		sum = w.sumOf(w.header(end))
	}
	if err == nil {
		err = w.writeRest(lists, end)
	}
	return errors.Join(err, sum.end(w, err == nil))
}

// writeRest writes what follows the clusters of content: the listings, dirents and pointers.
func (w *Writer) writeRest(lists uint32, end uint64) error {
	order, err := w.order()
	if err != nil {
		return err
	}
	w.place(lists)
	if err := w.writeListings(w.byTitle(order), order, end); err != nil {
		return err
	}
	return w.writeIndex(order)
}

// counter is the metadata that counts content by type.
func (w *Writer) counter() []byte {
	var parts []string
	for i, n := range w.counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", w.types[i], n))
		}
	}
	slices.Sort(parts)
	return []byte(strings.Join(parts, ";"))
}

func (w *Writer) path(i uint32) []byte { return until0(w.names[w.entries[i].names:]) }

// title is the path for entries without one.
func (w *Writer) title(i uint32) []byte {
	path := w.path(i)
	if t := until0(w.names[w.entries[i].names+uint64(len(path))+1:]); len(t) > 0 {
		return t
	}
	return path
}

func until0(b []byte) []byte { return b[:bytes.IndexByte(b, 0)] }

// order returns the entries as added, by namespace and path.
func (w *Writer) order() ([]uint32, error) {
	order := make([]uint32, len(w.entries))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(w.entries[a].namespace, w.entries[b].namespace),
			bytes.Compare(w.path(a), w.path(b)))
	})
	for k := 1; k < len(order); k++ {
		a, b := order[k-1], order[k]
		if w.entries[a].namespace == w.entries[b].namespace && bytes.Equal(w.path(a), w.path(b)) {
			return nil, fmt.Errorf("%c/%s: %w: it stands twice", w.entries[b].namespace, w.path(b), ErrEntry)
		}
	}
	return order, nil
}

// find returns the index of a content entry.
func (w *Writer) find(order []uint32, path string) (uint32, error) {
	k, ok := slices.BinarySearchFunc(order, path, func(i uint32, path string) int {
		return cmp.Or(cmp.Compare(w.entries[i].namespace, Content), cmp.Compare(string(w.path(i)), path))
	})
	if !ok {
		return 0, fmt.Errorf("%q: %w: a redirect or the main page points to it, and it was not added", path,
			ErrEntry)
	}
	return uint32(k), nil
}

// byTitle returns the indexes of all entries by namespace and title.
func (w *Writer) byTitle(order []uint32) []uint32 {
	titles := make([]uint32, len(order))
	for k := range titles {
		titles[k] = uint32(k)
	}
	slices.SortFunc(titles, func(a, b uint32) int {
		i, j := order[a], order[b]
		return cmp.Or(cmp.Compare(w.entries[i].namespace, w.entries[j].namespace),
			bytes.Compare(w.title(i), w.title(j)), cmp.Compare(a, b))
	})
	return titles
}

// listingsAt is where the first listing begins in its cluster when nothing stands before it: behind the info
// byte and four offsets.
const listingsAt = 1 + 4*8

// header says where everything will be when the clusters of content end at a byte: the listings, dirents,
// pointers and MD5.
func (w *Writer) header(end uint64) *header {
	clusters := len(w.offsets) + len(w.kept) + 1
	h := &header{
		Magic:     magic,
		Major:     6,
		Minor:     1,
		UUID:      w.o.UUID,
		Entries:   uint32(len(w.entries)),
		Clusters:  uint32(clusters),
		TitlePtrs: end + listingsAt,
		Types:     headerSize,
		MainPage:  noIndex,
		Layout:    noIndex,
	}
	listed, before := len(w.entries), uint32(0)
	for i := range w.entries {
		e := &w.entries[i]
		if e.front {
			listed++
		}
		if e.namespace < WellKnown || (e.namespace == WellKnown && string(w.path(uint32(i))) < mainPage) {
			before++
		}
	}
	if w.o.MainPage != "" {
		h.MainPage = before
	}
	dirents := h.TitlePtrs + 4*uint64(listed)
	fixed := direntSize*len(w.entries) - (direntSize-redirectSize)*len(w.redirects)
	h.PathPtrs = dirents + uint64(fixed+len(w.names))
	h.ClusterPtrs = h.PathPtrs + 8*uint64(len(w.entries))
	h.Sum = h.ClusterPtrs + 8*uint64(clusters)
	return h
}

// writeListings writes the cluster of both listings. Its first blob, which no entry has, fills the room that
// the clusters before it left up to end: only zeros.
func (w *Writer) writeListings(titles, order []uint32, end uint64) error {
	fronts := slices.DeleteFunc(slices.Clone(titles), func(k uint32) bool { return !w.entries[order[k]].front })
	room := end - w.out.n
	out := bufio.NewWriterSize(&w.out, 64<<10)
	head := []byte{plainCluster | wideOffsets}
	at := uint64(listingsAt - len(head))
	for _, size := range []uint64{0, room, 4 * uint64(len(titles)), 4 * uint64(len(fronts))} {
		at += size
		head = appendOffset(head, 8, at)
	}
	out.Write(head) // bufio keeps the error for Flush
	for zeros := make([]byte, 4<<10); room > 0; {
		n, _ := out.Write(zeros[:min(room, uint64(len(zeros)))])
		room -= uint64(n)
	}
	for _, k := range slices.Concat(titles, fronts) {
		out.Write(binary.LittleEndian.AppendUint32(head[:0], k))
	}
	return out.Flush()
}

// writeIndex writes dirents and pointers.
func (w *Writer) writeIndex(order []uint32) error {
	out := bufio.NewWriterSize(&w.out, 64<<10)
	at := w.out.n
	pointers := make([]byte, 0, 8*len(order))
	var buf []byte
	for _, i := range order {
		pointers = binary.LittleEndian.AppendUint64(pointers, at)
		var err error
		if buf, err = w.appendDirent(buf[:0], order, i); err != nil {
			return err
		}
		out.Write(buf)
		at += uint64(len(buf))
	}
	out.Write(pointers)
	for _, offset := range w.offsets {
		out.Write(binary.LittleEndian.AppendUint64(buf[:0], offset))
	}
	return out.Flush()
}

// Bytes of a dirent before its names.
const (
	direntSize   = 16
	redirectSize = 12
)

// appendDirent appends the directory entry of an entry.
func (w *Writer) appendDirent(dst []byte, order []uint32, i uint32) ([]byte, error) {
	e := &w.entries[i]
	dst = binary.LittleEndian.AppendUint16(dst, e.mime)
	dst = append(dst, 0, e.namespace, 0, 0, 0, 0)
	if e.mime == redirectType {
		k, err := w.find(order, w.redirects[i])
		if err != nil {
			return nil, err
		}
		dst = binary.LittleEndian.AppendUint32(dst, k)
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, w.sealed[e.cluster])
		dst = binary.LittleEndian.AppendUint32(dst, e.blob)
	}
	end := uint64(len(w.names))
	if int(i)+1 < len(w.entries) {
		end = w.entries[i+1].names
	}
	return append(dst, w.names[e.names:end]...), nil
}
