// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"sync"
	"time"

	"mirrord/app/env"
	"mirrord/archive"
	"mirrord/archive/warc"
	"mirrord/internal/inorder"
	"mirrord/internal/lines"
	"mirrord/mirror/report"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// capturePlan is the captures of an export, in the order of their dates, and within a second of the numbers
// of their URLs: about that in which their bodies came, and lie in the packs, so that few frames are unpacked
// more than once. The site need not stay open while they are packed.
type capturePlan struct {
	all  lines.Lines
	line []byte // of add
}

func newCapturePlan(room func() (lines.Scratch, error)) *capturePlan {
	return &capturePlan{all: lines.Lines{Room: room, Compare: bytes.Compare, Limit: lines.Held}}
}

// add adds a capture.
func (p *capturePlan) add(c *planned) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	p.line = fmt.Appendf(p.line[:0], "%016x%08x%016x%s\n", uint64(c.Date), c.Number, p.all.Len(), text)
	return p.all.Add(p.line)
}

// planKey is the length of what a line of the plan is sorted by.
const planKey = 16 + 8 + 16

// each reads the plan.
func (p *capturePlan) each(f func(*planned) error) error {
	return p.all.Each(func(line []byte) error {
		c := new(planned)
		if err := json.Unmarshal(line[planKey:], c); err != nil {
			return fmt.Errorf("the plan of the export, in a temporary file, was changed: %w", err)
		}
		return f(c)
	})
}

func (p *capturePlan) close() error { return p.all.Close() }

// capturePacker packs captures. It is for one goroutine.
type capturePacker struct {
	src    *captureSource
	frames *bodies.FrameReader
	warc   warc.Packer
}

func (s *captureSource) packer(aside bool) *capturePacker {
	k := &capturePacker{src: s, frames: bodies.NewFrameReader()}
	k.frames.Aside = aside
	return k
}

// pack reads a body and packs the capture. A large document is in memory until the capture was added and
// frames released.
func (k *capturePacker) pack(c *planned) (_ *archive.PackedCapture, done func() error, err error) {
	out := &archive.Capture{
		URL:    c.URL,
		Date:   time.Unix(c.Date, 0),
		Head:   c.Head,
		Size:   c.Size,
		Digest: c.Digest,
	}
	if len(c.Head) == 0 {
		out.Head, out.MIME = nil, c.MIME
	}
	c.annotate(out)
	if c.Again > 0 {
		out.Again = time.Unix(c.Again, 0)
	}
	done = func() error { return nil }
	if c.Listed > 0 {
		out.Listed = time.Unix(c.Listed, 0)
	}
	if c.Again > 0 || c.Body == record.NoBody {
		packed, err := archive.PackCapture(&k.warc, out, nil)
		return packed, done, err
	}
	if c.Body == record.BlobBody {
		return k.packBlob(c, out)
	}
	body, err := k.src.document(k.frames, c)
	if err != nil {
		return nil, done, err
	}
	if isPage(c.MIME) {
		out.Title = text.Title(body, c.Charset)
		if k.src.texts {
			_, out.Text = text.Page(body, c.Charset, true)
		}
	}
	packed, err := archive.PackCapture(&k.warc, out, bytes.NewReader(body))
	return packed, func() error { k.frames.Release(); return nil }, err
}

// annotate adds the fields of ours.
func (c *planned) annotate(out *archive.Capture) {
	add := func(name, value string) {
		out.Fields = append(out.Fields, warc.HeaderField{Name: name, Value: value})
	}
	if c.Made {
		add(warc.FieldHead, warc.HeadMade)
	}
	if c.Added {
		add(warc.FieldHead, warc.HeadLength)
	}
	if c.Source != "" {
		add(warc.FieldSource, c.Source)
	}
	if c.Kept > 0 {
		add(warc.FieldKept, time.Unix(c.Kept, 0).UTC().Format(time.RFC3339))
	}
}

// packBlob packs a body that is a file of its own. A large one is read when the capture is added.
func (k *capturePacker) packBlob(c *planned, out *archive.Capture) (
	_ *archive.PackedCapture, done func() error, err error) {
	f, err := k.src.bodies.OpenFile(c.Digest)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("body of %s: %w: its blob is missing", c.URL, disk.ErrDamaged)
	}
	if err != nil {
		return nil, nil, err
	}
	r := &checkedBody{r: f, h: sha256.New()}
	done = func() error {
		err := f.Close()
		if !bytes.Equal(r.h.Sum(nil), c.Digest[:]) {
			err = errors.Join(err, fmt.Errorf("body of %s: %w: it has another digest", c.URL, disk.ErrDamaged))
		}
		return err
	}
	packed, err := archive.PackCapture(&k.warc, out, r)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return packed, done, nil
}

// checkedBody computes the digest of the bytes read.
type checkedBody struct {
	r io.Reader
	h hash.Hash
}

func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.h.Write(p[:n])
	return n, err
}

// captureSource is where bodies of captures are read. It is safe for concurrent use.
type captureSource struct {
	st     *store.State
	name   string
	bodies *blobs.Blobs
	texts  bool // what pages say is wanted

	mu   sync.Mutex // guards what follows
	docs *bodies.Packs
	old  []*bodies.Packs // that docs replaced
}

// document reads a document. One whose pack was compacted away meanwhile is looked up again.
func (s *captureSource) document(r *bodies.FrameReader, c *planned) ([]byte, error) {
	s.mu.Lock()
	docs := s.docs
	s.mu.Unlock()
	body, err := readDocument(docs, r, c)
	if !errors.Is(err, disk.ErrDamaged) {
		return body, err
	}
	if docs, at, ok := s.again(c); ok {
		moved := *c
		moved.At = at
		return readDocument(docs, r, &moved)
	}
	return nil, err
}

func readDocument(docs *bodies.Packs, r *bodies.FrameReader, c *planned) ([]byte, error) {
	f, err := docs.ReadFrame(r, c.At)
	if err != nil {
		return nil, fmt.Errorf("body of %s: %w", c.URL, err)
	}
	if sha256.Sum256(f.Body) != c.Digest {
		return nil, fmt.Errorf("body of %s: %w: it has another digest", c.URL, disk.ErrDamaged)
	}
	return f.Body, nil
}

// again finds where a body lies now.
func (s *captureSource) again(c *planned) (docs *bodies.Packs, at record.Place, ok bool) {
	err := env.View(s.st, s.name, func(v *store.Site) error {
		all, err := v.Versions.History(site.Canonical(c.URL))
		if err != nil {
			return err
		}
		for i := range all {
			rec := &all[i].Record
			if all[i].Known && rec.Body == record.PackBody && rec.Digest == c.Digest {
				at, ok = rec.At, true
			}
		}
		docs, err = s.st.Documents(s.name)
		return err
	})
	if err != nil {
		return nil, at, false // the first error says more
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = append(s.old, s.docs)
	s.docs = docs
	return docs, at, ok
}

func (s *captureSource) close() (err error) {
	for _, d := range append(s.old, s.docs) {
		err = errors.Join(err, d.Close())
	}
	return err
}

// batch is captures that one worker packs.
type batch struct {
	captures []*planned
	size     int64 // bytes of their bodies
	packed   []*archive.PackedCapture
}

// Workers get captures in batches, so that documents of a bundle are packed by the one that has unpacked it.
const (
	batchSize = 128 << 10 // bytes from which on a batch ends with its bundle
	batchMost = 64        // captures
	onTheWay  = 16 << 20  // bytes of batches at a time
)

// takes reports whether a batch includes a capture.
func (b *batch) takes(c *planned) bool {
	n := len(b.captures)
	if n == 0 {
		return true
	}
	last := b.captures[n-1]
	same := c.Body == record.PackBody && last.Body == c.Body && last.At.Pack == c.At.Pack
	same = same && last.At.Off == c.At.Off
	return n < batchMost && b.size+c.Size <= archive.MemberSize && (same || b.size < batchSize)
}

// pack packs the captures of a batch, as far as that succeeds.
func (b *batch) pack(k *capturePacker) error {
	for _, c := range b.captures {
		packed, done, err := k.pack(c)
		if err == nil {
			err = done()
		}
		if err != nil {
			return err
		}
		b.packed = append(b.packed, packed)
	}
	return nil
}

// packAll packs the captures of a plan on all cores and adds them in their order. Large ones are packed one
// at a time.
func (s *captureSource) packAll(
	ctx context.Context, plan *capturePlan, add func(*planned, *archive.PackedCapture) error,
) error {
	lane := inorder.New(report.AllCores(), onTheWay, func(b *batch, err error) error {
		for i, packed := range b.packed {
			if err := add(b.captures[i], packed); err != nil {
				return err
			}
		}
		return err
	})
	defer lane.Close()
	packers := make([]*capturePacker, lane.Workers())
	for i := range packers {
		packers[i] = s.packer(false)
	}
	large := s.packer(true)
	next := new(batch)
	flush := func() error {
		b := next
		next = new(batch)
		return lane.Add(b.size, func(worker int) (*batch, error) { return b, b.pack(packers[worker]) })
	}
	err := plan.each(func(c *planned) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		isLarge := c.Size > archive.MemberSize
		if isLarge || !next.takes(c) {
			if err := flush(); err != nil {
				return err
			}
		}
		if isLarge {
			if err := lane.Flush(); err != nil {
				return err
			}
			return addLarge(large, c, add)
		}
		next.captures, next.size = append(next.captures, c), next.size+c.Size
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = lane.Flush()
	}
	return err
}

// addLarge packs and adds a capture that is not held in memory.
func addLarge(k *capturePacker, c *planned, add func(*planned, *archive.PackedCapture) error) error {
	packed, done, err := k.pack(c)
	if err != nil {
		return err
	}
	if err := add(c, packed); err != nil {
		derr := done()
		if errors.Is(err, warc.ErrLength) {
			return errors.Join(err, derr)
		}
		return err // of a body that was not read to its end, the digest says nothing
	}
	return done()
}
