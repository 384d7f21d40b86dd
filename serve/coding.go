// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"container/list"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The content codings that are made, best first among those a client likes equally: what brotli and zstd save
// on text is much the same, and zstd costs a fraction of the time.
var codingNames = [...]string{"zstd", "br", "gzip"}

// The bytes of compressed bodies that are kept, and of the largest body that is compressed: it is in memory
// at that time.
const (
	codedBytes   = 32 << 20
	largestCoded = 4 << 20
)

// codings compresses bodies and keeps the results, up to a number of bytes. It is safe for concurrent use.
type codings struct {
	limit   int64 // bytes kept; negative: nothing is compressed
	largest int64 // bytes of a body
	slots   chan struct{}

	mu    sync.Mutex // guards what follows
	kept  map[codingKey]*list.Element
	order *list.List // of *codingEntry, last used first
	bytes int64
}

type codingKey struct {
	digest [32]byte
	coding string
}

// codingEntry is one body in one coding. body and err are set when done is closed; a nil body says that it
// did not get smaller.
type codingEntry struct {
	key  codingKey
	done chan struct{}
	body []byte
	err  error
}

// entryCost is what an entry takes beside its body, in bytes.
const entryCost = 256

func newCodings(limit, largest int64, parallel int) *codings {
	return &codings{
		limit:   limit,
		largest: largest,
		slots:   make(chan struct{}, max(parallel, 1)), // one slot a processor
		kept:    map[codingKey]*list.Element{},
		order:   list.New(),
	}
}

// choose returns the coding for a body of that size, "" for none (RFC 9110 §12.5.3).
func (c *codings) choose(accept []string, size int64) string {
	if c.limit < 0 || size > c.largest || len(accept) == 0 {
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

// get returns the body of r in a coding; nil when it would not be smaller. Of many that ask at once, one
// compresses.
func (c *codings) get(
	ctx context.Context, r Resource, coding string, open func(Resource) (io.ReadSeekCloser, error),
) ([]byte, error) {
	key := codingKey{r.Digest, coding}
	c.mu.Lock()
	if el, ok := c.kept[key]; ok {
		c.order.MoveToFront(el)
		c.mu.Unlock()
		e := el.Value.(*codingEntry)
		select {
		case <-e.done:
			return e.body, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e := &codingEntry{key: key, done: make(chan struct{})}
	el := c.order.PushFront(e)
	c.kept[key] = el
	c.bytes += entryCost
	c.mu.Unlock()

	c.slots <- struct{}{} // not given up with ctx: others wait for the result
	e.body, e.err = pack(r, coding, open)
	<-c.slots

	c.mu.Lock()
	defer c.mu.Unlock()
	close(e.done)
	if e.err != nil {
		c.drop(el)
		return nil, e.err
	}
	c.bytes += int64(len(e.body))
	for c.bytes > c.limit && c.order.Len() > 0 {
		last := c.order.Back()
		select {
		case <-last.Value.(*codingEntry).done:
			c.drop(last)
			continue
		default: // still being made
		}
		break
	}
	return e.body, nil
}

// drop forgets an entry that is done; c.mu is held. A failed one has no body.
func (c *codings) drop(el *list.Element) {
	e := el.Value.(*codingEntry)
	delete(c.kept, e.key)
	c.order.Remove(el)
	c.bytes -= entryCost + int64(len(e.body))
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
	return bytes.Clone(out.Bytes()), nil
}

func newCoder(w io.Writer, coding string) (io.WriteCloser, error) {
	switch coding {
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBetterCompression),
			zstd.WithWindowSize(1<<20))
	case "br":
		return brotli.NewWriterLevel(w, 5), nil
	case "gzip":
		return gzip.NewWriterLevel(w, 6)
	}
	return nil, fmt.Errorf("no content coding %q", coding)
}
