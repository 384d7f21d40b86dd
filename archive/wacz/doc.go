// SPDX-License-Identifier: Apache-2.0

// Package wacz writes and reads WACZ files (Web Archive Collection Zipped, version 1.1.1): records of a web
// archive with an index and a list of pages, in one ZIP that a browser reads by range.
//
//	archive/data.warc.gz    the records (package warc), each a gzip member; stored, so that a record is a range
//	indexes/index.cdx       lines of CDXJ, sorted by bytes; of many records index.cdx.gz in its place: gzip
//	                        members of 1024 lines, stored, and index.idx with the first key of each member
//	pages/pages.jsonl       a head line and a line for each page: id, url, ts, title, text
//	datapackage.json        what the file is; every other file with its size and SHA-256
//	datapackage-digest.json the SHA-256 of that, signed if it is to be
//
// A file is written as a stream: records first, and the rest from what was gathered meanwhile, which goes to
// a scratch file when it is large.
package wacz

// Names inside of a file.
const (
	dataName    = "archive/data.warc.gz"
	pagesName   = "pages/pages.jsonl"
	indexName   = "indexes/index.cdx"
	packedIndex = "indexes/index.cdx.gz"
	indexOfThat = "indexes/index.idx"
	packageName = "datapackage.json"
	digestName  = "datapackage-digest.json"

	version = "1.1.1"
)
