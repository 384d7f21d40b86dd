// SPDX-License-Identifier: Apache-2.0

package dbpages

import "io"

// Commit says which transaction a database file was last committed by. Two that are equal are of one state.
//
// bbolt copies on write: transaction T+1 writes only pages that are free as of T, and then the meta page
// that T does not use. So what was read of a file between two equal ones is the state of that transaction,
// regardless of writes meanwhile.
type Commit struct {
	Tx   uint64 // number of the transaction
	Size int64  // bytes that its pages are in; what lies behind is of no use to it
	sum  uint64 // of the meta page
}

// ReadCommit reads the newest valid meta page of a database file, which may be written meanwhile.
func ReadCommit(r io.ReaderAt) (Commit, error) {
	m, page, err := newest(r)
	if err != nil {
		return Commit{}, err
	}
	pages := order.Uint64(m[40:])
	if size := saturated(pages, page); size < maxSize {
		return Commit{Tx: order.Uint64(m[48:]), Size: int64(size), sum: order.Uint64(m[summedMeta:])}, nil
	}
	return Commit{}, faultf(-1, "its meta page names %d pages of %d bytes", pages, page)
}

// maxSize is more bytes than a database has.
const maxSize = 1 << 46
