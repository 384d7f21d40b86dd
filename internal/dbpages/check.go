// SPDX-License-Identifier: Apache-2.0

// Package dbpages checks the pages of a bbolt database file before bbolt reads them. bbolt trusts its pages:
// one with wrong bytes makes it panic, read memory that is not mapped, allocate without bound, or descend a
// cycle until the stack overflows, which no recover survives.
//
// The format is that of go.etcd.io/bbolt 1.5. All numbers have the byte order of the machine. The page of id
// N lies at N times the page size:
//
//	page     id u64, flags u16, count u16, overflow u32 (how many more pages belong to it)
//	meta     magic u32, version u32, page size u32, flags u32, root bucket, freelist u64, high water mark u64,
//	         transaction u64, FNV-1a of these u64
//	bucket   root page u64, sequence u64; root page 0: a leaf page follows inline
//	freelist count ids of free pages; count 0xffff: the first one is the number of them
//	branch   count times: offset of the key from here u32, its length u32, page u64; then the keys
//	leaf     count times: flags u32 (1: the value is a bucket), offset of the key from here u32, lengths of key
//	         and value u32; then keys and values
//
// The check is iterative and bounded: each page is read at most once. It covers page ids, types, sizes, the
// order of keys, that a branch knows each page by its first key, and that each page has one use. It does not
// look into values: wrong bytes in one that keep its length are not found here.
package dbpages

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
)

const (
	headerSize  = 16
	elementSize = 16
	bucketSize  = 16
	metaSize    = 64
	summedMeta  = 56 // bytes of a meta that its checksum covers

	magic   = 0xED0CDAED
	version = 2

	branchFlag   = 0x01
	leafFlag     = 0x02
	freelistFlag = 0x10

	bucketElement = 1

	minPage, maxPage = 1 << 10, 1 << 24 // the sizes that bbolt looks for

	// maxLevels bounds the depth of the trees: bbolt descends them by recursion. Pages have at least two
	// children when they are written, so that real trees are far below.
	maxLevels = 64
)

// Fault is an error in a database file. Page is -1 for the file as a whole.
type Fault struct {
	Page   int64
	Detail string
}

func (f *Fault) Error() string {
	if f.Page < 0 {
		return f.Detail
	}
	return fmt.Sprintf("page %d: %s", f.Page, f.Detail)
}

// Check reads a database file of a size and returns a *Fault when bbolt must not read it. Buckets may lie in
// one another up to a depth, 1 for buckets of the root only. An unreadable part is a Fault too. The file
// must not be written meanwhile.
func Check(r io.ReaderAt, size int64, depth int) error {
	c := &checker{r: r, size: size, depth: depth}
	if err := c.meta(); err != nil {
		return err
	}
	if err := c.freelist(); err != nil {
		return err
	}
	return c.trees()
}

type checker struct {
	r     io.ReaderAt
	size  int64
	depth int

	page           int64 // size of a page
	pages          int64 // high water mark: ids are below
	root, freePage int64
	used           []uint64 // bit set of the pages that have a use
	window         []byte   // the file from windowAt on
	windowAt       int64
}

func faultf(page int64, format string, args ...any) error {
	return &Fault{page, fmt.Sprintf(format, args...)}
}

var order = binary.NativeEndian

// meta finds the meta page that bbolt would use: the valid one of the later transaction.
func (c *checker) meta() error {
	m, page, err := newest(c.r)
	if err != nil {
		return err
	}
	c.page = page
	root, free, high := order.Uint64(m[16:]), order.Uint64(m[32:]), order.Uint64(m[40:])
	if high > uint64(c.size/c.page) {
		return faultf(-1, "the file is cut short: it has %d bytes, its %d pages of %d bytes need %d",
			c.size, high, c.page, saturated(high, c.page))
	}
	c.pages = int64(high)
	if root < 2 || root >= high || free < 2 || free >= high { // mirrord keeps the freelist on disk
		return faultf(-1, "its meta page names root %d and freelist %d of %d pages", root, free, high)
	}
	c.root, c.freePage = int64(root), int64(free)
	c.used = make([]uint64, high/64+1)
	return nil
}

// newest returns the valid meta of the later transaction, and the size of a page.
func newest(r io.ReaderAt) (m []byte, page int64, err error) {
	first := metaAt(r, 0)
	known := first // the one that says the page size
	for page := int64(minPage); page <= maxPage && known == nil; page *= 2 {
		known = metaAt(r, page)
	}
	if known == nil {
		return nil, 0, faultf(-1, "neither meta page is valid")
	}
	page = int64(order.Uint32(known[8:]))
	if page < minPage || page > maxPage || page&(page-1) != 0 {
		return nil, 0, faultf(0, "page size %d", page)
	}
	m = first
	second := metaAt(r, page)
	if m == nil || (second != nil && order.Uint64(second[48:]) > order.Uint64(m[48:])) {
		m = second
	}
	if m == nil || int64(order.Uint32(m[8:])) != page {
		return nil, 0, faultf(-1, "the meta pages disagree about the page size")
	}
	return m, page, nil
}

func saturated(pages uint64, size int64) uint64 {
	if n := pages * uint64(size); n/uint64(size) == pages {
		return n
	}
	return ^uint64(0)
}

// metaAt returns the meta of the page at an offset, nil when it is not valid.
func metaAt(r io.ReaderAt, off int64) []byte {
	m := make([]byte, metaSize)
	if n, _ := r.ReadAt(m, off+headerSize); n < metaSize || order.Uint32(m) != magic ||
		order.Uint32(m[4:]) != version {
		return nil
	}
	h := fnv.New64a()
	h.Write(m[:summedMeta])
	if h.Sum64() != order.Uint64(m[summedMeta:]) {
		return nil
	}
	return m
}

// claim notes the use of pages.
func (c *checker) claim(id, n int64, what string) error {
	if id < 2 || id >= c.pages || n > c.pages-id {
		return faultf(id, "%s of %d pages, of the file's %d", what, n, c.pages)
	}
	for ; n > 0; n-- {
		if c.used[id/64]&(1<<(id%64)) != 0 {
			return faultf(id, "%s, and it has another use too", what)
		}
		c.used[id/64] |= 1 << (id % 64)
		id++
	}
	return nil
}

// bytes returns the first n bytes of a page, which must be claimed. They are valid until the next call.
func (c *checker) bytes(id, n int64) ([]byte, error) {
	off := id * c.page
	if off >= c.windowAt && off+n <= c.windowAt+int64(len(c.window)) {
		return c.window[off-c.windowAt:][:n], nil
	}
	if err := c.read(id, max(n, c.page)); err != nil {
		return nil, err
	}
	return c.window[:n], nil
}

// read makes the window n bytes from a page on.
func (c *checker) read(id, n int64) error {
	off := id * c.page
	c.window, c.windowAt = slices.Grow(c.window[:0], int(n))[:n], off
	if got, err := c.r.ReadAt(c.window, off); int64(got) < n {
		c.window = c.window[:0]
		return faultf((off+int64(got))/c.page, "it cannot be read: %v", err)
	}
	return nil
}

// node is a page that has been checked as a whole, without its elements.
type node struct {
	id, size     int64 // bytes of all its pages
	flags, count int
}

// open reads the head of a page, which must be of one of some types, and notes its use.
func (c *checker) open(id int64, what string, types ...int) (n node, err error) {
	if err = c.claim(id, 1, what); err != nil {
		return n, err
	}
	b, err := c.bytes(id, headerSize)
	if err != nil {
		return n, err
	}
	if got := order.Uint64(b); got != uint64(id) {
		return n, faultf(id, "%s, and it is page %d by its own number", what, got)
	}
	n = node{id: id, flags: int(order.Uint16(b[8:])), count: int(order.Uint16(b[10:]))}
	if !slices.Contains(types, n.flags) {
		return n, faultf(id, "%s of type %#x", what, n.flags)
	}
	more := int64(order.Uint32(b[12:]))
	n.size = (more + 1) * c.page
	if more == 0 {
		return n, nil
	}
	return n, c.claim(id+1, more, what+", continued")
}

// freelist notes the use of all pages that are free.
func (c *checker) freelist() error {
	n, err := c.open(c.freePage, "freelist", freelistFlag)
	if err != nil {
		return err
	}
	b, err := c.bytes(n.id, n.size)
	if err != nil {
		return err
	}
	b = b[headerSize:]
	count := uint64(n.count)
	if n.count == 0xffff {
		count, b = order.Uint64(b), b[8:]
	}
	if count > uint64(len(b)/8) {
		return faultf(n.id, "freelist of %d pages in %d bytes", count, len(b))
	}
	for ; count > 0; count-- {
		id := order.Uint64(b)
		if id >= uint64(c.pages) {
			return faultf(n.id, "freelist names page %d of %d", id, c.pages)
		}
		if err := c.claim(int64(id), 1, "free page"); err != nil {
			return err
		}
		b = b[8:]
	}
	return nil
}

// pending is a page that is to be checked: it holds keys from lo, and below hi if it is not nil.
type pending struct {
	id     int64
	lo, hi []byte
	levels int // above it in its tree
	depth  int // of its bucket
}

// trees checks all pages that hold keys, level by level and within a level in the order of the file:
// uncached pages are read in one pass.
func (c *checker) trees() error {
	level := []pending{{id: c.root}}
	var next []pending
	for len(level) > 0 {
		slices.SortFunc(level, func(a, b pending) int { return cmp.Compare(a.id, b.id) })
		for i := range level {
			c.readAhead(level[i:])
			var err error
			if next, err = c.node(level[i], next); err != nil {
				return err
			}
		}
		level, next = next, level[:0]
	}
	return nil
}

// Pages that lie close together are read by one call.
const (
	aheadPages = 64
	aheadWorth = 8 // of aheadPages, at least
)

// readAhead reads what follows the first page of a level if much of it is needed. An error does not matter:
// an unneeded page may be the cause.
func (c *checker) readAhead(level []pending) {
	first := level[0].id
	if first < 2 || first >= c.pages || len(level) <= aheadWorth || level[aheadWorth].id-first >= aheadPages {
		return
	}
	if off := first * c.page; off >= c.windowAt && off+c.page <= c.windowAt+int64(len(c.window)) {
		return
	}
	_ = c.read(first, min(aheadPages, c.pages-first)*c.page)
}

// node checks one page and adds those that it names.
func (c *checker) node(p pending, next []pending) ([]pending, error) {
	if p.levels > maxLevels {
		return next, faultf(p.id, "its tree has more than %d levels", maxLevels)
	}
	n, err := c.open(p.id, "page of a tree", branchFlag, leafFlag)
	if err != nil {
		return next, err
	}
	head := headerSize + int64(n.count)*elementSize
	if head > n.size {
		return next, faultf(n.id, "%d elements in %d bytes", n.count, n.size)
	}
	b, err := c.bytes(n.id, min(n.size, max(c.page, head)))
	if err != nil {
		return next, err
	}
	if need, err := needed(b, n, head); err != nil {
		return next, err
	} else if need > int64(len(b)) {
		if b, err = c.bytes(n.id, need); err != nil {
			return next, err
		}
	}
	if n.flags == branchFlag {
		return c.branch(p, n, b, next)
	}
	return c.leaf(p, n, b, next)
}

// element returns where the key and the value of an element lie in its page, and its first number: page or
// flags.
func element(b []byte, flags, i int) (key, val, end int64, first uint64) {
	at := headerSize + i*elementSize
	e := b[at:]
	if flags == branchFlag {
		key = int64(at) + int64(order.Uint32(e))
		val = key + int64(order.Uint32(e[4:]))
		return key, val, val, order.Uint64(e[8:])
	}
	key = int64(at) + int64(order.Uint32(e[4:]))
	val = key + int64(order.Uint32(e[8:]))
	return key, val, val + int64(order.Uint32(e[12:])), uint64(order.Uint32(e))
}

// needed checks that the keys and values of a page follow one another, as bbolt writes them, and returns how
// many bytes of it the check needs to see: keys and the values that are buckets. b holds its elements.
func needed(b []byte, n node, head int64) (need int64, err error) {
	want := head
	for i := range n.count {
		key, val, end, first := element(b, n.flags, i)
		if key != want || val == key || end > n.size {
			return 0, faultf(n.id, "element %d lies at %d, %d and %d, after %d and in %d bytes", i, key, val, end,
				want, n.size)
		}
		if need = val; n.flags == leafFlag {
			if first&^bucketElement != 0 {
				return 0, faultf(n.id, "element %d has flags %#x", i, first)
			}
			if first == bucketElement {
				need = end
			}
		}
		want = end
	}
	return need, nil
}

// ordered checks that a key lies after the one before it and in the range of its page.
func ordered(p pending, i int, last, key []byte) error {
	switch {
	case i > 0 && bytes.Compare(last, key) >= 0, p.hi != nil && bytes.Compare(key, p.hi) >= 0:
		return faultf(p.id, "key %d is out of order", i)
	case i == 0 && p.lo != nil && !bytes.Equal(p.lo, key):
		return faultf(p.id, "its first key is not the one by which its branch knows it")
	}
	return nil
}

func (c *checker) branch(p pending, n node, b []byte, next []pending) ([]pending, error) {
	if n.count == 0 {
		return next, faultf(n.id, "a branch without children")
	}
	var last []byte
	for i := range n.count {
		at, end, _, id := element(b, n.flags, i)
		key := slices.Clone(b[at:end])
		if err := ordered(p, i, last, key); err != nil {
			return next, err
		}
		if id >= uint64(c.pages) {
			return next, faultf(n.id, "child %d is page %d of %d", i, id, c.pages)
		}
		if last = key; i > 0 {
			next[len(next)-1].hi = key
		}
		next = append(next, pending{
			id:     int64(id),
			lo:     key,
			levels: p.levels + 1,
			depth:  p.depth,
		})
	}
	next[len(next)-1].hi = p.hi
	return next, nil
}

func (c *checker) leaf(p pending, n node, b []byte, next []pending) ([]pending, error) {
	var last []byte
	for i := range n.count {
		at, end, valEnd, flags := element(b, n.flags, i)
		key := b[at:end]
		if err := ordered(p, i, last, key); err != nil {
			return next, err
		}
		last = key
		if flags != bucketElement && p.depth == 0 && c.depth > 0 {
			return next, faultf(p.id, "key %d of the root is no bucket", i)
		}
		if flags != bucketElement {
			continue
		}
		root, err := c.bucket(p, b[end:valEnd])
		if err != nil {
			return next, err
		}
		if root > 0 {
			next = append(next, pending{id: root, depth: p.depth + 1})
		}
	}
	return next, nil
}

// bucket checks the value of a bucket and returns its root page, 0 for one that is inline and has been
// checked.
func (c *checker) bucket(p pending, v []byte) (root int64, err error) {
	if p.depth >= c.depth {
		return 0, faultf(p.id, "a bucket at depth %d", p.depth+1)
	}
	if len(v) < bucketSize {
		return 0, faultf(p.id, "a bucket of %d bytes", len(v))
	}
	if id := order.Uint64(v); id != 0 {
		if id >= uint64(c.pages) {
			return 0, faultf(p.id, "a bucket at page %d of %d", id, c.pages)
		}
		return int64(id), nil
	}
	if v = v[bucketSize:]; len(v) < headerSize {
		return 0, faultf(p.id, "an inline bucket of %d bytes", len(v))
	}
	n := node{
		id:    p.id,
		size:  int64(len(v)),
		flags: int(order.Uint16(v[8:])),
		count: int(order.Uint16(v[10:])),
	}
	head := headerSize + int64(n.count)*elementSize
	if n.flags != leafFlag || head > n.size {
		return 0, faultf(p.id, "an inline bucket of type %#x with %d elements in %d bytes", n.flags,
			n.count, n.size)
	}
	if _, err := needed(v, n, head); err != nil {
		return 0, err
	}
	inner := *c // buckets never lie in an inline one
	inner.depth = 0
	_, err = inner.leaf(pending{id: p.id}, n, v, nil)
	return 0, err
}
