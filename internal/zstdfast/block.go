// SPDX-License-Identifier: Apache-2.0

package zstdfast

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/huff0"
)

// Types of blocks (RFC 8878 3.1.1.2.2).
const (
	rawBlock        = 0
	compressedBlock = 2
)

// appendBlock appends src[begin:end] as a block, the last one of the frame or not.
func (e *Encoder) appendBlock(dst, src []byte, begin, end int, last bool) []byte {
	const head = 3 // bytes
	at := len(dst)
	dst = append(dst, make([]byte, head)...)
	before := e.offsets
	e.search(src, begin, end)
	dst = e.appendLiterals(dst)
	dst = e.appendSequences(dst)
	kind, size := compressedBlock, len(dst)-at-head
	if size >= end-begin {
		kind, size = rawBlock, end-begin
		dst = append(dst[:at+head], src[begin:end]...)
		e.offsets = before
		e.forget()
	}
	v := kind<<1 | size<<3
	if last {
		v |= 1
	}
	dst[at], dst[at+1], dst[at+2] = byte(v), byte(v>>8), byte(v>>16)
	return dst
}

// Types of sections of literals (RFC 8878 3.1.1.3.1.1).
const (
	rawLiterals        = 0
	repeatedLiteral    = 1 // one byte, so many times
	compressedLiterals = 2
	treelessLiterals   = 3 // with the table of the block before
)

// Numbers of literals from which on they are coded, and in four streams.
const (
	codedLiterals = 33
	fourStreams   = 1024
)

// appendLiterals appends the section of literals (RFC 8878 3.1.1.3.1).
func (e *Encoder) appendLiterals(dst []byte) []byte {
	lits := e.literals[:e.nlits]
	if len(lits) < codedLiterals {
		return append(appendLiteralSize(dst, rawLiterals, len(lits)), lits...)
	}
	code := huff0.Compress4X
	if len(lits) < fourStreams {
		code = huff0.Compress1X
	}
	out, again, err := code(lits, &e.huff)
	switch {
	case errors.Is(err, huff0.ErrUseRLE):
		return append(appendLiteralSize(dst, repeatedLiteral, len(lits)), lits[0])
	case err != nil:
		// it does not shrink
		return append(appendLiteralSize(dst, rawLiterals, len(lits)), lits...)
	case again:
		dst = appendLiteralSizes(dst, treelessLiterals, len(lits), len(out))
	default:
		dst = appendLiteralSizes(dst, compressedLiterals, len(lits), len(out))
	}
	e.huff.Reuse = huff0.ReusePolicyAllow
	return append(dst, out...)
}

// appendLiteralSize appends the header of literals that are not coded.
func appendLiteralSize(dst []byte, kind, size int) []byte {
	switch {
	case size < 1<<5:
		return append(dst, byte(kind|size<<3))
	case size < 1<<12:
		return binary.LittleEndian.AppendUint16(dst, uint16(kind|1<<2|size<<4))
	}
	v := kind | 3<<2 | size<<4
	return append(dst, byte(v), byte(v>>8), byte(v>>16))
}

// appendLiteralSizes appends the header of literals that are coded.
func appendLiteralSizes(dst []byte, kind, size, packed int) []byte {
	v := uint64(kind)
	switch {
	case size < fourStreams:
		v |= uint64(size)<<4 | uint64(packed)<<14
		return append(dst, byte(v), byte(v>>8), byte(v>>16))
	case size < 1<<14:
		v |= 2<<2 | uint64(size)<<4 | uint64(packed)<<18
		return binary.LittleEndian.AppendUint32(dst, uint32(v))
	}
	v |= 3<<2 | uint64(size)<<4 | uint64(packed)<<22
	return append(binary.LittleEndian.AppendUint32(dst, uint32(v)), byte(v>>32))
}
