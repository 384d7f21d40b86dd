// SPDX-License-Identifier: Apache-2.0

package dbpages

import "io"

// Head says which transaction a database file was last committed by. Two equal Heads are of the same state.
//
// bbolt copies on write: transaction T+1 writes only pages that are free as of T, and then the meta page that
// T does not use. So what was read of a file between two equal Heads is the state of that transaction,
// whoever wrote meanwhile.
type Head struct {
	Tx   uint64 // number of the transaction
	Size int64  // bytes that its pages are in; what lies behind is of no use to it
	sum  uint64 // of the meta page
}

// ReadHead reads the newest valid meta page of a database file, which somebody may be writing.
func ReadHead(r io.ReaderAt) (Head, error) {
	m, page, err := newest(r)
	if err != nil {
		return Head{}, err
	}
	pages := order.Uint64(m[40:])
	if size := saturated(pages, page); size < maxSize {
		return Head{Tx: order.Uint64(m[48:]), Size: int64(size), sum: order.Uint64(m[summedMeta:])}, nil
	}
	return Head{}, faultf(-1, "its meta page names %d pages of %d bytes", pages, page)
}

// maxSize is more bytes than a database has.
const maxSize = 1 << 46
