// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// The heads of answers (package heads) lie in files of their own, "heads.1" and so on, of which the last one
// is appended to. They are bundles, as those of the packs, whose documents are
//
//	crc32c  4 bytes, little endian: of the URL
//	head    as heads.Head.Append writes it
//
// Folding adds the heads of a part of the journal in the order of their URLs, so that heads like one another
// share a bundle. A head costs 30 to 60 bytes in a bundle of 64, beside its random bytes. A record says where
// its heads lie. Bundles are appended and synced before the records that refer to them are committed; what
// lies behind the last committed one is cut off before the next is written.
const (
	headsName    = "heads."
	headsShift   = 6               // bits of a place that are the number of the head in its bundle
	headsAtOnce  = 1 << headsShift // heads of a bundle
	headsBytes   = 32 << 10        // bytes of heads after which a bundle is full
	headsCached  = 16              // bundles that were read last
	maxHeads     = 8 << 20         // bytes of a bundle that are believed
	maxAnswers   = 64 << 20        // bytes of the heads of a batch that are believed
	headsBegin   = 4               // bytes of the sum of the URL
	maxHeadsFile = 1 << 56         // bytes of a file: it is not followed by another one when it is full
)

// headFiles are the files of heads of one site. Reads may run beside the one writer.
type headFiles struct {
	mu    sync.Mutex
	packs *packs
	older map[uint32]bool // files of older versions, of those that were looked at
	r     *FrameReader    // nil before the first is read

	enc  *frameEncoder // of the site
	raw  []byte        // of the bundle to come
	ends []uint32
	grew bool  // since the last flush
	err  error // of the first bundle since that was not written
}

func openHeadFiles(root *os.Root) (*headFiles, error) {
	own, err := root.OpenRoot(".")
	if err != nil {
		return nil, disk.Err("open heads", err)
	}
	p := openPacks(own, nil)
	p.name, p.max = headsFile, maxHeadsFile
	p.unpacked.most = headsCached
	return &headFiles{packs: p, older: map[uint32]bool{}}, nil
}

func headsFile(n uint32) string { return fmt.Sprintf("%s%d", headsName, n) }

// ReadHead reads the head of an answer for a URL. One that cannot be read is ErrDamaged.
func (s *Records) ReadHead(u site.URL, at record.HeadPlace) (*heads.Head, error) {
	return s.heads.read(u.String(), at)
}

func (f *headFiles) read(url string, at record.HeadPlace) (h *heads.Head, err error) {
	if at.IsZero() {
		return nil, fmt.Errorf("head of %s: %w: missing", url, disk.ErrDamaged)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	older, err := f.isOlder(at.File)
	switch {
	case err != nil:
	case older:
		h, err = f.readOlder(url, at)
	default:
		h, err = f.readBundled(url, at)
	}
	if err != nil {
		return nil, fmt.Errorf("head of %s in %s at %d: %w", url, headsFile(at.File), at.Off, err)
	}
	return h, nil
}

func (f *headFiles) readBundled(url string, at record.HeadPlace) (*heads.Head, error) {
	b, err := f.stored(at)
	if err != nil {
		return nil, err
	}
	if len(b) < headsBegin || binary.LittleEndian.Uint32(b) != crc32.Checksum([]byte(url), castagnoli) {
		return nil, fmt.Errorf("%w: it is that of another URL", disk.ErrDamaged)
	}
	h, err := heads.Decode(b[headsBegin:])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	return h, nil
}

// stored returns what lies at a place, also when its bundle was not written yet. It is valid until the next
// call.
func (f *headFiles) stored(at record.HeadPlace) ([]byte, error) {
	doc := int(at.Off % headsAtOnce)
	if num, size := f.packs.where(); at.File == num && at.Off/headsAtOnce == size && doc < len(f.ends) {
		from := uint32(0)
		if doc > 0 {
			from = f.ends[doc-1]
		}
		return f.raw[from:f.ends[doc]], nil
	}
	p, err := f.bundle(at)
	if err != nil {
		return nil, err
	}
	if f.r == nil {
		f.r = NewFrameReader()
	}
	return f.packs.document(f.r, p)
}

// bundle returns the place of a head in its bundle, whose length is believed.
func (f *headFiles) bundle(at record.HeadPlace) (record.Place, error) {
	var header [frameHeader]byte
	p := record.Place{
		Pack: at.File,
		Off:  at.Off / headsAtOnce,
		Len:  frameHeader,
		Doc:  uint32(at.Off%headsAtOnce) + 1,
	}
	file, err := f.packs.open(p)
	if err != nil {
		return p, err
	}
	if _, err := file.ReadAt(header[:], p.Off); err == io.EOF {
		return p, fmt.Errorf("%w: the file ends before it", disk.ErrDamaged)
	} else if err != nil {
		return p, disk.ReadErr("read heads", err)
	}
	p.Len += binary.LittleEndian.Uint32(header[4:])
	if p.Len < frameHeader || p.Len > maxHeads {
		return p, fmt.Errorf("%w: %d bytes of heads", disk.ErrDamaged, p.Len)
	}
	return p, nil
}

// begin makes the last file ready for appending. One that is damaged, or of an older version, is left to be
// read, and a new one begun.
func (f *headFiles) begin(tx *db.Tx) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.packs.w != nil {
		return nil
	}
	d := binread.Reader{Rest: tx.Meta().Get(kHeads)}
	num, size := uint32(d.Uvarint()), int64(d.Uvarint())
	if size > 0 {
		if magic, err := f.packs.magic(num); err != nil || magic != bundleMagic {
			num, size = num+1, 0
		}
	}
	return f.packs.begin(num, size)
}

// add appends a head of a URL and returns its place. What fails is an error of flush.
func (f *headFiles) add(url string, h *heads.Head) record.HeadPlace {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ends) == headsAtOnce || len(f.raw) > headsBytes {
		f.write()
	}
	num, size := f.packs.where()
	f.raw = binary.LittleEndian.AppendUint32(f.raw, crc32.Checksum([]byte(url), castagnoli))
	f.raw = h.Append(f.raw)
	f.ends = append(f.ends, uint32(len(f.raw)))
	return record.HeadPlace{File: num, Off: size*headsAtOnce + int64(len(f.ends)-1)}
}

// write appends the bundle to come. Its heads have their places already.
func (f *headFiles) write() {
	num, size := f.packs.where()
	at, err := f.packs.append(f.enc.bundle(nil, f.raw, f.ends))
	if err == nil && (at.Pack != num || at.Off != size) {
		err = disk.Err("write heads", errors.New("the end of the file cannot be read"))
	}
	if f.grew = true; f.err == nil {
		f.err = err
	}
	f.raw, f.ends = f.raw[:0], f.ends[:0]
}

// flush writes what was added, and what site.db is to know of it.
func (f *headFiles) flush(tx *db.Tx) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ends) > 0 {
		f.write()
	}
	err := f.err
	if f.err = nil; err != nil || !f.grew {
		return err
	}
	if err := f.packs.sync(); err != nil {
		return err
	}
	f.grew = false
	num, size := f.packs.where()
	v := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num)), uint64(size))
	return tx.Meta().Put(kHeads, v)
}

// bundled returns the place of a head that was read in its bundle; false says that an older version wrote it.
func (f *headFiles) bundled(at record.HeadPlace) (record.Place, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.older[at.File] {
		return record.Place{}, false
	}
	p, err := f.bundle(at)
	return p, err == nil
}

// skip begins a file behind the one with a number, and returns the number of the file before it.
func (f *headFiles) skip(tx *db.Tx, last uint32) (before uint32, err error) {
	if err := f.begin(tx); err != nil {
		return 0, err
	}
	if err := f.flush(tx); err != nil {
		return 0, err
	}
	for {
		if before, _ = f.packs.where(); before >= last {
			return before, f.packs.finish()
		}
		if err := f.packs.finish(); err != nil {
			return 0, err
		}
	}
}

func (f *headFiles) remove(n uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.older, n)
	return f.packs.remove(n)
}

func (f *headFiles) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.packs.close()
}

// The heads of a batch of the journal follow its records: uvarint bytes, and a zstd frame of, for each
// document done, uvarint length and the head (heads.Head.Append); the length is 0 for an answer without one,
// and for one that says what the last one said (Resource.HeadSum). A batch without heads ends before.

// headZip packs and unpacks the heads of batches. It is made when the first one comes.
type headZip struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
	buf []byte
}

// appendHeads writes the heads of a batch behind it.
func (z *headZip) append(b []byte, done []*record.Done) []byte {
	z.buf = z.buf[:0]
	some := false
	var coded []byte
	for _, d := range done {
		coded = coded[:0]
		if d.Answer != nil && d.Answer.Size() <= heads.MaxSize && !d.SaysNothingNew() {
			coded, some = d.Answer.Append(coded), true
		}
		z.buf = binary.AppendUvarint(z.buf, uint64(len(coded)))
		z.buf = append(z.buf, coded...)
	}
	if !some || len(z.buf) > maxAnswers {
		return b
	}
	if z.enc == nil {
		var err error
		z.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true),
			zstd.WithWindowSize(64<<10), zstd.WithEncoderCRC(false))
		if err != nil {
			panic(err) // the options are constants
		}
	}
	frame := z.enc.EncodeAll(z.buf, nil)
	if cap(z.buf) > maxKept {
		z.buf = nil
	}
	b = binary.AppendUvarint(b, uint64(len(frame)))
	return append(b, frame...)
}

// read returns the coded heads of a batch, one for each document done; nil when there are none. Damaged
// ones are lost.
func (z *headZip) read(frame []byte, done int) ([][]byte, error) {
	if len(frame) == 0 {
		return nil, nil
	}
	if z.dec == nil {
		z.dec = newDecoder(maxAnswers)
	}
	buf, err := z.dec.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("heads of a batch: %w: %w", disk.ErrDamaged, err)
	}
	d := binread.Reader{Rest: buf}
	out := make([][]byte, done)
	for i := range out {
		out[i] = d.Bytes()
	}
	if d.Bad || len(d.Rest) > 0 {
		return nil, fmt.Errorf("heads of a batch: %w", disk.ErrDamaged)
	}
	return out, nil
}

// place decides which heads a record refers to after an answer, and appends new ones. old is the record
// before, nil for none. The places that r has are not looked at: a record that waited in the journal may be
// older than what was moved since.
func (f *headFiles) place(r, old *record.Resource, answer []byte) {
	var was record.Resource
	if old != nil {
		was = *old
	}
	r.Head, r.LastHead, r.HeadSum = was.Head, was.LastHead, was.HeadSum
	// a body that is gone, or another one
	if r.Body == record.NoBody || (old != nil && (old.Fetched != r.Fetched || old.Digest != r.Digest)) {
		r.Head, r.HeadSum = record.HeadPlace{}, 0
	}
	var h *heads.Head
	url := ""
	if len(answer) > 0 {
		h, _ = heads.Decode(answer) // nil: it is damaged, and lost
		url = r.URL.String()
	}
	switch r.Outcome {
	case site.Fetched:
		r.LastHead = record.HeadPlace{}
		if h != nil {
			r.Head, r.HeadSum = f.add(url, h), 0
		}
	case site.Unchanged:
		r.LastHead = record.HeadPlace{}
		if h != nil {
			if r.Head, r.HeadSum = f.again(url, h, was.Head), 0; !r.Head.IsZero() {
				r.HeadSum = h.Sum()
			}
		}
	case site.Redirected, site.Gone, site.Failed:
		// what was decided later, not a new answer
		amended := old != nil && old.Run == r.Run && old.Checked == r.Checked
		if h != nil {
			r.LastHead = f.again(url, h, was.LastHead)
		} else if !amended {
			r.LastHead = record.HeadPlace{}
		}
	}
}

// again returns the place of a head when the URL had one at a place before: that, as long as the answer says
// nothing new.
func (f *headFiles) again(url string, h *heads.Head, was record.HeadPlace) record.HeadPlace {
	prev, err := f.read(url, was)
	notModified := h.Code() == http.StatusNotModified
	switch {
	case err != nil && notModified: // it has too few fields of the response with the body
		return record.HeadPlace{}
	case err != nil: // missing, or lost
		return f.add(url, h)
	case notModified:
		now, changed := prev.Freshened(h)
		if !changed {
			return was
		}
		h = now
	case prev.Same(h):
		return was
	}
	return f.add(url, h)
}

// knows reports whether place would keep the head of a record after an answer that found the body as it was.
// The record may have no sum of such an answer: learning one is no reason to write each record of a site
// again.
func (f *headFiles) knows(r *record.Resource, h *heads.Head) bool {
	if r.Head.IsZero() && h.Code() == http.StatusNotModified {
		return true
	}
	prev, err := f.read(r.URL.String(), r.Head)
	switch {
	case err != nil:
		return false
	case h.Code() == http.StatusNotModified:
		_, changed := prev.Freshened(h)
		return !changed
	}
	return prev.Same(h)
}
