package mirror

import (
	"io"

	"mirrord/fetch"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// bodySink takes a body: into memory as long as it may be a document or is small, else into a blob.
type bodySink struct {
	r     *run
	url   site.URL
	pool  *[]byte
	limit int
	head  fetch.Head
	blob  *store.BlobWriter
	err   error // of the disk
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
	if s.blob != nil {
		if s.err = s.blob.Reset(); s.err != nil {
			return nil, s.err
		}
	}
	s.head = *h
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
	n, s.err = s.blob.Write(p)
	return n, s.err
}

// maxPooled is the largest buffer that is kept for the next body.
const maxPooled = 128 << 10

func (s *bodySink) close() {
	if s.blob != nil {
		s.blob.Abort()
		s.blob = nil
	}
	if s.pool != nil {
		if cap(*s.pool) <= maxPooled {
			s.r.bufs.Put(s.pool)
		}
		s.pool = nil
	}
}
