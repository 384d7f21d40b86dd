// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"crypto/md5"
	"encoding/binary"
	"io"
	"slices"
)

// Close adds what a ZIM file needs besides: the counter of types, the main page, the listings; then dirents,
// pointers, header and MD5.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.note(w.finish())
}

func (w *Writer) finish() error {
	if err := w.Add(Entry{Namespace: Metadata, Path: counterName, Type: textType}, w.dir.counter()); err != nil {
		return err
	}
	if w.MainPage != "" {
		if err := w.Redirect(Entry{Namespace: WellKnown, Path: mainPage}, w.MainPage); err != nil {
			return err
		}
	}
	lists := uint32(len(w.offsets))
	for i, name := range []string{listingV0, listingV1} {
		e := Entry{Namespace: Index, Path: name, Type: listingType}
		rec, err := w.dir.check(e)
		if err != nil {
			return err
		}
		rec.cluster, rec.blob = lists, uint32(i)
		w.dir.add(e, rec)
	}
	order, err := w.dir.order()
	if err != nil {
		return err
	}
	w.begin()
	h := header{
		Magic:     magic,
		Major:     6,
		Minor:     1,
		UUID:      w.UUID,
		Entries:   uint32(len(order)),
		Clusters:  uint32(len(w.offsets)),
		TitlePtrs: w.out.n + listingsAt,
		Types:     headerSize,
		MainPage:  noIndex,
		Layout:    noIndex,
	}
	if w.MainPage != "" {
		if h.MainPage, err = w.dir.find(order, WellKnown, mainPage); err != nil {
			return err
		}
	}
	if err := w.writeListings(w.dir.byTitle(order), order); err != nil {
		return err
	}
	if err := w.writeIndex(&h, order); err != nil {
		return err
	}
	return w.writeHeader(&h)
}

// listingsAt is where the first listing begins in its cluster: behind the info byte and three offsets.
const listingsAt = 1 + 3*8

// writeListings writes the cluster of both listings.
func (w *Writer) writeListings(titles, order []uint32) error {
	fronts := slices.DeleteFunc(slices.Clone(titles),
		func(k uint32) bool { return !w.dir.entries[order[k]].front })
	out := bufio.NewWriterSize(&w.out, 64<<10)
	head := []byte{plainCluster | wideOffsets}
	at := uint64(listingsAt - len(head))
	for _, n := range []int{0, len(titles), len(fronts)} {
		at += 4 * uint64(n)
		head = appendOffset(head, 8, at)
	}
	out.Write(head) // bufio keeps the error for Flush
	for _, k := range slices.Concat(titles, fronts) {
		out.Write(binary.LittleEndian.AppendUint32(head[:0], k))
	}
	return out.Flush()
}

// writeIndex writes dirents and pointers, and says in the header where they are.
func (w *Writer) writeIndex(h *header, order []uint32) error {
	out := bufio.NewWriterSize(&w.out, 64<<10)
	at := w.out.n
	pointers := make([]byte, 0, 8*len(order))
	var buf []byte
	for _, i := range order {
		pointers = binary.LittleEndian.AppendUint64(pointers, at)
		var err error
		if buf, err = w.dir.appendDirent(buf[:0], order, i); err != nil {
			return err
		}
		out.Write(buf)
		at += uint64(len(buf))
	}
	h.PathPtrs = at
	h.ClusterPtrs = h.PathPtrs + uint64(len(pointers))
	h.Sum = h.ClusterPtrs + 8*uint64(len(w.offsets))
	out.Write(pointers)
	for _, offset := range w.offsets {
		out.Write(binary.LittleEndian.AppendUint64(buf[:0], offset))
	}
	return out.Flush()
}

// writeHeader writes the header, and at the end the MD5, which is of the header, too.
func (w *Writer) writeHeader(h *header) error {
	head, err := binary.Append(nil, binary.LittleEndian, h)
	if err != nil {
		return err
	}
	if _, err := w.out.WriteAt(head, 0); err != nil {
		return err
	}
	sum, err := sumOf(w.out.File, int64(w.out.n))
	if err != nil {
		return err
	}
	_, err = w.out.Write(sum)
	return err
}

// sumOf returns the MD5 of the first n bytes.
func sumOf(r io.ReaderAt, n int64) ([]byte, error) {
	h := md5.New()
	got, err := io.Copy(h, io.NewSectionReader(r, 0, n))
	if err == nil && got < n {
		err = io.ErrUnexpectedEOF
	}
	return h.Sum(nil), err
}
