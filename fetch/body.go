// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
)

const (
	resumeFrom = 64 << 10 // a body that broke off earlier is not worth a range request
	drainMost  = 64 << 10 // of an unwanted body, so that its connection can be used again
	ratioFrom  = 1 << 20  // bytes of output before MaxRatio is judged
)

// readBody copies the body to the sink, or discards it.
func (c *Client) readBody(t *transfer, res *Result, resp *http.Response, in *wire, ranged bool) error {
	switch res.Status {
	case http.StatusOK, http.StatusNonAuthoritativeInfo:
		return c.keep(t, res, resp, in)
	case http.StatusPartialContent:
		if !ranged {
			return fmt.Errorf("%w: 206 to a request for the whole", ErrProtocol)
		}
		return c.resume(t, res, resp, in)
	case http.StatusRequestedRangeNotSatisfiable:
		if ranged {
			return errRestart
		}
	}
	c.drain(in, resp.ContentLength)
	return nil
}

// drain reads the body of an error or a redirect, which is of no use, so that its connection can be used
// again; what happens to it does not matter, and it may not take long.
func (c *Client) drain(in *wire, declared int64) {
	if declared > drainMost {
		return
	}
	buf := c.buffers.Get().(*[copyBuffer]byte)
	defer c.buffers.Put(buf)
	in.watch.enter(phaseDrain)
	for i := 0; in.n < drainMost; i++ {
		if i == 1 {
			in.watch.timer.Reset(drainTime)
		}
		n, err := in.body.Read(buf[:])
		if in.n += int64(n); err != nil {
			return
		}
	}
}

// keep copies a whole body to the sink.
func (c *Client) keep(t *transfer, res *Result, resp *http.Response, in *wire) error {
	t.restart()
	list, err := codings(res.Header["Content-Encoding"])
	var src io.Reader = in
	var p *packing
	if len(list) > 0 {
		p = packingOf(res.MIME, t.req.URL.Path())
	}
	if p != nil {
		b := bufio.NewReaderSize(in, 16<<10)
		src = b
		if head, _ := b.Peek(packHead); staysPacked(p, res.MIME, list[len(list)-1], head) {
			list, err = codings(list[:len(list)-1])
			res.MIME, res.Charset = p.mime, ""
			t.packed = true
		}
	}
	if err != nil {
		return err
	}
	res.Coding = strings.Join(list, ", ")
	for i := len(list) - 1; i >= 0; i-- {
		r, err := decode(list[i], src)
		if err != nil {
			return codingError(err, in.err)
		}
		defer r.Close()
		src = r
	}
	limit := c.bodyLimit(t)
	if len(list) == 0 {
		res.Length, t.total = resp.ContentLength, resp.ContentLength
		if t.total > limit && !t.req.Cut {
			return fmt.Errorf("%w: it declares %d bytes, %d are allowed", ErrTooLarge, t.total, limit)
		}
	}
	res.Unframed = resp.ContentLength < 0 && resp.ProtoMajor == 1 && len(resp.TransferEncoding) == 0
	return c.begin(t, res, src, in, limit, len(list) > 0)
}

// resume appends a 206 to what the sink has. What comes again, because the range begins earlier, is cut off.
func (c *Client) resume(t *transfer, res *Result, resp *http.Response, in *wire) error {
	from, last, total, err := parseContentRange(first(res.Header, "Content-Range"))
	if total < 0 {
		total = t.total // a server may send less than was requested: without a length that cannot be known
	}
	// of the rest, see Do; of less the whole is had
	portion := (last < total-1) && (last-t.at+1 >= leastPortion)
	other := (t.total >= 0 && total != t.total) || (last != total-1 && !portion)
	if err != nil || from > t.at || last < t.at || other ||
		(resp.ContentLength >= 0 && resp.ContentLength != last-from+1) {
		return fmt.Errorf("%w: content-range %q, wanted from %d", errRestart,
			first(res.Header, "Content-Range"), t.at)
	}
	if list, _ := codings(res.Header["Content-Encoding"]); len(list) > 0 && !(t.packed && len(list) == 1) {
		return fmt.Errorf("%w: coded", errRestart)
	}
	// If-Range with a validator that differs would have been answered with 200, unless the server ignores it.
	now := res.LastModified
	if t.validator[0] == '"' {
		now = res.ETag
	}
	if now != "" && now != t.validator {
		return fmt.Errorf("%w: %s instead of %s", errRestart, now, t.validator)
	}
	limit := c.bodyLimit(t)
	if total > limit && !t.req.Cut {
		return fmt.Errorf("%w: it declares %d bytes, %d are allowed", ErrTooLarge, total, limit)
	}
	if _, err := io.CopyN(io.Discard, in, t.at-from); err == io.EOF {
		return fmt.Errorf("%w: it ends before byte %d", ErrTruncated, t.at)
	} else if err != nil {
		return err
	}
	t.total, t.portion = total, portion
	if t.w == nil { // continues an earlier exchange
		res.Head = t.req.Part.head(&res.Head, t.req.URL.Path())
		res.Length, res.Offset = t.total, t.at
		return c.begin(t, res, in, in, limit, false)
	}
	res.Head = t.begun
	return c.copyBody(t, res, in, in, limit, false)
}

func (c *Client) bodyLimit(t *transfer) int64 {
	limit := c.MaxBody
	if t.req.MaxBody > 0 {
		limit = min(limit, t.req.MaxBody)
	}
	if limit < 0 {
		limit = 1<<63 - 1
	}
	return limit
}

func (c *Client) begin(t *transfer, res *Result, src io.Reader, in *wire, limit int64, coded bool) error {
	t.w = io.Discard
	if t.sink != nil {
		w, err := t.sink.Begin(&res.Head)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSink, err)
		}
		if w != nil {
			t.w = w
		}
	}
	t.begun = res.Head
	return c.copyBody(t, res, src, in, limit, coded)
}

// copyBody moves bytes from src, the decoded view of in, to the sink until both have come to a proper end.
func (c *Client) copyBody(t *transfer, res *Result, src io.Reader, in *wire, limit int64, coded bool) error {
	room := c.buffers.Get().(*[copyBuffer]byte)
	defer c.buffers.Put(room)
	buf, start := room[:], t.at
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if left := limit - t.at; int64(n) > left {
				if !t.req.Cut {
					return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
				}
				n, res.Cut, err = int(max(left, 0)), true, io.EOF
			}
			if _, werr := t.w.Write(buf[:n]); werr != nil {
				return fmt.Errorf("%w: %w", ErrSink, werr)
			}
			t.at += int64(n)
			if out := t.at - start; coded && out > ratioFrom && float64(out) > c.MaxRatio*float64(in.n) {
				return fmt.Errorf("%w: %d bytes became %d", ErrBomb, in.n, out)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			res.Body = t.at
			t.validator = ""
			if coded {
				return codingError(err, in.err)
			}
			if t.at >= resumeFrom {
				t.validator = res.continuedBy()
			}
			return err
		}
	}
	res.Body = t.at
	if res.Cut {
		res.Kept = true
		return nil
	}
	if coded {
		if err := drainCoded(in, buf); err != nil {
			return err
		}
	}
	if in.err != io.EOF && !coded {
		return fmt.Errorf("%w: the reader ended before the network", ErrTruncated)
	}
	if t.total >= 0 && t.at != t.total {
		return fmt.Errorf("%w: %d of %d bytes", ErrTruncated, t.at, t.total)
	}
	res.Kept = true
	return nil
}

// drainCoded reads what follows the end of the coding: the framing has an end of its own that must come, too.
func drainCoded(in *wire, buf []byte) error {
	for spare := 0; in.err == nil; {
		n, _ := in.Read(buf)
		if spare += n; spare > drainMost {
			return fmt.Errorf("%w: data after the end of the content coding", ErrCoding)
		}
	}
	if in.err != io.EOF {
		return in.err
	}
	return nil
}

// wire reads a body as it comes from the network, tells the watch about it and keeps the bandwidth.
type wire struct {
	body  io.Reader
	watch *watch
	limit *rate.Limiter
	n     int64
	err   error // sticky
}

// read returns the body of the attempt.
func (w *watch) read(body io.Reader, limit *rate.Limiter) *wire {
	w.in = wire{body: body, watch: w, limit: limit}
	return &w.in
}

func (r *wire) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.limit != nil && r.limit.Burst() > 0 && len(p) > r.limit.Burst() {
		p = p[:r.limit.Burst()]
	}
	r.watch.enter(phaseRead)
	n, err := r.body.Read(p)
	r.watch.leave(n)
	r.n += int64(n)
	if n > 0 && r.limit != nil {
		if lerr := r.limit.WaitN(r.watch, n); lerr != nil && err == nil {
			err = lerr
		}
	}
	r.err = err
	return n, err
}
