// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"encoding/binary"
	"errors"
	"slices"
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
	if err := w.add(Entry{Namespace: Metadata, Path: counterName, Type: textType}, w.dir.counter()); err != nil {
		return err
	}
	if w.MainPage != "" {
		if err := w.Redirect(Entry{Namespace: WellKnown, Path: mainPage}, w.MainPage); err != nil {
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
		rec, err := w.dir.check(e)
		if err != nil {
			return err
		}
		rec.cluster, rec.blob = lists, uint32(i+1)
		w.dir.add(e, rec)
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
	order, err := w.dir.order()
	if err != nil {
		return err
	}
	w.place(lists)
	if err := w.writeListings(w.dir.byTitle(order), order, end); err != nil {
		return err
	}
	return w.writeIndex(order)
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
		UUID:      w.UUID,
		Entries:   uint32(len(w.dir.entries)),
		Clusters:  uint32(clusters),
		TitlePtrs: end + listingsAt,
		Types:     headerSize,
		MainPage:  noIndex,
		Layout:    noIndex,
	}
	listed, before := len(w.dir.entries), uint32(0)
	for i := range w.dir.entries {
		e := &w.dir.entries[i]
		if e.front {
			listed++
		}
		if e.namespace < WellKnown || (e.namespace == WellKnown && string(w.dir.path(uint32(i))) < mainPage) {
			before++
		}
	}
	if w.MainPage != "" {
		h.MainPage = before
	}
	dirents := h.TitlePtrs + 4*uint64(listed)
	fixed := direntSize*len(w.dir.entries) - (direntSize-redirectSize)*len(w.dir.redirects)
	h.PathPtrs = dirents + uint64(fixed+len(w.dir.names))
	h.ClusterPtrs = h.PathPtrs + 8*uint64(len(w.dir.entries))
	h.Sum = h.ClusterPtrs + 8*uint64(clusters)
	return h
}

// writeListings writes the cluster of both listings. Its first blob, which no entry has, fills the room that
// the clusters before it left up to end: only zeros.
func (w *Writer) writeListings(titles, order []uint32, end uint64) error {
	fronts := slices.DeleteFunc(slices.Clone(titles),
		func(k uint32) bool { return !w.dir.entries[order[k]].front })
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
		if buf, err = w.dir.appendDirent(buf[:0], order, i, w.sealed); err != nil {
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
