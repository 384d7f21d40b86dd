// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"mirrord/fetch/heads"
)

// PastAnswer is a response that was recorded earlier.
type PastAnswer struct {
	Head   *heads.Head // as it came
	Plain  bool        // the body has no content coding, regardless of the head
	Made   bool        // the head is not that of the answer, and is not to be kept
	Body   io.Reader   // without chunks
	Length int64       // of Body; -1 when it is not known
	At     time.Time   // when the answer came
	Seen   time.Time   // when the URL was last known to answer so
}

// ErrRecording is the class of a recorded answer that cannot be used. No request will bring another one, and
// it says nothing of a server.
var ErrRecording = errors.New("the recorded answer cannot be used")

// Replay returns a recorded response instead of making a request: bodies are decoded and bounded as Do does
// it. It makes no request.
func (c *Client) Replay(ctx context.Context, req Request, rec *PastAnswer, sink Sink) (*Result, error) {
	t := transfer{req: req, sink: sink, total: -1}
	res := &Result{Head: Head{Length: -1}, Sent: 2} // as often as anything is requested
	w := c.watch(ctx)
	defer w.stop()
	fields := http.Header{}
	for _, f := range rec.Head.Fields {
		name := http.CanonicalHeaderKey(f.Name)
		fields[name] = append(fields[name], f.Value)
	}
	body, list := rec.Body, fields["Content-Encoding"]
	if !rec.Plain && len(list) > 0 {
		body, rec.Plain = decodedBefore(body, list)
	}
	if rec.Plain {
		delete(fields, "Content-Encoding")
	}
	resp := &http.Response{
		StatusCode:       rec.Head.Code(),
		ProtoMajor:       1,
		Header:           fields,
		ContentLength:    rec.Length,
		TransferEncoding: []string{"recorded"}, // something says where the body ends
		Body:             io.NopCloser(body),
	}
	err := c.readHead(res, resp, req.URL)
	res.RetryAfter, res.HasRetryAfter = 0, false
	if res.Whole, res.At, res.Seen = rec.Head, rec.At, rec.Seen; rec.Made {
		res.Whole = nil
	}
	in := w.read(resp.Body, nil)
	switch {
	case err != nil:
	case TransientStatus(res.Status), res.Status == http.StatusPartialContent,
		res.Status == http.StatusNotModified:
		err = fmt.Errorf("it has status %d", res.Status)
		res.Status = 0
	default:
		err = c.readBody(&t, res, resp, in, false)
		res.Wire = 0
	}
	if err == nil {
		return res, nil
	}
	res.Status = 0
	failed := c.bodyError(ctx, w, req.URL, err)
	if errors.Is(failed, ErrSink) || errors.Is(failed, ErrCanceled) {
		return res, failed
	}
	return res, &Error{URL: req.URL, Class: ErrRecording, Err: errors.New(err.Error())}
}

// decodedBefore reports whether a body that is labelled as coded was decoded by its recorder: gzip and
// zstd show in its first bytes, and of the others that they are no text.
func decodedBefore(body io.Reader, list []string) (_ io.Reader, plain bool) {
	magic := ""
	switch coding := strings.ToLower(strings.TrimSpace(list[len(list)-1])); coding {
	case "gzip", "x-gzip":
		magic = "\x1f\x8b"
	case "zstd":
		magic = "\x28\xb5\x2f\xfd"
	case "br", "deflate":
	default:
		return body, false
	}
	head := make([]byte, cmp.Or(len(magic), mostShown))
	n, _ := io.ReadFull(body, head) // an error comes again
	head = head[:n]
	plain = string(head) != magic
	if magic == "" {
		plain = isText(head)
	}
	return io.MultiReader(bytes.NewReader(head), body), plain
}

// What shows of a coding without a magic number, in bytes.
const (
	leastShown = 16
	mostShown  = 256
)

// isText reports whether bytes are the beginning of a text in UTF-8 or ASCII, without control characters.
func isText(b []byte) bool {
	if len(b) < leastShown {
		return false
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		cut := len(b) < utf8.UTFMax && !utf8.FullRune(b)
		if (r == utf8.RuneError && n == 1 && !cut) || (r < ' ' && !strings.ContainsRune("\t\n\f\r", r)) {
			return false
		}
		b = b[n:]
	}
	return true
}
