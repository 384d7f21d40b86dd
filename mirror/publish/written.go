// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"mirrord/internal/numbered"
	"mirrord/phm"
	"mirrord/store"
)

// writtenIs is what a document is that came. The zero value is one that was not written through.
type writtenIs uint8

const (
	isWritten    writtenIs = 1 << iota
	isVoid                 // another body came since
	namesLiteral           // it has only the URLs of some links

	writtenBits = 3
)

// written is a document that was written through. The zero value means none.
type written struct {
	of   uint32 // where the line of its file is, in units of lineUnit, and by the lower bits what it is
	when uint32 // see outlook.clock
}

// some reports whether there is such a document.
func (w written) some() bool { return w.is(isWritten) }

// is reports whether it is something.
func (w written) is(what writtenIs) bool { return writtenIs(w.of)&what != 0 }

// line is where the line of its file is kept.
func (w written) line() int64 { return int64(w.of>>writtenBits) * lineUnit }

// writtenLine is the line of a file that was written through.
type writtenLine struct {
	id     uint32      // of the document
	when   uint32      // see outlook.clock
	at     store.Place // of the rest of the document; none where it has no rest
	path   uint32      // of the file, as an outlook has it
	body   [32]byte    // SHA-256 of the document
	digest [32]byte    // SHA-256 of the file
	size   int64       // of the file
	mtime  int64       // Unix seconds
	edits  []phm.DeclaredEdit
	extra  []byte // JSON of the other members of the line in the file table; empty for none
}

// writtenLines keeps lines in a private file: each is read once, and a large site has many.
// They are added one at a time; after flush they are read, by several at once.
type writtenLines struct {
	file *os.File
	b    []byte // what the file does not have yet
	end  int64  // of the file
}

const (
	lineBegin = 4 + 4 + 4                                // length, of the document
	lineHead  = lineBegin + 16 + 4 + 32 + 32 + 8 + 8 + 4 // of the file, length of the edits
	lineRoom  = 512                                      // most lines are shorter
	lineUnit  = 8                                        // bytes: lines begin at its multiples
	linesHeld = 64 << 10
	mostLines = 1 << 31 // bytes
)

// full reports whether no more fit.
func (l *writtenLines) full() bool { return l.end+int64(len(l.b)) > mostLines }

// add adds a line.
func (l *writtenLines) add(w *writtenLine) error {
	if len(l.b) >= linesHeld {
		if err := l.flush(); err != nil {
			return err
		}
	}
	from := len(l.b)
	b := binary.BigEndian.AppendUint32(l.b, 0)
	b = binary.BigEndian.AppendUint32(b, w.id)
	b = binary.BigEndian.AppendUint32(b, w.when)
	b = binary.BigEndian.AppendUint32(b, w.at.Pack)
	b = binary.BigEndian.AppendUint64(b, uint64(w.at.Off))
	b = binary.BigEndian.AppendUint32(b, w.at.Len)
	b = binary.BigEndian.AppendUint32(b, w.path)
	b = append(append(b, w.body[:]...), w.digest[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(w.size))
	b = binary.BigEndian.AppendUint64(b, uint64(w.mtime))
	edits := len(b)
	b = packEdits(binary.BigEndian.AppendUint32(b, 0), w.edits)
	binary.BigEndian.PutUint32(b[edits:], uint32(len(b)-edits-4))
	b = append(b, w.extra...)
	binary.BigEndian.PutUint32(b[from:], uint32(len(b)-from))
	for len(b)%lineUnit > 0 {
		b = append(b, 0)
	}
	l.b = b
	return nil
}

// flush writes what the file does not have yet.
func (l *writtenLines) flush() error {
	if len(l.b) == 0 {
		return nil
	}
	if _, err := l.file.WriteAt(l.b, l.end); err != nil {
		return &store.DiskError{Op: "keep lines of the file table", Err: err}
	}
	l.end += int64(len(l.b))
	l.b = l.b[:0]
	return nil
}

// documents returns the documents that have lines, by their numbers. is says what each is.
func (l *writtenLines) documents(is *numbered.Values[writtenIs]) (all numbered.Values[written], err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(l.file, 0, l.end), linesHeld)
	for at := int64(0); at < l.end; {
		head, err := r.Peek(lineBegin)
		if err != nil {
			return all, &store.DiskError{Op: "read kept lines of the file table", Err: err}
		}
		size := binary.BigEndian.Uint32(head)
		id := binary.BigEndian.Uint32(head[4:])
		all.Put(id, written{
			of:   uint32(at/lineUnit)<<writtenBits | uint32(is.Of(id)),
			when: binary.BigEndian.Uint32(head[8:]),
		})
		n, err := r.Discard((int(size) + lineUnit - 1) / lineUnit * lineUnit)
		if err != nil {
			return all, &store.DiskError{Op: "read kept lines of the file table", Err: err}
		}
		at += int64(n)
	}
	return all, nil
}

// read reads a line. Its extra is in room, which the next one may have.
func (l *writtenLines) read(at int64, room *[]byte) (w writtenLine, err error) {
	if *room == nil {
		*room = make([]byte, lineRoom)
	}
	b := *room
	n, err := l.file.ReadAt(b, at)
	if err != nil && (!errors.Is(err, io.EOF) || n < lineHead) {
		return w, &store.DiskError{Op: "read kept lines of the file table", Err: err}
	}
	if size := int(binary.BigEndian.Uint32(b)); size <= n {
		b = b[:size]
	} else {
		b = make([]byte, size)
		if _, err := l.file.ReadAt(b, at); err != nil {
			return w, &store.DiskError{Op: "read kept lines of the file table", Err: err}
		}
	}
	w.id, w.when = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	b = b[lineBegin:]
	w.at = store.Place{
		Pack: binary.BigEndian.Uint32(b),
		Off:  int64(binary.BigEndian.Uint64(b[4:])),
		Len:  binary.BigEndian.Uint32(b[12:]),
	}
	w.path = binary.BigEndian.Uint32(b[16:])
	b = b[20:]
	b = b[copy(w.body[:], b):]
	b = b[copy(w.digest[:], b):]
	w.size, w.mtime = int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	edits := 20 + binary.BigEndian.Uint32(b[16:])
	w.edits, w.extra = unpackEdits(b[20:edits]), b[edits:]
	return w, nil
}

// close gives the room back.
func (l *writtenLines) close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// packEdits appends declared edits to b in few bytes: of each, the length of its kind, the kind, and its
// place.
func packEdits(b []byte, edits []phm.DeclaredEdit) []byte {
	for _, e := range edits {
		b = append(append(b, byte(len(e.Kind))), e.Kind...)
		b = binary.AppendUvarint(b, uint64(e.At))
	}
	return b
}

// unpackEdits returns what packEdits packed.
func unpackEdits(b []byte) (edits []phm.DeclaredEdit) {
	if len(b) > 0 {
		edits = make([]phm.DeclaredEdit, 0, fewEdits)
	}
	kind := "" // mostly the same as before
	for len(b) > 0 {
		n := 1 + int(b[0])
		if string(b[1:n]) != kind {
			kind = string(b[1:n])
		}
		at, size := binary.Uvarint(b[n:])
		edits = append(edits, phm.DeclaredEdit{Kind: kind, At: int64(at)})
		b = b[n+size:]
	}
	return edits
}

// fewEdits is how many declared edits most documents have at most.
const fewEdits = 4
