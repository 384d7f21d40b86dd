// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"mirrord/cluster/objects"
)

// largeName is the name of a large body's object.
func largeName(digest [32]byte, size, modified int64) string {
	return fmt.Sprintf("%s%x.%d.%d", largeNames, digest, size, modified)
}

// parseLarge reads the name of a large body's object, which says all of it.
func parseLarge(name string) (digest [32]byte, p *bodyPlace, err error) {
	parts := strings.Split(strings.TrimPrefix(name, largeNames), ".")
	if len(parts) == 3 {
		var d SHA256
		err := d.UnmarshalText([]byte(parts[0]))
		size, serr := strconv.ParseInt(parts[1], 10, 64)
		modified, merr := strconv.ParseInt(parts[2], 10, 64)
		if errors.Join(err, serr, merr) == nil && size >= 0 {
			return d, &bodyPlace{
				object:   name,
				stored:   size,
				size:     size,
				modified: time.Unix(0, modified),
			}, nil
		}
	}
	return digest, nil, fmt.Errorf("object %s: %w: its name", name, ErrDamaged)
}

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
		r.buf, _, err = r.b.store.Get(r.b.ctx, r.object, r.at, min(r.end-r.at, objects.MaxGet))
		if errors.Is(err, fs.ErrNotExist) {
			return 0, lost(r.object)
		}
		if err != nil {
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
