// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"bytes"
	"context"
	"sync"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/testing/storetest"
)

// Records is storetest.Records without heads of answers.
type Records struct{ storetest.Records }

// ReadHead returns a head without fields.
func (*Records) ReadHead(site.URL, record.HeadPlace) (*heads.Head, error) {
	return new(heads.Head), nil
}

// Frames has documents in memory. It is safe for concurrent use; the zero value is empty.
type Frames struct {
	mu     sync.Mutex
	frames []bodies.Frame
}

func (f *Frames) add(links, body []byte) (record.Place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frames = append(f.frames, bodies.Frame{Links: bytes.Clone(links), Body: bytes.Clone(body)})
	return record.Place{Pack: 1, Off: int64(len(f.frames)), Len: 1}, nil
}

// ReadFrame returns a document; store.ErrDamaged without one at the place.
func (f *Frames) ReadFrame(_ *bodies.FrameReader, at record.Place) (bodies.Frame, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at.Off < 1 || at.Off > int64(len(f.frames)) {
		return bodies.Frame{}, disk.ErrDamaged
	}
	return f.frames[at.Off-1], nil
}

// OneOff is false: digests are complete ones.
func (*Frames) OneOff() bool { return false }

// NewFrameWriter returns a writer that nothing uses.
func (*Frames) NewFrameWriter() *bodies.FrameWriter { return new(bodies.FrameWriter) }

// GatherFrame stores a document.
func (f *Frames) GatherFrame(
	_ *bodies.FrameWriter, _ bodies.FrameMeta, links, body []byte,
) (record.Place, error) {
	return f.add(links, body)
}

// AppendFrameOver stores a document in full.
func (f *Frames) AppendFrameOver(
	_ *bodies.FrameWriter, _ bodies.FrameMeta, links, body []byte, _, _ record.Place,
) (record.Place, error) {
	return f.add(links, body)
}

// noParts keeps no beginnings of bodies.
type noParts struct{}

func (noParts) Keep(*blobs.BlobWriter, string, []byte) error { return nil }

func (noParts) Take(context.Context, string) (*blobs.BlobWriter, []byte, error) { return nil, nil, nil }
