// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
)

// Address is where a page lies.
type Address struct{ Host, Path string }

// dirOf is a path's directory, with its slash at the end.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// places are the addresses of all pages: of each what it has not in common with the one before.
type places struct {
	pile   pile
	pages  int
	starts []int64 // where every 64th, which is written whole, begins
	last   Address
	buf    []byte
	long   [64]int // pages by the bits of the length of their addresses
}

const startEvery = 64

func (l *places) add(a Address) error {
	if l.pages%startEvery == 0 {
		l.starts = append(l.starts, l.pile.len())
		l.last = Address{}
	}
	l.pages++
	l.long[bits.Len(uint(len(a.Host)+len(a.Path)))]++
	b := l.buf[:0]
	if a.Host == l.last.Host {
		b = append(b, 0)
	} else {
		b = append(binary.AppendUvarint(b, uint64(len(a.Host)+1)), a.Host...) // 0: as before
	}
	n := 0
	for n < len(a.Path) && n < len(l.last.Path) && a.Path[n] == l.last.Path[n] {
		n++
	}
	b = binary.AppendUvarint(b, uint64(n))
	b = binary.AppendUvarint(b, uint64(len(a.Path)-n))
	l.buf, l.last = append(b, a.Path[n:]...), a
	return l.pile.add(l.buf)
}

// most is how many bytes the addresses of n pages have at most.
func (l *places) most(n int) int {
	sum := 0
	for i := len(l.long) - 1; i >= 0 && n > 0; i-- {
		some := min(n, l.long[i])
		sum, n = sum+some<<i, n-some
	}
	return sum
}

// of reads the addresses of pages, which are in ascending order.
func (l *places) of(pages []uint32, tick func(int) error) ([]Address, error) {
	out := make([]Address, 0, len(pages))
	r := placeReader{places: l, size: 4 << 10}
	for i, page := range pages {
		if i == 0 || int(page) > r.page+4*startEvery {
			r.seek(int(page))
		}
		for r.page <= int(page) {
			if err := r.next(); err != nil {
				return nil, err
			}
		}
		both := string(r.host) + string(r.path)
		out = append(out, Address{both[:len(r.host)], both[len(r.host):]})
		if err := tick(1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// placeReader reads addresses one after the other.
type placeReader struct {
	*places
	size       int // bytes read at a time
	page       int // the next one's number
	host, path []byte
	sameDir    bool // host and directory are those of the page before

	at    int64 // of the bytes behind ahead
	buf   []byte
	ahead []byte // of buf: not yet looked at
}

// seek goes to the last page at or before page that is written whole.
func (r *placeReader) seek(page int) {
	r.page = page / startEvery * startEvery
	r.at, r.ahead, r.host, r.path = r.starts[page/startEvery], nil, r.host[:0], r.path[:0]
}

// next reads the next page to host and path.
func (r *placeReader) next() error {
	host, err := r.number()
	if err != nil {
		return err
	}
	r.sameDir = host == 0 && r.page > 0
	if host > 0 {
		b, err := r.bytes(host - 1)
		if err != nil {
			return err
		}
		r.host = append(r.host[:0], b...)
	} else if r.page%startEvery == 0 {
		r.host, r.path, r.sameDir = r.host[:0], r.path[:0], false
	}
	common, err := r.number()
	if err != nil {
		return err
	}
	n, err := r.number()
	if err != nil {
		return err
	}
	b, err := r.bytes(n)
	if err != nil {
		return err
	}
	if common > len(r.path) {
		return fmt.Errorf("pages on disk: page %d has %d bytes in common with one of %d", r.page, common,
			len(r.path))
	}
	r.sameDir = r.sameDir && !slices.Contains(b, '/') && !slices.Contains(r.path[common:], '/')
	r.path = append(r.path[:common], b...)
	r.page++
	return nil
}

func (r *placeReader) number() (int, error) {
	for {
		x, n := binary.Uvarint(r.ahead)
		if n > 0 && x < 1<<40 {
			r.ahead = r.ahead[n:]
			return int(x), nil
		}
		if n != 0 {
			return 0, errors.New("pages on disk: a number that is too large")
		}
		if err := r.more(1); err != nil {
			return 0, err
		}
	}
}

func (r *placeReader) bytes(n int) ([]byte, error) {
	for len(r.ahead) < n {
		if err := r.more(n - len(r.ahead)); err != nil {
			return nil, err
		}
	}
	b := r.ahead[:n]
	r.ahead = r.ahead[n:]
	return b, nil
}

// more reads on.
func (r *placeReader) more(n int) error {
	n = int(min(int64(max(n, r.size)), r.pile.len()-r.at))
	if n <= 0 {
		return fmt.Errorf("pages on disk: %w", io.ErrUnexpectedEOF)
	}
	had := len(r.ahead)
	r.buf = slices.Grow(append(r.buf[:0], r.ahead...), n)[:had+n]
	if _, err := r.pile.ReadAt(r.buf[had:], r.at); err != nil {
		return err
	}
	r.at += int64(n)
	r.ahead = r.buf
	return nil
}
