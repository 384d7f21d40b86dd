// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"time"

	"mirrord/cluster/depot"
	"mirrord/phm"
	"mirrord/replica/collections"
	"mirrord/replica/text"
	"mirrord/store"
	"mirrord/store/pages"
)

// The list of the pages of a mirror in a depot. It names digests that go there anyway, with the site's file
// of digests:
//
//	head   "mSl1", and the form of the digests (text.DigestForm) 4 bytes
//	pages  as in sitedigests.go, but for the digest: number of the entry of the file of digests, plus one,
//	       uvarint; or 0, and the digest
//	end    0, 0, the number of pages, uvarint; the checksum that the same pages have at the end of
//	       sitedigests.go, 4
//
// It is put in pieces that begin at pages whose addresses have a hash of a form: a page that comes or goes
// changes its piece. Before a piece no address is known. A page takes some 30 bytes, compressed 10.
const (
	pageListMagic = "mSl1"
	pieceOf       = 256 // pages, on average
	maxPiece      = 256 << 10
)

// pageListWriter writes the list.
type pageListWriter struct {
	said *siteDigestWriter // for its checksum
	put  func(piece []byte) error
	buf  []byte
	last string
}

func NewPageListWriter(put func(piece []byte) error) *pageListWriter {
	return &pageListWriter{
		said: NewSiteDigestWriter(io.Discard),
		put:  put,
		buf:  binary.LittleEndian.AppendUint32([]byte(pageListMagic), text.DigestForm),
	}
}

// Add adds a page; entry is that of the file of digests, plus one.
func (w *pageListWriter) Add(
	at collections.Address, modified time.Time, d *text.ContentDigest, entry uint32,
) error {
	before := w.said.n
	if err := w.said.Add(at, modified, d); err != nil || w.said.n == before {
		return err
	}
	address := at.Host + at.Path
	if crc32.Checksum([]byte(address), castagnoli)%pieceOf == 0 || len(w.buf) > maxPiece {
		if err := w.cut(); err != nil {
			return err
		}
	}
	w.buf = binary.AppendUvarint(appendAddress(w.buf, w.last, address, modified), uint64(entry))
	if w.last = address; entry == 0 {
		w.buf = appendDigest(w.buf, d)
	}
	return nil
}

// cut ends a piece.
func (w *pageListWriter) cut() error {
	err := w.put(w.buf)
	w.buf, w.last = w.buf[:0], ""
	return err
}

func (w *pageListWriter) End() error {
	if err := w.said.End(); err != nil {
		return err
	}
	w.buf = binary.AppendUvarint(append(w.buf, 0, 0), w.said.n)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, w.said.all)
	return w.cut()
}

// PageLister makes the lists of pages of the mirrors of a state. A mirror without one is asked for.
func PageLister(st *store.State, log *slog.Logger) depot.PageLister {
	return func(
		ctx context.Context, t *store.Travelling, put func([]byte) error,
	) (retrieved time.Time, err error) {
		if retrieved, err = ListPages(ctx, st, t, put); err != nil && ctx.Err() == nil {
			log.Warn("the depot does not get the list of a mirror's pages: nodes that look for replicas ask this one",
				"job", t.Name, "err", err)
		}
		return retrieved, err
	}
}

// ListPages puts the list of the pages of a site. Pages whose digests are not kept are read, and these are
// kept for the next time.
func ListPages(
	ctx context.Context, st *store.State, t *store.Travelling, put func([]byte) error,
) (retrieved time.Time, err error) {
	tree, err := t.Trees.Hold()
	if err != nil {
		return retrieved, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	meta, err := phm.OpenMeta(tree.FS())
	if err != nil {
		return retrieved, err
	}
	k := &keptDigests{state: st, name: t.Name}
	if k.live, err = t.Published(); err == nil && meta.Version != k.live {
		err = fmt.Errorf("version %d is being published", k.live)
	}
	if err != nil {
		return retrieved, err
	}
	for i := range t.Files {
		if f := &t.Files[i]; f.Name == pages.DigestsFile {
			k.file = pages.ReadDigests(f.File, f.Size())
			k.number()
		}
	}
	w := NewPageListWriter(put)
	sketcher := text.NewSketcher(text.SketchOptions{})
	r := &replicaPages{warn: func(string) {}}
	var batch []replicaPage
	flush := func() error {
		if err := k.lookIn(t.Site, batch, k.live); err != nil {
			return err
		}
		for i := range batch {
			p := &batch[i]
			if !p.known && !r.makeDigest(sketcher, p) {
				p.keep = false
				continue
			}
			if err := errors.Join(ctx.Err(), w.Add(p.at, p.file.modified, &p.digest.Digest, p.entry)); err != nil {
				return err
			}
		}
		k.keep(batch)
		batch = batch[:0]
		return nil
	}
	r.take = func(at collections.Address, file replicaFile) error {
		if batch = append(batch, replicaPage{at: at, file: file}); len(batch) == replicaBatch {
			return flush()
		}
		return nil
	}
	err = r.readDir(ctx, tree.FS())
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = w.End()
	}
	k.file = nil // the caller's
	return meta.Retrieved, errors.Join(err, k.close())
}

// SayPages writes what the pages of a list say, as writeSiteDigests does. digests is nil when there are none.
func SayPages(to io.Writer, list io.Reader, digests *os.File) error {
	var kept *pages.Digests
	if digests != nil {
		fi, err := digests.Stat()
		if err != nil {
			return err
		}
		kept = pages.ReadDigests(digests, fi.Size())
	}
	w := NewSiteDigestWriter(to)
	in := &summed{r: bufio.NewReaderSize(list, 64<<10)}
	digest := func(d *text.ContentDigest) error {
		entry, err := binary.ReadUvarint(in)
		if err != nil {
			return err
		}
		if entry == 0 {
			return in.digest(d)
		}
		if kept == nil || entry > uint64(kept.Len()) {
			return ErrSpoiltDigests
		}
		p, ok, err := kept.At(uint32(entry - 1))
		if err == nil && !ok {
			err = ErrSpoiltDigests
		}
		*d = p.Digest
		return err
	}
	sum := func() (uint32, error) {
		err := w.End()
		return w.all, err
	}
	_, err := in.pages(pageListMagic, digest, sum, func(p *PageSaid) error {
		return w.Add(p.At, p.Modified, &p.Digest)
	})
	return err
}
