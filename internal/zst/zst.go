// SPDX-License-Identifier: Apache-2.0

// Package zst has the encoders and decoders of zstd (RFC 8878) for data that is in memory as a whole: fast
// ones that take little memory.
package zst

import "github.com/klauspost/compress/zstd"

// NewEncoder returns an encoder for EncodeAll with matches as far back as window, a power of two. Without
// options it has the fastest level, makes one frame at a time, and frames have no checksum. It takes no
// memory before its first frame. A frame depends on its content alone, not on what was encoded before.
func NewEncoder(window int, options ...zstd.EOption) *zstd.Encoder {
	// the window stands first: else the level would halve the blocks
	enc, err := zstd.NewWriter(nil, append([]zstd.EOption{zstd.WithWindowSize(window),
		zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false),
		zstd.WithAllLitEntropyCompression(true)}, options...)...) // also what has no matches gets smaller
	if err != nil {
		panic(err) // the options are constants
	}
	return enc
}

// NewDecoder returns a decoder of frames of at most so many bytes, for one goroutine.
func NewDecoder(most uint64, options ...zstd.DOption) *zstd.Decoder {
	dec, err := zstd.NewReader(nil, append([]zstd.DOption{zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(most)}, options...)...)
	if err != nil {
		panic(err) // the options are constants
	}
	return dec
}
