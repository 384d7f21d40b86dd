// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"mirrord/replica/hash"
)

// PageRef is a reference of a page: its target, and how it is written.
type PageRef struct{ Target, Written uint64 }

// NewPageRef makes a PageRef of the address that a reference resolves to, and of its own text. A query is
// part of the address, as pages of programs differ in it; the paper drops it. "/x/" and "/x/index.html" are
// one.
func NewPageRef(to Address, written []byte) PageRef {
	return PageRef{addressHash(to), hash.Token(written)}
}

func addressHash(a Address) uint64 {
	return hash.Mum(hash.Token(a.Host)^hash.TextPrime, hash.Token(strings.TrimSuffix(a.Path, "index.html")))
}

// LinkBuilder makes a LinkWeb of pages and their references, in the order of the pages' numbers. Addresses
// and references that are more than its budget go to the files of a Spill. Not for concurrent use.
type LinkBuilder struct {
	room   linkRoom
	places places
	refs   sorter[builtRef]
}

// LinkOptions are the budget of a LinkBuilder and its web.
type LinkOptions struct {
	Memory int64 // bytes held before files are used; 0 means 1 GiB, at least 64 KiB
	// Tick is called many times a second, so that a context may be checked. An error ends all. It may be nil.
	Tick func(n int) error
}

// builtRef is a page by the hash of its address, or a reference of a page by that of its target.
type builtRef struct {
	target, written uint64
	page            uint32
	isRef           bool
}

func (r builtRef) compare(s builtRef) int {
	if r.target == s.target && r.isRef != s.isRef {
		return less(!r.isRef)
	}
	return cmp.Or(cmp.Compare(r.target, s.target), cmp.Compare(r.page, s.page),
		cmp.Compare(r.written, s.written))
}

// resolvedRef is a reference of a page, with its target page.
type resolvedRef struct {
	written uint64
	page    uint32
	to      uint32 // plus 1; 0: to none
}

func (r resolvedRef) compare(s resolvedRef) int {
	return cmp.Or(cmp.Compare(r.page, s.page), cmp.Compare(r.to, s.to), cmp.Compare(r.written, s.written))
}

// pageLink is a link from one page, in the upper half, to another.
type pageLink uint64

// NewLinkBuilder returns a builder without pages. Close what it makes, or it.
func NewLinkBuilder(spill Spill, o LinkOptions) *LinkBuilder {
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	if o.Tick == nil {
		o.Tick = func(int) error { return nil }
	}
	m := int(min(max(o.Memory, 64<<10), math.MaxInt/2)) / 16
	room := linkRoom{spill: spill, memory: m, tick: o.Tick}
	return &LinkBuilder{
		room:   room,
		places: places{pile: newPile(spill, m)},
		refs: sorter[builtRef]{
			order: builtRefOrder(),
			spill: spill,
			limit: 2 * m,
			tick:  o.Tick,
		},
	}
}

// Add takes the next page. It keeps the references of which there are several once.
func (b *LinkBuilder) Add(a Address, refs []PageRef) error {
	page := uint32(b.places.pages)
	if err := b.places.add(a); err != nil {
		return err
	}
	if err := b.refs.add(builtRef{target: addressHash(a), page: page}); err != nil {
		return err
	}
	slices.SortFunc(refs, PageRef.compare)
	for _, r := range slices.Compact(refs) {
		err := b.refs.add(builtRef{
			target:  r.Target,
			written: r.Written,
			page:    page,
			isRef:   true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close gives back the room of all files, if no web was made.
func (b *LinkBuilder) Close() error { return errors.Join(b.places.pile.close(), b.refs.close()) }

func (r PageRef) compare(s PageRef) int {
	return cmp.Or(cmp.Compare(r.Target, s.Target), cmp.Compare(r.Written, s.Written))
}

func builtRefOrder() order[builtRef] {
	return order[builtRef]{
		key:     func(r builtRef) uint64 { return r.target },
		compare: builtRef.compare,
		size:    func(builtRef) int { return 2 * 24 },
		write: func(b []byte, r builtRef) []byte {
			kind := uint32(0)
			if r.isRef {
				kind = 1
			}
			return binary.LittleEndian.AppendUint64(appendTriple(b, r.target, r.page, kind), r.written)
		},
		read: func(r *bufio.Reader) (builtRef, error) {
			b, err := take(r, tripleSize+8)
			if err != nil {
				return builtRef{}, err
			}
			return builtRef{
				target:  binary.LittleEndian.Uint64(b),
				page:    binary.LittleEndian.Uint32(b[8:]),
				isRef:   binary.LittleEndian.Uint32(b[12:]) > 0,
				written: binary.LittleEndian.Uint64(b[16:]),
			}, nil
		},
	}
}

func resolvedOrder() order[resolvedRef] {
	return order[resolvedRef]{
		key:     func(r resolvedRef) uint64 { return uint64(r.page)<<32 | uint64(r.to) },
		compare: resolvedRef.compare,
		size:    func(resolvedRef) int { return 2 * tripleSize },
		write:   func(b []byte, r resolvedRef) []byte { return appendTriple(b, r.written, r.page, r.to) },
		read: func(r *bufio.Reader) (resolvedRef, error) {
			written, page, to, err := takeTriple(r)
			return resolvedRef{written, page, to}, err
		},
	}
}

func pageLinkOrder() order[pageLink] {
	return order[pageLink]{
		key:     func(l pageLink) uint64 { return uint64(l) },
		compare: cmp.Compare[pageLink],
		size:    func(pageLink) int { return 2 * 8 },
		write:   func(b []byte, l pageLink) []byte { return binary.LittleEndian.AppendUint64(b, uint64(l)) },
		read: func(r *bufio.Reader) (pageLink, error) {
			b, err := take(r, 8)
			if err != nil {
				return 0, err
			}
			return pageLink(binary.LittleEndian.Uint64(b)), nil
		},
	}
}
