// SPDX-License-Identifier: Apache-2.0

// Package zim writes and reads ZIM files, the archives of Kiwix. The format is that of
// https://wiki.openzim.org/wiki/ZIM_file_format.
//
// A ZIM file holds entries, each with a namespace, a path, a title and a MIME type. All integers are
// little-endian:
//
//	header    80 bytes: magic 72173914 u32, major 6 and minor 1 u16, UUID, number of entries and of
//	          clusters u32, positions of the path pointers, title pointers, cluster pointers and MIME
//	          list u64, index of the main page and of the layout page u32, position of the MD5 u64
//	MIME list strings that end in NUL; an empty one ends the list
//	clusters  an info byte (1 plain, 5 zstd; 0x10 more when offsets have eight bytes), then, compressed
//	          or not, one offset more than there are blobs, and the blobs. The last one has both listings
//	dirents   MIME index u16, 0 u8, namespace u8, revision u32, cluster u32, blob u32, path, NUL, title
//	          (empty when equal to the path), NUL. A redirect has the MIME index 0xffff and the index of
//	          its target in place of cluster and blob
//	pointers  of dirents u64, sorted by namespace and path; of clusters u64
//	MD5       of all before it
//
// Entries are numbered by namespace and path. Namespaces of version 6.1: C content, M metadata, W the well
// known mainPage, X listings and what a program keeps for itself. X/listing/titleOrdered/v0 lists the
// indexes of all entries by namespace and title, v1 those of pages; the title pointers are the former.
//
// Writer writes 6.1 in one pass, and then the header, and the MD5 of all that. Reader reads 5 and 6, and
// checks every position before it uses it. Full-text indexes are left to other programs.
package zim

// Namespaces of version 6.1.
const (
	Content   = 'C'
	Metadata  = 'M'
	WellKnown = 'W'
	Index     = 'X'
)

const (
	magic      = 72173914
	headerSize = 80
	sumSize    = 16 // of the MD5
	noIndex    = 0xffffffff

	redirectType = 0xffff // MIME index of a redirect
	maxTypes     = 0xfff0 // MIME indexes below the special ones

	plainCluster = 1
	lzmaCluster  = 4
	zstdCluster  = 5
	wideOffsets  = 0x10

	listingType = "application/octet-stream+zimlisting"
	listingV0   = "listing/titleOrdered/v0"
	listingV1   = "listing/titleOrdered/v1"
	mainPage    = "mainPage"
	counterName = "Counter"
	textType    = "text/plain;charset=utf-8"
)

// header is the first 80 bytes.
type header struct {
	Magic        uint32
	Major, Minor uint16
	UUID         [16]byte
	Entries      uint32
	Clusters     uint32
	PathPtrs     uint64
	TitlePtrs    uint64
	ClusterPtrs  uint64
	Types        uint64
	MainPage     uint32
	Layout       uint32
	Sum          uint64
}
