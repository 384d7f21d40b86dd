// SPDX-License-Identifier: Apache-2.0

//go:build (amd64 || arm64) && !race

package zstdfast

import "unsafe"

// The words of the search without a check of their place, which takes 18 % of the time of all. Each use says
// why the place is good, and programs with the race detector, such as the tests, check it (load_checked.go).
// These architectures have the lowest byte of a word first, as the format has.

// load64 returns b[i:i+8].
func load64(b []byte, i int) uint64 {
	return *(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}

// load32 returns b[i:i+4].
func load32(b []byte, i int) uint32 {
	return *(*uint32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i))
}

// store64 sets b[i:i+8].
func store64(b []byte, i int, v uint64) {
	*(*uint64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), i)) = v
}
