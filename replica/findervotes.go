package replica

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// A member of a group is sorted as bytes: its set, its path from the end, its host, its number. What else is to be known of it follows.
const (
	memberHead = 4                  // the set, big-endian
	memberTail = 4 + digestSize + 4 // number, big-endian; digest; length of the path
)

func memberOrder() order[string] {
	return order[string]{
		sort:   func(m []string) []string { slices.Sort(m); return m },
		less:   func(a, b string) bool { return a < b },
		sizeOf: func(m string) int { return len(m) + 32 },
		write: func(b []byte, m string) []byte {
			return append(binary.LittleEndian.AppendUint32(b, uint32(len(m))), m...)
		},
		read: func(r *bufio.Reader) (string, error) {
			n, err := take(r, 4)
			if err != nil {
				return "", err
			}
			b := make([]byte, binary.LittleEndian.Uint32(n))
			if _, err := io.ReadFull(r, b); err != nil {
				return "", errors.Join(err, io.ErrUnexpectedEOF)
			}
			return string(b), nil
		},
	}
}

// packMember writes a member. No path or host has a zero byte, so that the shorter of two comes first.
func packMember(b []byte, set uint32, page uint32, a Address, digest []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, set)
	for i := len(a.Path) - 1; i >= 0; i-- {
		b = append(b, a.Path[i])
	}
	b = append(append(append(b, 0), a.Host...), 0)
	b = append(binary.BigEndian.AppendUint32(b, page), digest...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(a.Path)))
}

// unpackMember reads what packMember wrote.
func unpackMember(s string) (set uint32, m member) {
	b := []byte(s)
	tail := b[len(b)-memberTail:]
	n := memberHead + int(binary.LittleEndian.Uint32(tail[memberTail-4:]))
	path := b[memberHead:n]
	slices.Reverse(path)
	m = member{page: binary.BigEndian.Uint32(tail), text: binary.LittleEndian.Uint64(tail[4:]), sketch: (*Sketch)(tail[12:])}
	m.at = Address{Host: string(b[n+1 : len(b)-memberTail-1]), Path: string(path)}
	return binary.BigEndian.Uint32(b), m
}

// vote adds the votes of all groups: their members are sorted, and each is paired with those that follow it.
func (f *Finder) vote(sets *Sets) error {
	together := make([]uint64, f.pages/64+1) // who is not alone
	for i := range f.pages {
		if root := sets.Find(uint32(i)); root != uint32(i) {
			together[i/64] |= 1 << (i % 64)
			together[root/64] |= 1 << (root % 64)
		}
	}
	places := f.places(0)
	digests := bufio.NewReaderSize(io.NewSectionReader(&f.digests, 0, f.digests.len()), 64<<10)
	var buf []byte
	for i := range f.pages {
		if i%(1<<20) == 0 {
			if err := f.progress("read pages again", i, f.pages); err != nil {
				return err
			}
		}
		a, err := places.next()
		if err != nil {
			return err
		}
		digest, err := take(digests, digestSize)
		if err != nil {
			return err
		}
		if together[i/64]&(1<<(i%64)) == 0 {
			continue
		}
		buf = packMember(buf[:0], sets.Find(uint32(i)), uint32(i), a, digest)
		if err := f.members.add(string(buf)); err != nil {
			return err
		}
	}
	var failed error
	f.votes.keep = func(flat bool, v vote) {
		to := &f.plain
		if flat {
			to = &f.flat
		}
		failed = errors.Join(failed, to.add(v))
	}
	var window []member // the last of the group, at most as many as are paired with the next
	group, n := uint32(0), 0
	for s, err := range f.members.all() {
		if err != nil {
			return err
		}
		if n++; n%(1<<18) == 0 {
			if err := f.progress("compare directories", n, f.pages); err != nil {
				return err
			}
		}
		set, m := unpackMember(s)
		if set != group {
			group, window = set, window[:0]
		}
		for i := range window {
			f.votes.between(&window[i], &m)
		}
		if failed != nil {
			return failed
		}
		if len(window) == f.o.Votes.Window {
			window = window[:copy(window, window[1:])]
		}
		window = append(window, m)
	}
	return errors.Join(f.members.close(), f.digests.close(), f.plain.settle(), f.flat.settle())
}

// count takes the votes by key, and as many of them at a time as fit, with the addresses of their pages.
func (f *Finder) count(votes *sorter[vote], count func([]vote)) error {
	const voteSize = 16 + 2*100 // with the addresses of two pages
	limit := max(f.budget/8/voteSize, 64)
	var batch, same []vote
	flush := func() error {
		places, err := f.placesOf(batch)
		if err != nil {
			return err
		}
		f.votes.at = func(page uint32) Address { return places[page] }
		for from := 0; from < len(batch); {
			to := from + 1
			for to < len(batch) && batch[to].key == batch[from].key {
				to++
			}
			count(batch[from:to])
			from = to
		}
		batch = batch[:0]
		return nil
	}
	keep := func() error {
		if len(same) >= f.o.Votes.Pages {
			batch = append(batch, same...)
		}
		same = same[:0]
		if len(batch) >= limit {
			return flush()
		}
		return nil
	}
	for v, err := range votes.all() {
		if err != nil {
			return err
		}
		if len(same) > 0 && same[0].key != v.key {
			if err := keep(); err != nil {
				return err
			}
		}
		same = append(same, v)
	}
	return errors.Join(keep(), flush(), votes.close())
}

// placesOf reads the addresses of the pages of votes, in the order in which they lie.
func (f *Finder) placesOf(votes []vote) (map[uint32]Address, error) {
	pages := make([]uint32, 0, 2*len(votes))
	for _, v := range votes {
		pages = append(pages, v.p, v.q)
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	out := make(map[uint32]Address, len(pages))
	r := placeReader{page: math.MaxInt}
	for _, page := range pages {
		if int(page) < r.page || int(page) > r.page+4*startEvery {
			r = f.places(int(page))
		}
		for {
			at := r.page
			a, err := r.next()
			if err != nil {
				return nil, err
			}
			if at == int(page) {
				out[page] = a
				break
			}
		}
	}
	return out, nil
}

// placeReader reads addresses one after the other.
type placeReader struct {
	page int // the next one's number
	in   *bufio.Reader
}

// places reads from the last page at or before page whose beginning is known.
func (f *Finder) places(page int) placeReader {
	start, size := int64(0), 4096
	if at := page / startEvery; at > 0 {
		start = f.starts[at]
	}
	if page == 0 {
		size = 64 << 10
	}
	return placeReader{page / startEvery * startEvery, bufio.NewReaderSize(io.NewSectionReader(&f.address, start, f.address.len()-start), size)}
}

func (r *placeReader) next() (Address, error) {
	host, err := r.word()
	if err != nil {
		return Address{}, err
	}
	path, err := r.word()
	r.page++
	return Address{Host: host, Path: path}, err
}

func (r *placeReader) word() (string, error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return "", fmt.Errorf("pages on disk: %w", err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return "", fmt.Errorf("pages on disk: %w", err)
	}
	return string(b), nil
}
