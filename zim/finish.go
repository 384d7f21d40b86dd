// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Close adds what a ZIM file needs besides: the counter of types, the main page, the listings; then dirents,
// pointers, header and MD5. It must be called also after an error, to wait for what runs beside the caller.
func (w *Writer) Close() error {
	if w.err == nil {
		_ = w.note(w.finish())
	}
	for _, j := range w.pending {
		<-j.done
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
	for _, c := range []struct {
		*openCluster
		pack bool
	}{{&w.packed, true}, {&w.plain, false}} {
		if err := w.seal(c.openCluster, c.pack); err != nil {
			return err
		}
	}
	if err := w.flush(0); err != nil {
		return err
	}
	lists := w.open()
	for i, name := range []string{listingV0, listingV1} {
		e := Entry{Namespace: Index, Path: name, Type: listingType}
		rec, err := w.record(e)
		if err != nil {
			return err
		}
		rec.cluster, rec.blob = lists, uint32(i)
		w.keep(e, rec)
	}
	order, err := w.order()
	if err != nil {
		return err
	}
	titles, err := w.writeListings(lists, order)
	if err != nil {
		return err
	}
	return w.writeIndex(order, titles)
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
		return 0, fmt.Errorf("%q: %w: a redirect or the main page leads to it, and it was not added", path,
			ErrEntry)
	}
	return uint32(k), nil
}

// writeListings writes the cluster of both listings, and returns where the first one lies.
func (w *Writer) writeListings(cluster uint32, order []uint32) (uint64, error) {
	byTitle := make([]uint32, len(order)) // indexes
	for k := range byTitle {
		byTitle[k] = uint32(k)
	}
	slices.SortFunc(byTitle, func(a, b uint32) int {
		i, j := order[a], order[b]
		return cmp.Or(cmp.Compare(w.entries[i].namespace, w.entries[j].namespace),
			bytes.Compare(w.title(i), w.title(j)), cmp.Compare(a, b))
	})
	fronts := 0
	for i := range w.entries {
		if w.entries[i].front {
			fronts++
		}
	}
	w.place(cluster)
	const first = 3 * 8
	out := bufio.NewWriterSize(&w.out, 64<<10)
	head := []byte{plainCluster | wideOffsets}
	head = appendOffset(head, 8, first)
	head = appendOffset(head, 8, first+4*uint64(len(byTitle)))
	head = appendOffset(head, 8, first+4*uint64(len(byTitle)+fronts))
	titles := w.out.n + uint64(len(head))
	out.Write(head) // bufio keeps the error for Flush
	for _, k := range byTitle {
		out.Write(binary.LittleEndian.AppendUint32(nil, k))
	}
	for _, k := range byTitle {
		if w.entries[order[k]].front {
			out.Write(binary.LittleEndian.AppendUint32(nil, k))
		}
	}
	return titles, out.Flush()
}

// writeIndex writes dirents, pointers, header and MD5.
func (w *Writer) writeIndex(order []uint32, titles uint64) error {
	h := header{
		Magic:     magic,
		Major:     6,
		Minor:     1,
		UUID:      w.o.UUID,
		Entries:   uint32(len(order)),
		Clusters:  uint32(len(w.offsets)),
		TitlePtrs: titles,
		Types:     headerSize,
		MainPage:  noIndex,
		Layout:    noIndex,
	}
	out := bufio.NewWriterSize(&w.out, 64<<10)
	at := w.out.n
	pointers := make([]byte, 0, 8*len(order))
	var buf []byte
	for k, i := range order {
		pointers = binary.LittleEndian.AppendUint64(pointers, at)
		var err error
		if buf, err = w.appendDirent(buf[:0], order, i); err != nil {
			return err
		}
		out.Write(buf)
		at += uint64(len(buf))
		if w.entries[i].namespace == WellKnown && string(w.path(i)) == mainPage {
			h.MainPage = uint32(k)
		}
	}
	h.PathPtrs = at
	out.Write(pointers)
	h.ClusterPtrs = at + uint64(len(pointers))
	for _, offset := range w.offsets {
		out.Write(binary.LittleEndian.AppendUint64(nil, offset))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	h.Sum = w.out.n
	var head bytes.Buffer
	if err := binary.Write(&head, binary.LittleEndian, h); err != nil {
		return err
	}
	if _, err := w.out.WriteAt(head.Bytes(), 0); err != nil {
		return err
	}
	sum, err := sumOf(w.out, int64(h.Sum))
	if err != nil {
		return err
	}
	_, err = w.out.Write(sum)
	return err
}

// appendDirent appends what is said of an entry.
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

// sumOf returns the MD5 of the first n bytes.
func sumOf(r io.ReaderAt, n int64) ([]byte, error) {
	sum := md5.New()
	got, err := io.CopyBuffer(sum, onlyReader{io.NewSectionReader(r, 0, n)}, make([]byte, 1<<20))
	if (err == nil) && got < n {
		err = io.ErrUnexpectedEOF
	}
	return sum.Sum(nil), err
}

// onlyReader hides WriterTo, so that a copy uses the buffer it is given.
type onlyReader struct{ io.Reader }
