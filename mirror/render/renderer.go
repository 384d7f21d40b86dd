// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"runtime"
	"sync"
	"time"

	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// FrameSource reads stored documents; *bodies.Frames and *bodies.Packs do.
type FrameSource interface {
	ReadFrame(r *bodies.FrameReader, at record.Place) (bodies.Frame, error)
}

// Names is what links are relocated by; urls.Settled is one.
type Names interface {
	// Find returns the number of a URL.
	Find(u []byte) (id uint32, ok bool)
	// Final follows redirects to the number that holds the content; in is false when that is not in the mirror.
	Final(id uint32) (final uint32, in bool)
	// Fragment returns the fragment with which these redirects lead there, "" for none.
	Fragment(id uint32) string
	// Path returns the mirror path of a number, "" when it has none.
	Path(id uint32) string
	// Identity reports whether that is the path of its URL.
	Identity(id uint32) bool
	// AppendURL appends the URL of a number.
	AppendURL(dst []byte, id uint32) []byte
}

// Renderer makes the published files of one version of a site. Its fields are set before the first use; all
// but Table and Frames may be zero. Safe for concurrent use by Splicers.
type Renderer struct {
	Table  Names // says which URLs are in the mirror, and at which path
	Frames FrameSource
	Shared Shared
	Cures  map[string]Cure // by the URL that is broken

	// Own reports whether a body that was requested from another site is the site's own all the same, so
	// that its file names no source.
	Own func(rec *record.Resource) bool

	Notes  *urls.Notes
	Counts *urls.Counts

	mu    sync.Mutex // held while a large document is in memory
	large *bodies.FrameReader
}

// SmallDocument is the largest frame, in bytes, whose document is rendered in memory. Larger ones are
// rendered one at a time, as a stream: once, unless their digest must be known before.
const SmallDocument = 1 << 20

// hugeDocument is the size in bytes from which what a document leaves behind on the heap is worth a
// collection of its own.
const hugeDocument = 4 << 20

// LargestRest is the size in bytes of the largest document that has a rest: the reader of a rest has the file
// and the document in memory.
const LargestRest = 8 << 20

// mostEdits is how many edits a line of the file table declares, beside repaired links, which have their
// own room: a line of 4 MiB is bad (package phm).
const mostEdits = 50_000

// Splicer renders one file after the other, and keeps its memory from one to the next. One goroutine uses it.
type Splicer struct {
	*Renderer
	frames   *bodies.FrameReader
	links    StoredLinks
	out      []byte
	spans    []relocate.Span // of what was replaced in out
	ref, url []byte
	was      map[int32]Cure // repaired links of a published version, by their starts; nil: Cures says which are
	cured    []RepairedLink // of the document
	declared int            // bytes of its line that they take, about
	full     bool           // some links are not repaired because of that
}

// Splicer returns a new Splicer.
func (r *Renderer) Splicer() *Splicer { return &Splicer{Renderer: r, frames: bodies.NewFrameReader()} }

// ModTime is the modification time of a published file: what the site said when the body came, else when
// that was.
func ModTime(rec *record.Resource) time.Time {
	if rec.Modified > 0 {
		return time.Unix(rec.Modified, 0)
	}
	return time.Unix(cmp.Or(rec.Fetched, rec.Checked), 0)
}

// Line returns the line of a file in the file table; of a document it has the size and digest of the body
// as it came.
func (r *Renderer) Line(rec *record.Resource, path string) (phm.File, error) {
	f := phm.File{
		Path:   path,
		URL:    rec.URL.String(),
		Type:   rec.MIME,
		Size:   rec.Size,
		SHA256: record.HexOf(rec.Digest),
	}
	if rec.Modified > 0 {
		f.Modified = time.Unix(rec.Modified, 0).UTC()
	}
	if rec.Source != "" && (r.Own == nil || !r.Own(rec)) {
		if err := declare(&f, phm.SourceField, rec.Source); err != nil {
			return f, err
		}
	}
	if rec.Name != "" {
		if err := declare(&f, phm.NameField, rec.Name); err != nil {
			return f, err
		}
	}
	if rec.Body == record.BlobBody && relocate.Detect(rec.MIME, rec.URL, nil).Spliced() {
		if err := declare(&f, phm.UnscannedField, true); err != nil {
			return f, err
		}
	}
	if urls := r.Shared[rec.ID]; len(urls) > 0 {
		return f, declare(&f, phm.AlsoField, urls)
	}
	return f, nil
}

// Document makes a stored document ready, of which f is the line so far. The caller closes what it returns. A
// document that cannot be read is store.ErrDamaged.
func (s *Splicer) Document(rec *record.Resource, f *phm.File) (*Rendered, error) {
	frames, free := s.frames, func() {}
	if !InMemory(rec) {
		frames, free = s.takeLarge(rec.Size > hugeDocument)
	}
	doc, err := s.read(frames, rec.At, f.Path, s.Table.Identity(rec.ID))
	if err != nil {
		free()
		return nil, err
	}
	doc.free, doc.rec, doc.line = free, rec, f
	return doc, nil
}

// InMemory reports whether a stored document is small enough to be rendered in memory.
func InMemory(rec *record.Resource) bool {
	return rec.At.Len <= SmallDocument && rec.Size <= SmallDocument
}

// takeLarge returns the reader of large documents, of which one at a time is in memory: until free is called.
func (s *Splicer) takeLarge(huge bool) (frames *bodies.FrameReader, free func()) {
	s.mu.Lock()
	if s.large == nil {
		s.large = bodies.NewFrameReader()
		s.large.Aside = true
	}
	return s.large, func() {
		s.links.forget()
		s.spans = nil
		s.large.Release()
		if huge {
			runtime.GC() // before the next one comes
		}
		s.mu.Unlock()
	}
}

// read makes a stored document ready for rendering. identity says whether its path is its URL's.
func (s *Splicer) read(frames *bodies.FrameReader, at record.Place, path string, identity bool) (
	*Rendered, error) {
	fr, err := s.Frames.ReadFrame(frames, at)
	if err != nil {
		return nil, err
	}
	if err := s.links.Decode(fr.Links); err != nil {
		return nil, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	return &Rendered{
		s:        s,
		frame:    fr,
		body:     fr.Body,
		path:     path,
		identity: identity,
	}, nil
}

// Rendered is one document that is rendered. It is valid until Close, and until its Splicer's next document.
type Rendered struct {
	s        *Splicer
	rec      *record.Resource
	line     *phm.File
	frame    bodies.Frame
	body     []byte
	path     string
	identity bool
	complete bool // the line is; the bytes of a small document are in s.out then
	changed  bool // some link was replaced
	free     func()
}

// Close gives the memory of a large document back.
func (d *Rendered) Close() { d.free() }

// FileWriter makes files of a tree; *store.TreeWriter does.
type FileWriter interface {
	Write(path string, data []byte, mtime time.Time) error
	Stream(path string, mtime time.Time, write func(io.Writer) error) error
}

// WriteFile makes the document's file, and completes the line.
func (d *Rendered) WriteFile(w FileWriter) error {
	if len(d.body) > SmallDocument {
		return w.Stream(d.path, ModTime(d.rec), d.stream)
	}
	if err := d.Complete(); err != nil {
		return err
	}
	return w.Write(d.path, d.s.out, ModTime(d.rec))
}

// Rest keeps what the document has beside its file, which is published already when it stays. Of a very large
// one nothing is kept.
func (d *Rendered) Rest(r *facts.Rests, w *bodies.FrameWriter, at record.Place, stays bool) error {
	if len(d.body) > LargestRest {
		return nil
	}
	return r.Add(w, at, &d.frame, d.path, d.s.spans, stays)
}

// Complete completes the line with size, digest and declared edits of the file, without making it.
func (d *Rendered) Complete() error {
	switch {
	case d.complete:
		return nil
	case len(d.body) > SmallDocument:
		return d.stream(io.Discard)
	}
	out, edits := d.splice(d.s.out[:0])
	d.s.out = out
	digest := d.rec.Digest
	if d.changed || len(edits) > 0 || record.IsQuick(digest) {
		digest = sha256.Sum256(out)
	}
	return d.declare(int64(len(out)), digest, edits)
}

// splice appends the rendered bytes to b.
func (d *Rendered) splice(b []byte) ([]byte, []relocate.Edit) {
	l := &d.s.links
	d.s.restart()
	var edits []relocate.Edit
	b, edits, d.s.spans = relocate.SpliceNoting(b, d.body, l.Charset, l.Links, l.Edits, d.target, d.s.spans[:0])
	return b, edits
}

// stream writes the rendered bytes of a large document to w, and completes the line.
func (d *Rendered) stream(w io.Writer) error {
	s, l := d.s, &d.s.links
	s.restart()
	c := counter{w: w}
	if !d.complete {
		c.h = sha256.New()
	}
	edits, spans, err := relocate.SpliceTo(&c, d.body, l.Charset, l.Links, l.Edits, d.target, s.spans[:0])
	if s.spans = spans; d.complete || (err != nil) {
		return err
	}
	var digest [sha256.Size]byte
	c.h.Sum(digest[:0])
	return d.declare(c.n, digest, edits)
}

// declaredEdits are the first edits, as a line has them.
func declaredEdits(edits []relocate.Edit) (out []phm.DeclaredEdit) {
	for _, e := range edits[:min(len(edits), mostEdits)] {
		out = append(out, phm.DeclaredEdit{Kind: e.Why.String(), At: int64(e.Start)})
	}
	return out
}

// declare completes the line, for a file that was rendered.
func (d *Rendered) declare(size int64, digest [sha256.Size]byte, edits []relocate.Edit) error {
	s, f := d.s, d.line
	d.complete = true
	if s.Counts != nil {
		s.Counts.Relocated.Add(1)
	}
	f.Size, f.SHA256 = size, record.HexOf(digest)
	f.Edits = append(f.Edits, declaredEdits(edits)...)
	if s.Notes != nil {
		if len(edits) > mostEdits {
			s.Notes.Add(fmt.Sprintf("documents with more than %d declared edits: "+
				"the file table names the first ones", mostEdits), d.rec.URL)
		}
		if s.full {
			s.Notes.Add("documents with more links to repair than fit in their lines of the file table: "+
				"the rest stay as they are", d.rec.URL)
		}
	}
	if err := d.declareSymbols(f); err != nil {
		return err
	}
	return declareRepairs(f, s.cured)
}

func (d *Rendered) target(i int) ([]byte, bool, bool) {
	ref, inside, replace := d.s.target(i, d.path, d.identity)
	d.changed = d.changed || replace
	return ref, inside, replace
}

// counter counts and digests what it passes on.
type counter struct {
	w io.Writer
	h hash.Hash // nil: the digest is known
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	if c.h != nil {
		c.h.Write(p)
	}
	return c.w.Write(p)
}
