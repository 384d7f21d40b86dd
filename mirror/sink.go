// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"mirrord/fetch"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// bodySink takes a body: into memory as long as it may be a document or is small, else into a blob.
type bodySink struct {
	r      *run
	url    site.URL
	source string // the URL on a replica that is asked, "" for the site itself
	pool   *[]byte
	limit  int
	head   fetch.Head
	begun  time.Time
	blob   *store.BlobWriter
	cut    bool  // what has come is the beginning of a body whose rest may still be had
	err    error // of the disk
}

// Bodies are held in memory up to these sizes, in bytes, before they go to a file. A large document comes back into memory when
// it is its turn to be scanned; one at a time, so that many of them on their way cost no memory.
const (
	smallBody = 128 << 10 // of something that is no document
	smallDoc  = 256 << 10
)

func (r *run) newSink(u site.URL) *bodySink {
	return &bodySink{r: r, url: u}
}

// Begin is called when the head of a body that is worth keeping has come.
func (s *bodySink) Begin(h *fetch.Head) (io.Writer, error) {
	if s.pool == nil {
		s.pool = s.r.bufs.Get().(*[]byte)
	}
	*s.pool = (*s.pool)[:0]
	s.head, s.begun = *h, s.r.now()
	if h.Offset > 0 { // the blob has what comes before
		return s, nil
	}
	if s.blob != nil {
		s.blob.Abort()
		s.blob = nil
	}
	s.limit = smallBody
	if mayBeDocument(h.MIME) {
		s.limit = min(smallDoc, int(s.r.job.Limits.MaxDocument))
	}
	if n := h.Length; n > 0 && n <= int64(s.limit) && int64(cap(*s.pool)) < n {
		*s.pool = make([]byte, 0, n+512)
	}
	return s, nil
}

// mayBeDocument reports whether a body of this type may have links. The scan decides in the end.
func mayBeDocument(mime string) bool {
	return relocate.Detect(mime, site.URL{}, nil) != relocate.Unknown || mime == "" || mime == "application/octet-stream" || mime == "text/plain" ||
		mime == "application/xml" || mime == "text/xml" || mime == "application/json"
}

func (s *bodySink) Write(p []byte) (int, error) {
	if s.blob == nil && len(*s.pool)+len(p) <= s.limit {
		*s.pool = append(*s.pool, p...)
		return len(p), nil
	}
	if s.blob == nil {
		if s.blob, s.err = s.r.o.State.Blobs.Create(); s.err != nil {
			return 0, s.err
		}
	}
	if len(*s.pool) > 0 {
		if _, s.err = s.blob.Write(*s.pool); s.err != nil {
			return 0, s.err
		}
		*s.pool = (*s.pool)[:0]
	}
	var n int
	if n, s.err = s.blob.Write(p); s.err == nil && (s.blob.Size() >= partBytes || s.r.now().Sub(s.begun) >= partAge) {
		s.err = s.keepPart()
	}
	return n, s.err
}

// A body that is larger, or has been coming for longer, outlives a kill: the next run asks for the rest of it. What ends in order outlives
// the process from the smaller size on.
const (
	partBytes     = 8 << 20
	partAge       = 2 * time.Second
	leastPartSize = 1 << 20
)

// keepPart makes what has come a part, if the rest can be asked for.
func (s *bodySink) keepPart() error {
	p, ok := s.head.Part()
	if s.blob.IsPart() || !ok {
		return nil
	}
	about, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return s.r.site.Parts.Keep(s.blob, s.url.String(), about)
}

// resume takes what an earlier exchange brought of the body, and makes req ask for the rest.
func (s *bodySink) resume(ctx context.Context, req *fetch.Request) error {
	w, about, err := s.r.site.Parts.Take(ctx, s.url.String())
	if err != nil || w == nil {
		return err
	}
	s.blob = w
	p := new(fetch.Part)
	if json.Unmarshal(about, p) == nil { // else Begin drops it
		req.Part, req.Offset = p, w.Size()
	}
	return nil
}

// isCut reports whether an exchange ended so that another one may bring the rest of the body.
func isCut(res *fetch.Result, err error) bool {
	if err != nil {
		return fetch.Transient(err) || errors.Is(err, fetch.ErrCanceled) || errors.Is(err, fetch.ErrSink)
	}
	return fetch.TransientStatus(res.Status)
}

// maxPooled is the largest buffer that is kept for the next body.
const maxPooled = 128 << 10

func (s *bodySink) close() {
	if s.blob != nil {
		s.leave()
		s.blob = nil
	}
	if s.pool != nil {
		if cap(*s.pool) <= maxPooled {
			s.r.bufs.Put(s.pool)
		}
		s.pool = nil
	}
}

// leave lets go of a body that did not come whole.
func (s *bodySink) leave() {
	if !s.cut {
		s.blob.Abort()
		return
	}
	var err error
	if s.blob.Size() >= leastPartSize {
		err = s.keepPart()
	}
	if err = errors.Join(err, s.blob.Leave()); err != nil {
		s.r.log.Warn("beginning of a body not kept", "url", s.url.String(), "err", err)
	}
}

// dropParts drops the beginnings of bodies that nobody will ask for the rest of: at the end of a complete run all but those of what failed.
func (r *run) dropParts() {
	_, err := r.site.Parts.Collect(false, func(url string, _ time.Time) bool {
		u, _, err := site.Parse(url)
		if err != nil {
			return true
		}
		rec, ok, err := r.site.Records.Get(u)
		return err == nil && (!ok || rec.Outcome != site.Failed || rec.Failures >= lastingFailures)
	})
	if err != nil {
		r.notes.Cap("beginnings of large files could not be dropped: " + err.Error())
	}
}
