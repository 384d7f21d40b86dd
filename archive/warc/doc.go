// SPDX-License-Identifier: Apache-2.0

// Package warc reads and writes WARC files, the records of web archives (ISO 28500), and CDXJ indexes of
// them.
//
// A file is a sequence of records:
//
//	record  version line, fields and an empty line; a block of Content-Length bytes; two empty lines
//	version "WARC/1.1", a line as all that follow: they end in CR LF
//	field   name ":" value
//
// The block of a response is an HTTP message: its head and its body. A revisit has no body; it refers to an
// earlier record with the same one.
//
// This package writes WARC 1.1, each record as a gzip member of its own, so that a record can be read from
// its offset alone. It reads WARC 0.17 to 1.1 as other programs write it: plain, in gzip members, in zstd
// frames with or without a dictionary, and as one gzip stream of all records, which has no offsets. Nothing
// is held in memory but a window of the decompressor and the head of a record.
//
// Every error of a file is a [RecordError] with the number and offset of the record.
package warc
