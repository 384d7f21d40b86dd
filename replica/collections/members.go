// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"mirrord/replica/text"
)

// packedMember is a member of a group as it is sorted: by its set, its path from the end, its host, its
// number. It has the set, the number, the length of the path, the digest, the path and the host.
type packedMember []byte

const memberFixed = 4 + 4 + 4 + digestSize

func (m packedMember) set() uint32    { return binary.LittleEndian.Uint32(m) }
func (m packedMember) page() uint32   { return binary.LittleEndian.Uint32(m[4:]) }
func (m packedMember) digest() []byte { return m[12:memberFixed] }
func (m packedMember) path() []byte   { return m[memberFixed:][:binary.LittleEndian.Uint32(m[8:])] }
func (m packedMember) host() []byte   { return m[memberFixed+len(m.path()):] }

func packMember(set, page uint32, a Address, digest []byte) packedMember {
	b := make([]byte, 0, memberFixed+len(a.Path)+len(a.Host))
	b = binary.LittleEndian.AppendUint32(b, set)
	b = binary.LittleEndian.AppendUint32(b, page)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Path)))
	b = append(b, digest...)
	return append(append(b, a.Path...), a.Host...)
}

func (m packedMember) compare(n packedMember) int {
	if m.set() != n.set() {
		return cmp.Compare(m.set(), n.set())
	}
	if c := compareEnds(m.path(), n.path()); c != 0 {
		return c
	}
	return cmp.Or(bytes.Compare(m.host(), n.host()), cmp.Compare(m.page(), n.page()))
}

func (m packedMember) unpack() member {
	digest, sketch := m.digest(), sketchOf(m.digest())
	return member{
		page:   m.page(),
		at:     Address{string(m.host()), string(m.path())},
		text:   binary.LittleEndian.Uint64(digest),
		words:  binary.LittleEndian.Uint32(digest[8+text.Bins:]),
		sketch: &sketch,
	}
}

func sketchOf(digest []byte) text.Sketch { return text.Sketch(digest[8:]) }

func memberOrder() order[packedMember] {
	return order[packedMember]{
		compare: func(a, b []byte) int { return packedMember(a).compare(b) },
		write:   func(b []byte, m packedMember) []byte { return append(b, m...) },
		read:    func(b []byte) packedMember { return b },
	}
}
