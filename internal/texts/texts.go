// SPDX-License-Identifier: Apache-2.0

// Package texts keeps many strings that are like their neighbours. It takes 60 to 90 bytes less of memory for
// each URL of a run than strings do.
package texts

import "encoding/binary"

// List keeps strings in little memory: each is what it shares neither with the beginning of the one that was
// added before it nor with the end of the first one of its block. The links of a page, and the URLs of a site
// in the order of their keys, have most of their bytes in common with their neighbours. The first of each
// block is whole, so that reading one decodes at most a block. UseFile lets many lie in a file. The zero
// value is empty. It is safe for concurrent use without a concurrent Add.
type List struct {
	chunks [][]byte // of textChunk bytes; no block goes over into another one. nil: it is in the file
	blocks []uint32 // where they begin: chunk << 16 | offset
	in     uint32   // so many are in the last block
	last   []byte   // without what it shares at its end
	first  []byte   // of the last block
	above  int      // so many chunks stay in memory
	open   func() (File, error)
	file   *inFile // nil: all is in memory
}

// Size is how many bytes of memory the list takes.
func (t *List) Size() int {
	chunks, sums := len(t.chunks), 0
	if t.file != nil {
		chunks, sums = chunks-t.file.chunks, cap(t.file.sums)
	}
	return chunks*textChunk + 4*(cap(t.blocks)+sums)
}

const (
	textChunk = 64 << 10
	textBlock = 16
	textEnd   = 7 // bytes at the end that are shared, at most: ".html" and the like
)

// Add keeps a copy of a text, which is shorter than a chunk, and returns its number, which is not 0.
func (t *List) Add(b []byte) uint32 {
	ending := sharedEnd(t.first, b)
	shared := sharedBeginning(t.last, b[:len(b)-ending])
	const lengths = 2 * binary.MaxVarintLen16
	last := len(t.chunks) - 1
	whole := last < 0 || t.in == textBlock
	if !whole {
		whole = len(t.chunks[last])+lengths+len(b)-shared > textChunk
	}
	if whole {
		if last < 0 || len(t.chunks[last])+lengths+len(b) > textChunk {
			t.spill()
			t.chunks = append(t.chunks, make([]byte, 0, textChunk))
			last++
		}
		t.blocks = append(t.blocks, uint32(last)<<16|uint32(len(t.chunks[last])))
		shared, ending, t.in = 0, 0, 0
		t.first = append(t.first[:0], b...)
	}
	own := b[shared : len(b)-ending]
	c := binary.AppendUvarint(t.chunks[last], uint64(shared))
	c = binary.AppendUvarint(c, uint64(len(own)*(textEnd+1)+ending))
	t.chunks[last] = append(c, own...)
	t.last = append(t.last[:0], b[:len(b)-ending]...)
	t.in++
	return uint32(len(t.blocks)-1)*textBlock + t.in
}

// sharedBeginning is how many bytes two texts have in common from the first on.
func sharedBeginning(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// sharedEnd is how many of the last bytes two texts have in common, as far as that is used.
func sharedEnd(a, b []byte) (n int) {
	for n < min(len(a), len(b), textEnd) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// Append appends a text to dst; that of number 0 is empty.
func (t *List) Append(dst []byte, number uint32) []byte {
	if number == 0 {
		return dst
	}
	number--
	b, start := t.block(number/textBlock), len(dst)
	first, ending := firstText(b), 0
	for range number%textBlock + 1 {
		dst, ending, b = nextText(dst, start, b)
	}
	return append(dst, first[len(first)-ending:]...)
}

// block is where a block begins.
func (t *List) block(n uint32) []byte {
	at := t.blocks[n]
	if c := t.chunks[at>>16]; c != nil {
		return c[at&(textChunk-1):]
	}
	return t.recentOf(n)
}

// firstText is the first text of a block.
func firstText(b []byte) []byte {
	n, i := binary.Uvarint(b[1:]) // it shares nothing, which is one byte
	return b[1+i:][:n/(textEnd+1)]
}

// nextText reads the text that b begins with, but for so many bytes at its end as it shares with the first
// one of the block. dst holds the one before it from start on.
func nextText(dst []byte, start int, b []byte) (text []byte, ending int, rest []byte) {
	var shared, n int
	if b[0]|b[1] < 0x80 { // both lengths are a byte
		shared, n, b = int(b[0]), int(b[1]), b[2:]
	} else {
		x, i := binary.Uvarint(b)
		y, j := binary.Uvarint(b[i:])
		shared, n, b = int(x), int(y), b[i+j:]
	}
	ending = n & textEnd
	n /= textEnd + 1
	return append(dst[:start+shared], b[:n]...), ending, b[n:]
}

// Reader reads texts. One that follows another in its block is decoded from there.
type Reader struct {
	last  uint32 // number of the last text; 0: none
	text  []byte
	own   int    // so much of text is not shared at its end
	block []byte // of the last text
	rest  []byte // of it
	room  []byte // for blocks that lie in a file
}

// Read returns a text, which is valid until the next one is read.
func (r *Reader) Read(t *List, number uint32) []byte {
	if number == 0 {
		return nil
	}
	n := (number - 1) / textBlock
	other := r.last == 0 || n != (r.last-1)/textBlock
	if other {
		r.open(t, n)
	}
	if other || number <= r.last {
		r.last, r.rest = n*textBlock, r.block
	}
	first, ending := firstText(r.block), 0
	for r.text = r.text[:r.own]; r.last < number; r.last++ {
		r.text, ending, r.rest = nextText(r.text, 0, r.rest)
	}
	r.own = len(r.text)
	r.text = append(r.text, first[len(first)-ending:]...)
	return r.text
}

// open goes to the beginning of a block. Blocks that are read in order are not cached.
func (r *Reader) open(t *List, n uint32) {
	if t.chunks[t.blocks[n]>>16] != nil {
		r.block = t.block(n)
		return
	}
	b, ok := t.read(r.room, n)
	if r.block = b; ok {
		r.room = b
	}
}
