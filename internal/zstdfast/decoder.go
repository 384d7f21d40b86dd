// SPDX-License-Identifier: Apache-2.0

package zstdfast

import "github.com/klauspost/compress/zstd"

// NewDecoder returns a decoder of frames of at most so many bytes, for one goroutine.
func NewDecoder(most uint64) *zstd.Decoder {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(most))
	if err != nil {
		panic(err) // the options are constants
	}
	return dec
}
