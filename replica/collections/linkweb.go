// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"mirrord/replica/unionfind"
)

// LinkWeb is pages and their links, in files beyond its budget. Not for concurrent use.
type LinkWeb struct {
	Links, Dangling int // links in all; of these, those that lead nowhere as they are written

	room   linkRoom
	places places
	near   []nearPages // some decoded addresses
	links  pile
	err    error // of reading addresses
}

// nearPages are the addresses of pages that follow one another.
type nearPages struct {
	first int // plus 1; 0: none
	at    []Address
}

// mostNear is how many such are kept, each of startEvery pages.
const mostNear = 4096

// Web resolves the references, once. With dangling, one to no page counts as a link to the page
// that a counterpart of its own page, one of the same trivial cluster, reaches by the same reference: a copy
// whose links lead nowhere shares these pages.
func (b *LinkBuilder) Web(sets *unionfind.Sets, dangling bool) (_ *LinkWeb, err error) {
	w := &LinkWeb{
		room:   b.room,
		places: b.places,
		near:   make([]nearPages, min(max(b.room.memory/(startEvery*128), 16), mostNear)),
		links:  newPile(b.room.spill, 2*b.room.memory),
	}
	b.places = places{}
	x := resolver{LinkWeb: w}
	defer func() {
		if err = errors.Join(err, b.refs.close(), x.close()); err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if err := x.resolve(b); err != nil {
		return nil, err
	}
	if dangling {
		for _, members := range sets.All(2) {
			if err := cmp.Or(x.dangling(members), w.err); err != nil {
				return nil, err
			}
		}
	}
	return w, x.write()
}

// resolver makes the links of a LinkWeb.
type resolver struct {
	*LinkWeb
	refs  pile             // by page: how each is written, and where it leads
	ends  []uint32         // of the references of a page
	extra sorter[pageLink] // dangling ones
}

const refSize = 12 // bytes of a reference in refs

func (x *resolver) close() error { return errors.Join(x.refs.close(), x.extra.close()) }

// resolve finds the target page of each reference.
func (x *resolver) resolve(b *LinkBuilder) (err error) {
	x.refs = newPile(x.room.spill, 2*x.room.memory)
	x.extra = sorter[pageLink]{
		order: pageLinkOrder(),
		spill: x.room.spill,
		limit: x.room.memory,
		tick:  x.room.tick,
	}
	byPage := sorter[resolvedRef]{
		order: resolvedOrder(),
		spill: x.room.spill,
		limit: 2 * x.room.memory,
		tick:  x.room.tick,
	}
	defer func() { err = errors.Join(err, byPage.close()) }()
	target, page := uint64(0), uint32(0) // the first page at that address, plus 1
	for r, err := range b.refs.all() {
		if err != nil {
			return err
		}
		if r.target != target {
			target, page = r.target, 0
		}
		if !r.isRef {
			if page == 0 {
				page = r.page + 1
			}
			continue
		}
		if err := byPage.add(resolvedRef{r.written, r.page, page}); err != nil {
			return err
		}
	}
	n := uint32(0)
	for r, err := range byPage.all() {
		if err != nil {
			return err
		}
		for len(x.ends) < int(r.page) {
			x.ends = append(x.ends, n)
		}
		var buf [refSize]byte
		binary.LittleEndian.PutUint64(buf[:], r.written)
		binary.LittleEndian.PutUint32(buf[8:], r.to)
		if err := x.refs.add(buf[:]); err != nil {
			return err
		}
		n++
	}
	for len(x.ends) < x.places.pages {
		x.ends = append(x.ends, n)
	}
	return x.places.pile.settle()
}

// of reads the references of a page.
func (x *resolver) of(page uint32) ([]resolvedRef, error) {
	from := uint32(0)
	if page > 0 {
		from = x.ends[page-1]
	}
	raw := make([]byte, refSize*int(x.ends[page]-from))
	if _, err := x.refs.ReadAt(raw, refSize*int64(from)); err != nil {
		return nil, err
	}
	out := make([]resolvedRef, len(raw)/refSize)
	for i := range out {
		at := raw[refSize*i:]
		out[i] = resolvedRef{binary.LittleEndian.Uint64(at), page, binary.LittleEndian.Uint32(at[8:])}
	}
	return out, nil
}

// nearCounterparts is how many pages that reach something by the same reference are compared.
const nearCounterparts = 16

// dangling adds links for the dangling references of the pages of a trivial cluster.
func (x *resolver) dangling(members []uint32) error {
	type reached struct{ page, target uint32 }
	by := map[uint64][]reached{} // by how the reference is written
	nowhere := 0
	for _, p := range members {
		refs, err := x.of(p)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if r.to == 0 {
				nowhere++
			} else if len(by[r.written]) < nearCounterparts {
				by[r.written] = append(by[r.written], reached{p, r.to - 1})
			}
		}
	}
	if nowhere == 0 {
		return nil
	}
	for _, p := range members {
		refs, err := x.of(p)
		if err != nil {
			return err
		}
		for _, r := range refs {
			if r.to > 0 || len(by[r.written]) == 0 {
				continue
			}
			home := x.at(p)
			closest := slices.MaxFunc(by[r.written], func(a, b reached) int {
				n, m := nearness(x, home, a.page), nearness(x, home, b.page)
				return cmp.Or(cmp.Compare(n, m), cmp.Compare(b.page, a.page))
			})
			if closest.target != p {
				x.Dangling++
				if err := x.extra.add(pageLink(p)<<32 | pageLink(closest.target)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// write writes the links of all pages, each once: the page, how many, and where they lead.
func (x *resolver) write() error {
	next, stop := iter.Pull2(x.extra.all())
	defer stop()
	extra, err, more := next()
	refs := bufio.NewReaderSize(io.NewSectionReader(&x.refs, 0, x.refs.len()), 64<<10)
	var out []uint32
	var buf []byte
	at := uint32(0)
	for p, end := range x.ends {
		out = out[:0]
		for ; at < end; at++ {
			raw, err := take(refs, refSize)
			if err != nil {
				return err
			}
			if to := binary.LittleEndian.Uint32(raw[8:]); to > 0 && int(to-1) != p {
				out = append(out, to-1)
			}
		}
		for ; more && err == nil && int(extra>>32) == p; extra, err, more = next() {
			out = append(out, uint32(extra))
		}
		if err != nil {
			return err
		}
		if len(out) == 0 {
			continue
		}
		slices.Sort(out)
		out = slices.Compact(out)
		x.Links += len(out)
		buf = binary.LittleEndian.AppendUint32(buf[:0], uint32(p))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(out)))
		for _, q := range out {
			buf = binary.LittleEndian.AppendUint32(buf, q)
		}
		if err := x.links.add(buf); err != nil {
			return err
		}
		if err := x.room.tick(1); err != nil {
			return err
		}
	}
	return x.links.settle()
}

// Close gives back the room of all files.
func (w *LinkWeb) Close() error { return errors.Join(w.places.pile.close(), w.links.close()) }

func (w *LinkWeb) problem() error { return w.err }

// at reads an address, with those around it.
func (w *LinkWeb) at(page uint32) Address {
	block := int(page) / startEvery
	n := &w.near[block%len(w.near)]
	if n.first != block+1 {
		n.first, n.at = block+1, make([]Address, 0, startEvery)
		r := placeReader{places: &w.places, size: 4 << 10}
		r.seek(block * startEvery)
		host := ""
		for r.page < min((block+1)*startEvery, w.places.pages) {
			if err := r.next(); err != nil {
				w.err = cmp.Or(w.err, err)
				return Address{}
			}
			if string(r.host) != host {
				host = string(r.host)
			}
			n.at = append(n.at, Address{host, string(r.path)})
		}
	}
	if i := int(page) % startEvery; i < len(n.at) {
		return n.at[i]
	}
	return Address{}
}

func (w *LinkWeb) each(f func(p uint32, out []uint32) error) error {
	r := bufio.NewReaderSize(io.NewSectionReader(&w.links, 0, w.links.len()), 64<<10)
	var out []uint32
	for {
		head, err := take(r, 8)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p, n := binary.LittleEndian.Uint32(head), int(binary.LittleEndian.Uint32(head[4:]))
		out = out[:0]
		for range n {
			raw, err := take(r, 4)
			if err != nil {
				return err
			}
			out = append(out, binary.LittleEndian.Uint32(raw))
		}
		if err := f(p, out); err != nil {
			return err
		}
	}
}

// LinkedCopy is a copy of a collection that was found along links.
type LinkedCopy struct {
	Address     // the deepest directory above its own pages
	Own     int // pages of its own
	Virtual int // of other copies, which it links to in their place
}

// LinkedCluster is a collection that was found along links, and its copies.
type LinkedCluster struct {
	Root    Address // the first page of the trivial cluster that it was grown from
	Foreign int     // links from other hosts to the pages of that
	Size    int     // pages of the largest copy, virtual ones included
	Copies  []LinkedCopy
}

// Factor is the replication factor: how many copies there are.
func (c *LinkedCluster) Factor() int { return len(c.Copies) }

// Linked grows clusters along the links and describes those that have at least two copies of so many pages,
// the most copied ones first: what many keep should be kept first (Cho, Shivakumar, Garcia-Molina,
// section 5). Of equal ones those come first whose roots have the most links from other sites.
func (w *LinkWeb) Linked(sets *unionfind.Sets, o Growing, least int) ([]LinkedCluster, error) {
	var out []LinkedCluster
	err := growAll(w, sets, o, w.room, func(grown Cluster) {
		if c, ok := w.linked(&grown, least); ok {
			out = append(out, c)
		}
	})
	slices.SortStableFunc(out, func(a, b LinkedCluster) int {
		return cmp.Or(cmp.Compare(b.Factor(), a.Factor()), cmp.Compare(b.Foreign, a.Foreign),
			cmp.Compare(b.Size, a.Size))
	})
	return out, cmp.Or(err, w.err)
}

// linked describes a cluster, if two of its copies have so many pages.
func (w *LinkWeb) linked(grown *Cluster, least int) (c LinkedCluster, ok bool) {
	for _, col := range grown.Collections {
		size := len(col.Own) + len(col.Virtual)
		if size < least || len(col.Own) == 0 {
			continue
		}
		c.Size = max(c.Size, size)
		c.Copies = append(c.Copies, LinkedCopy{w.above(col.Own), len(col.Own), len(col.Virtual)})
	}
	if len(c.Copies) < 2 {
		return c, false
	}
	c.Root, c.Foreign = w.at(grown.Root), grown.Foreign
	slices.SortStableFunc(c.Copies, func(a, b LinkedCopy) int {
		return cmp.Or(cmp.Compare(b.Own, a.Own), a.Address.compare(b.Address))
	})
	return c, true
}

// above is the deepest directory above all of some pages that are on the host of the first of them.
func (w *LinkWeb) above(pages []uint32) Address {
	first := w.at(pages[0])
	host, dir := first.Host, dirOf(first.Path)
	for _, p := range pages {
		a := w.at(p)
		if a.Host != host {
			continue
		}
		for dir != "" && !strings.HasPrefix(a.Path, dir) {
			dir = dirOf(strings.TrimSuffix(dir, "/"))
		}
	}
	return Address{host, dir}
}
