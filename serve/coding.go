// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The content codings that are made, best first among those a client likes equally: what brotli and zstd save
// on text is much the same, and zstd costs a fraction of the time.
var codingNames = [...]string{"zstd", "br", "gzip"}

// largestCoded is the size in bytes of the largest body that is compressed: it is in memory at that time.
const largestCoded = 4 << 20

// codings compresses bodies: it has a slot for each processor.
type codings chan struct{}

// chooseCoding returns the coding for a body of that size, "" for none (RFC 9110 §12.5.3).
func chooseCoding(accept []string, size int64) string {
	if size > largestCoded || len(accept) == 0 {
		return ""
	}
	quality := map[string]float64{}
	for _, line := range accept {
		for item := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(item, ";")
			q := 1.0
			for p := range strings.SplitSeq(params, ";") {
				if v, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
					f, err := strconv.ParseFloat(v, 64)
					if err != nil || !(f >= 0 && f <= 1) {
						f = 0
					}
					q = f
				}
			}
			name = strings.ToLower(strings.TrimSpace(name))
			if name == "x-gzip" {
				name = "gzip"
			}
			quality[name] = q
		}
	}
	best, bestQ := "", 0.0
	for _, name := range codingNames {
		q, named := quality[name]
		if !named {
			q = quality["*"]
		}
		if q > bestQ {
			best, bestQ = name, q
		}
	}
	if q, named := quality["identity"]; named && q > bestQ {
		return ""
	}
	return best
}

// get returns the body of r in a coding; nil when it would not be smaller.
func (c codings) get(
	ctx context.Context, r Resource, coding string, open func(Resource) (io.ReadSeekCloser, error),
) ([]byte, error) {
	select {
	case c <- struct{}{}:
		defer func() { <-c }()
		return pack(r, coding, open)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pack compresses a file.
func pack(r Resource, coding string, open func(Resource) (io.ReadSeekCloser, error)) ([]byte, error) {
	f, err := open(r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out bytes.Buffer
	out.Grow(int(r.Size / 4))
	w, err := newCoder(&out, coding)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(w, io.LimitReader(f, r.Size+1))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("compress %s: %w", r.Path, err)
	}
	if n != r.Size {
		return nil, fmt.Errorf("compress %s: %w: %d bytes read of %d", r.Path, ErrMoved, n, r.Size)
	}
	if int64(out.Len()) >= r.Size-r.Size/20 {
		return nil, nil
	}
	return out.Bytes(), nil
}

func newCoder(w io.Writer, coding string) (io.WriteCloser, error) {
	switch coding {
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	case "br":
		return brotli.NewWriterLevel(w, 5), nil
	case "gzip":
		return gzip.NewWriterLevel(w, 6)
	}
	return nil, fmt.Errorf("no content coding %q", coding)
}
