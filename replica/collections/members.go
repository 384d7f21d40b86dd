// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"mirrord/replica/text"
)

// packedMember is a member of a group as it is sorted: by its set, its path from the end, its host, its
// number.
type packedMember struct {
	head uint64 // its set, the first bytes by which compareEnds orders its path
	rest []byte // number, digest, length of the path, path from the end, host
}

const memberFixed = 4 + digestSize + 4 // bytes of rest before the path

func (m packedMember) page() uint32 { return binary.LittleEndian.Uint32(m.rest) }

func (m packedMember) path() []byte {
	return m.rest[memberFixed:][:binary.LittleEndian.Uint32(m.rest[memberFixed-4:])]
}

func (m packedMember) host() []byte { return m.rest[memberFixed+len(m.path()):] }

func (m packedMember) compare(n packedMember) int {
	if m.head != n.head {
		return less(m.head < n.head)
	}
	if c := compareReversed(m.path(), n.path()); c != 0 {
		return c
	}
	if c := bytes.Compare(m.host(), n.host()); c != 0 {
		return c
	}
	return less(m.page() < n.page())
}

// addMember adds a page to those sorted by groups.
func (f *Finder) addMember(set, page uint32, host, path, digest []byte) error {
	size := memberFixed + len(path) + len(host)
	b := f.room.take(size)
	b = append(binary.LittleEndian.AppendUint32(b, page), digest...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(path)))
	for i := len(path) - 1; i >= 0; i-- {
		b = append(b, path[i])
	}
	m := packedMember{head: uint64(set) << 32, rest: append(b, host...)}
	end := b[memberFixed:][extension(path):]
	for i, c := range end[:min(4, len(end))] {
		m.head |= uint64(small(c)) << (24 - 8*i)
	}
	return f.members.add(m)
}

// unpack gives the member. Its sketch goes to s.
func (m packedMember) unpack(s *text.Sketch) (set uint32, out member) {
	reversed := m.path()
	b := make([]byte, 0, 256)
	b = append(b, m.host()...)
	for i := len(reversed) - 1; i >= 0; i-- {
		b = append(b, reversed[i])
	}
	at, hosts := string(b), len(b)-len(reversed)
	copy(s[:], m.rest[4+8:])
	return uint32(m.head >> 32), member{
		page:   m.page(),
		at:     Address{at[:hosts], at[hosts:]},
		text:   binary.LittleEndian.Uint64(m.rest[4:]),
		words:  binary.LittleEndian.Uint32(m.rest[4+8+text.Bins:]),
		sketch: s,
	}
}

func memberOrder() order[packedMember] {
	return order[packedMember]{
		key:     func(m packedMember) uint64 { return m.head },
		compare: packedMember.compare,
		size:    func(m packedMember) int { return len(m.rest) + 2*32 },
		write: func(b []byte, m packedMember) []byte {
			b = binary.LittleEndian.AppendUint64(b, m.head)
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(m.rest))), m.rest...)
		},
		read: func(r *bufio.Reader) (m packedMember, err error) {
			b, err := take(r, 12)
			if err != nil {
				return m, err
			}
			m.head = binary.LittleEndian.Uint64(b)
			if m.rest, err = take(r, int(binary.LittleEndian.Uint32(b[8:]))); errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return m, err
		},
	}
}

// room is memory for records that are all given back at once.
type room struct {
	piece  int // bytes
	pieces [][]byte
	at     int // the piece that is filled
}

// take returns an empty slice with capacity for n bytes, valid until everything is given back.
func (r *room) take(n int) []byte {
	if n > r.piece/4 {
		return make([]byte, 0, n)
	}
	if r.at < len(r.pieces) && len(r.pieces[r.at])+n > r.piece {
		r.at++
	}
	if r.at == len(r.pieces) {
		r.pieces = append(r.pieces, make([]byte, 0, r.piece))
	}
	p := &r.pieces[r.at]
	from := len(*p)
	*p = (*p)[:from+n]
	return (*p)[from : from : from+n]
}

// giveBack makes room again.
func (r *room) giveBack() {
	for i := range r.pieces {
		r.pieces[i] = r.pieces[i][:0]
	}
	r.at = 0
}
