// SPDX-License-Identifier: Apache-2.0

//go:build !(amd64 || arm64) || race

package zstdfast

import "encoding/binary"

// load64 returns b[i:i+8].
func load64(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }

// load32 returns b[i:i+4].
func load32(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }

// store64 sets b[i:i+8].
func store64(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[i:], v) }
