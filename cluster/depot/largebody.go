// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"fmt"
	"io"

	"mirrord/cluster/objects"
)

// largeReader reads an object range by range.
type largeReader struct {
	b       *Bodies
	object  string
	at, end int64
	buf     []byte
}

func (r *largeReader) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if r.at >= r.end {
			return 0, io.EOF
		}
		var err error
		if r.buf, _, err = r.b.store.Get(r.b.ctx, r.object, r.at, min(r.end-r.at, objects.MaxGet)); err != nil {
			return 0, err
		}
		if len(r.buf) == 0 {
			return 0, fmt.Errorf("%s: %w", r.object, io.ErrUnexpectedEOF)
		}
		r.at += int64(len(r.buf))
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

func (r *largeReader) Close() error { return nil }
