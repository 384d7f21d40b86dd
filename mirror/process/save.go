// SPDX-License-Identifier: Apache-2.0

package process

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"mirrord/mirror/urls"
	"mirrord/replica/text"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/pages"
	"mirrord/store/record"
)

// Frames stores documents and reads them. *bodies.Frames is one. It is safe for concurrent use, each writer
// and reader by one caller at a time.
type Frames interface {
	ReadFrame(r *bodies.FrameReader, at record.Place) (bodies.Frame, error)
	OneOff() bool // digests of pages may be quick ones
	NewFrameWriter() *bodies.FrameWriter
	GatherFrame(w *bodies.FrameWriter, m bodies.FrameMeta, links, body []byte) (record.Place, error)
	AppendFrameOver(
		w *bodies.FrameWriter,
		m bodies.FrameMeta,
		links, body []byte,
		old, like record.Place,
	) (record.Place, error)
}

// Bodies stores bodies that are no documents. It is safe for concurrent use.
type Bodies interface {
	Put(digest [32]byte, body []byte, modified time.Time) error
}

// StoredBodies reads bodies that are no documents. *blobs.Blobs does. It is safe for concurrent use.
type StoredBodies interface {
	Open(digest [32]byte, n int64) (io.ReadCloser, error) // the first n bytes
}

// Options are what a Saver works with. All but Texts are needed; the functions are safe for concurrent
// use.
type SaverOptions struct {
	Frames Frames
	Bodies Bodies
	Texts  func() (*pages.Texts, error) // nil: pages that say the same are not looked for
	Get    func(site.URL) (record.Resource, bool, error)
	URL    func(id uint32) site.URL
	InSet  func(id uint32) bool // whether a page is in the mirror as far as is known
	Run    int
	Log    *slog.Logger
	Failed func(error) // pages that say the same are no longer looked for
}

// Saver stores bodies. It is safe for concurrent use.
type Saver struct {
	SaverOptions
	seen contentSeen

	mu   sync.Mutex
	like *bodies.FrameWriter // writes the documents that say what others say; nil until there is one
}

// New returns a Saver.
func NewSaver(o SaverOptions) *Saver {
	k := &Saver{SaverOptions: o}
	k.seen.o = &k.SaverOptions
	return k
}

// Close ends the work.
func (k *Saver) Close() { k.seen.end() }

// Page is a body on its way into the store.
type Page struct {
	Now, Old *record.Resource // its record, and the one that it takes the place of
	Body     []byte
	Links    []byte           // of a document, encoded
	Said     func() text.Said // finds out what it says; nil when it has no words
}

// Document stores a document, and notes in its record where it lies and which page says the same. The tally
// counts that.
func (k *Saver) Document(w *bodies.FrameWriter, p *Page) (urls.Tally, error) {
	said := k.seen.look(p)
	at, err := k.append(w, p, said.over)
	if err != nil {
		return 0, err
	}
	p.Now.Body, p.Now.At = record.PackBody, at
	k.seen.stored(p.Now)
	return said.tally, nil
}

// Blob stores a body that is no document. modified is the time of the stored file.
func (k *Saver) Blob(p *Page, modified time.Time) (urls.Tally, error) {
	said := k.seen.look(p)
	if err := k.Bodies.Put(p.Now.Digest, p.Body, modified); err != nil {
		return 0, err
	}
	p.Now.Body = record.BlobBody
	return said.tally, nil
}

// append stores a document: as what differs from the one that it takes the place of, or from one that says
// the same, at like, where that is little; else in full.
func (k *Saver) append(w *bodies.FrameWriter, p *Page, like record.Place) (at record.Place, err error) {
	var old record.Place
	if p.Old.Body == record.PackBody {
		old = p.Old.At
	}
	m := bodies.FrameMetaOf(p.Now)
	switch {
	case like.Len > 0:
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.like == nil {
			k.like = k.Frames.NewFrameWriter()
		}
		w = k.like
	case old.Len == 0:
		return k.Frames.GatherFrame(w, m, p.Links, p.Body)
	}
	return k.Frames.AppendFrameOver(w, m, p.Links, p.Body, old, like)
}
