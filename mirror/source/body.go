// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mirrord/fetch"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/blobs"
)

// PartKeeper keeps the beginnings of large bodies, by URL, so that a later exchange requests only the rest.
// *blobs.Parts is one. It is safe for concurrent use.
type PartKeeper interface {
	// Keep makes what was written of a body outlive the process. about is for the next exchange.
	Keep(w *blobs.BlobWriter, url string, about []byte) error
	// Take returns the beginning of a body, to be continued; nil without one.
	Take(ctx context.Context, url string) (w *blobs.BlobWriter, about []byte, err error)
}

// BodyOptions are what bodies are taken in with.
type BodyOptions struct {
	Blobs       *blobs.Spool
	Parts       PartKeeper
	MaxDocument int64         // bytes of the largest document that is scanned
	Coming      *atomic.Int64 // counts the bytes of bodies while they come; may be nil
	Now         func() time.Time
	Log         *slog.Logger

	// buffers of bodies that were closed, of *[]byte: with these and those of package fetch, a run of 21 822
	// files that are asked again takes .85 of the user and system time, a first one that is kept .93
	free sync.Pool
}

// New returns a sink for the body of a URL. Its user calls Close when the body was read, or did not come.
func (o *BodyOptions) New(u site.URL) *BodySink { return &BodySink{BodyOptions: o, url: u} }

// BodySink takes one body: into memory as long as it may be a document or is small, else into a file. It is a
// fetch.Sink, and belongs to one goroutine at a time.
type BodySink struct {
	*BodyOptions
	url     site.URL
	buf     []byte
	limit   int
	head    fetch.Head
	begun   time.Time
	refuse  func(mime string) string // see Ask.Refuse
	refused string                   // what it said of this body
	blob    *blobs.BlobWriter
	cut     bool  // what has come is the beginning of a body whose rest may still be had
	err     error // of the disk

	received Received // see contentOf
}

// Bodies are held in memory up to these sizes, in bytes, before they go to a file. A larger document comes
// back into memory when it is its turn to be scanned; one at a time, so that many of them on their way cost
// no memory.
const (
	smallBody = 128 << 10 // of something that is no document
	smallDoc  = 1 << 20
)

// Begin is called when the head of a body that is worth keeping has come.
func (b *BodySink) Begin(h *fetch.Head) (io.Writer, error) {
	if b.refuse != nil {
		if b.refused = b.refuse(h.MIME); b.refused != "" {
			return nil, errRefused
		}
	}
	b.buf = b.buf[:0]
	b.head, b.begun = *h, b.Now()
	if h.Offset > 0 { // the blob has what comes before
		return b, nil
	}
	if b.blob != nil {
		b.blob.Abort()
		b.blob = nil
	}
	b.limit = smallBody
	if mayBeDocument(h.MIME) {
		b.limit = int(min(smallDoc, b.MaxDocument))
	}
	if h.Length > int64(b.limit) {
		b.limit = 0 // it goes to a file from the first byte on
		return b, nil
	}
	if b.buf == nil {
		if free, ok := b.free.Get().(*[]byte); ok {
			b.buf = *free
		}
	}
	b.buf = slices.Grow(b.buf, max(leastBuffer, int(h.Length)))
	return b, nil
}

// leastBuffer is the smallest buffer for a body, in bytes.
const leastBuffer = 16 << 10

// errRefused ends an exchange whose body is not wanted.
var errRefused = errors.New("the body is not wanted")

// mayBeDocument reports whether a body of this type may have links. The scan decides in the end.
func mayBeDocument(mime string) bool {
	switch mime {
	case "", "application/octet-stream", "text/plain", "application/xml", "text/xml", "text/xsl",
		"application/json":
		return true
	}
	return relocate.Detect(mime, site.URL{}, nil) != relocate.Unknown
}

// Write takes the next bytes.
func (b *BodySink) Write(p []byte) (int, error) {
	if b.Coming != nil {
		b.Coming.Add(int64(len(p)))
	}
	if b.blob == nil && len(b.buf)+len(p) <= b.limit {
		b.buf = append(b.buf, p...)
		return len(p), nil
	}
	if b.blob == nil {
		if b.blob, b.err = b.Blobs.Create(); b.err != nil {
			return 0, b.err
		}
	}
	if len(b.buf) > 0 {
		if _, b.err = b.blob.Write(b.buf); b.err != nil {
			return 0, b.err
		}
	}
	b.buf = nil
	var n int
	if n, b.err = b.blob.Write(p); b.err != nil {
		return n, b.err
	}
	if b.blob.Size() >= PartBytes || b.Now().Sub(b.begun) >= partAge {
		b.err = b.keepPart()
	}
	return n, b.err
}

// Bytes is the body that is in memory, until Close; empty when it is a file.
func (b *BodySink) Bytes() []byte {
	if b.blob != nil {
		return nil
	}
	return b.buf
}

// File is the body that is a file; nil when it is in memory.
func (b *BodySink) File() *blobs.BlobWriter { return b.blob }

// Commit makes the file that the body is one of the store's bodies.
func (b *BodySink) Commit(modified time.Time) (digest [32]byte, size int64, err error) {
	blob := b.blob
	b.blob = nil
	return blob.Commit(modified)
}

// Digest is that of what has come.
func (b *BodySink) Digest() [32]byte {
	if b.blob != nil {
		return b.blob.Digest()
	}
	return sha256.Sum256(b.Bytes())
}

// Err is the failure of the disk that ended an exchange; nil when there was none.
func (b *BodySink) Err() error { return b.err }

// A body that is larger, or has been coming for longer, outlives a kill: the next run requests the rest of
// it. What ends in order outlives the process from the smaller size on.
const (
	PartBytes     = 8 << 20
	partAge       = 2 * time.Second
	leastPartSize = 1 << 20
)

// keepPart makes what has come a part, if the rest can be requested.
func (b *BodySink) keepPart() error {
	p, ok := b.head.Part()
	if b.blob.IsPart() || !ok {
		return nil
	}
	about, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return b.Parts.Keep(b.blob, b.url.String(), about)
}

// Resume takes what an earlier exchange received of the body, and makes req request the rest.
func (b *BodySink) Resume(ctx context.Context, req *fetch.Request) error {
	w, about, err := b.Parts.Take(ctx, b.url.String())
	if err != nil || w == nil {
		return err
	}
	b.blob = w
	p := new(fetch.Part)
	if json.Unmarshal(about, p) == nil { // else Begin drops it
		req.Part, req.Offset = p, w.Size()
	}
	return nil
}

// Ended says how the exchange of the body ended: when another one may fetch the rest, Close keeps
// what has come.
func (b *BodySink) Ended(res *fetch.Result, err error) {
	if b.refused != "" {
		return
	}
	if err != nil {
		b.cut = fetch.Transient(err) || errors.Is(err, fetch.ErrCanceled) || errors.Is(err, fetch.ErrSink)
		return
	}
	b.cut = fetch.TransientStatus(res.Status)
}

// Close lets go of the body, unless Commit has kept it. It may be called more than once.
func (b *BodySink) Close() {
	if b.blob != nil {
		b.drop()
		b.blob = nil
	}
	if buf := b.buf[:0]; cap(buf) > 0 {
		b.free.Put(&buf)
	}
	b.buf = nil
}

// drop lets go of a file that was not committed.
func (b *BodySink) drop() {
	if !b.cut {
		b.blob.Abort()
		return
	}
	var err error
	if b.blob.Size() >= leastPartSize {
		err = b.keepPart()
	}
	if err = errors.Join(err, b.blob.Leave()); err != nil {
		b.Log.Warn("beginning of a body not kept", "url", b.url.String(), "err", err)
	}
}
