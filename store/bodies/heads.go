// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"sync"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// The heads of answers (package heads) lie in bundles in files of their own, of which the last one is
// appended to. Folding adds the heads of a part of the journal in the order of their URLs, so that heads like
// one another share a bundle. A head costs 30 to 60 bytes in a bundle of 64, beside its random bytes. Bundles
// are appended and synced before the records that refer to them are committed; what lies behind the last
// committed one is cut off before the next is written.
const (
	headsAtOnce  = 1 << 6   // heads of a bundle: 6 bits of a place are the number of the head in it
	headsBytes   = 32 << 10 // bytes of heads after which a bundle is full
	headsCached  = 16       // bundles that were read last
	maxHeads     = 8 << 20  // bytes of a bundle that are believed
	maxAnswers   = 64 << 20 // bytes of the heads of a batch that are believed
	headsBegin   = 4        // bytes of the sum of the URL
	maxHeadsFile = 1 << 56  // bytes of a file: it is not followed by another one when it is full
)

// HeadFiles are the files of heads of one site. Reads may run beside the one writer.
type HeadFiles struct {
	*Packs

	mu sync.Mutex
	r  *FrameReader

	enc  *frameEncoder // of the site
	raw  []byte        // of the bundle to come
	ends []uint32
	grew bool  // since the last flush
	err  error // of the first bundle since that was not written
}

// OpenHeads opens the files of heads in the folder of a site. They are encoded as the frames are.
func (s *Frames) OpenHeads(site *os.Root) (*HeadFiles, error) {
	own, err := site.OpenRoot(".")
	if err != nil {
		return nil, disk.Err("open heads", err)
	}
	p := Open(own, nil)
	p.name, p.Max = HeadsFile, maxHeadsFile
	p.unpacked.most = headsCached
	return &HeadFiles{Packs: p, r: NewFrameReader(), enc: &s.encoder}, nil
}

// HeadsFile is the name of the file of heads with a number.
func HeadsFile(n uint32) string { return fmt.Sprintf("heads.%d", n) }

// Read reads the head of an answer for a URL. One that cannot be read is ErrDamaged.
func (f *HeadFiles) Read(url string, at record.HeadPlace) (h *heads.Head, err error) {
	if at.IsZero() {
		return nil, fmt.Errorf("head of %s: %w: missing", url, disk.ErrDamaged)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	magic, err := f.magic(at.File)
	switch {
	case err != nil:
	case magic == olderMagic:
		h, err = f.readOlder(url, at)
	default:
		h, err = f.readBundled(url, at)
	}
	if err != nil {
		return nil, fmt.Errorf("head of %s in %s at %d: %w", url, HeadsFile(at.File), at.Off, err)
	}
	return h, nil
}

func (f *HeadFiles) readBundled(url string, at record.HeadPlace) (*heads.Head, error) {
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
func (f *HeadFiles) stored(at record.HeadPlace) ([]byte, error) {
	doc := uint32(at.Off%headsAtOnce) + 1
	if num, size := f.Where(); at.File == num && at.Off/headsAtOnce == size {
		if from, to, ok := (&bundleIndex{ends: f.ends}).bounds(doc); ok {
			return f.raw[from:to], nil
		}
	}
	p, err := f.bundle(at)
	if err != nil {
		return nil, err
	}
	return f.document(f.r, p)
}

// bundle returns the place of a head in its bundle, whose length is believed.
func (f *HeadFiles) bundle(at record.HeadPlace) (record.Place, error) {
	var header [HeaderSize]byte
	p := record.Place{
		Pack: at.File,
		Off:  at.Off / headsAtOnce,
		Len:  HeaderSize,
		Doc:  uint32(at.Off%headsAtOnce) + 1,
	}
	file, err := f.open(p)
	if err != nil {
		return p, err
	}
	if _, err := file.ReadAt(header[:], p.Off); err == io.EOF {
		return p, fmt.Errorf("%w: the file ends before it", disk.ErrDamaged)
	} else if err != nil {
		return p, disk.ReadErr("read heads", err)
	}
	p.Len += binary.LittleEndian.Uint32(header[4:])
	if p.Len < HeaderSize || p.Len > maxHeads {
		return p, fmt.Errorf("%w: %d bytes of heads", disk.ErrDamaged, p.Len)
	}
	return p, nil
}

// Begin makes the last file, of which Flush made the note, ready for appending. One that is damaged, or of an
// older version, is left to be read, and a new one begun.
func (f *HeadFiles) Begin(note []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w != nil {
		return nil
	}
	d := binread.Reader{Rest: note}
	num, size := uint32(d.Uvarint()), int64(d.Uvarint())
	if size > 0 {
		if magic, err := f.magic(num); err != nil || magic != bundleMagic {
			num, size = num+1, 0
		}
	}
	return f.Packs.Begin(num, size)
}

// Add appends a head of a URL and returns its place. What fails is an error of Flush.
func (f *HeadFiles) Add(url string, h *heads.Head) record.HeadPlace {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ends) == headsAtOnce || len(f.raw) > headsBytes {
		f.write()
	}
	num, size := f.Where()
	f.raw = binary.LittleEndian.AppendUint32(f.raw, crc32.Checksum([]byte(url), castagnoli))
	f.raw = h.Append(f.raw)
	f.ends = append(f.ends, uint32(len(f.raw)))
	return record.HeadPlace{File: num, Off: size*headsAtOnce + int64(len(f.ends)-1)}
}

// write appends the bundle to come. Its heads have their places already.
func (f *HeadFiles) write() {
	num, size := f.Where()
	at, err := f.Packs.Append(f.enc.bundle(nil, f.raw, f.ends))
	if err == nil && (at.Pack != num || at.Off != size) {
		err = disk.Err("write heads", errors.New("the end of the file cannot be read"))
	}
	if f.grew = true; f.err == nil {
		f.err = err
	}
	f.raw, f.ends = f.raw[:0], f.ends[:0]
}

// Flush writes what was added, and returns what the database is to note of it: a number and a size; nil when
// that is as it was.
func (f *HeadFiles) Flush() (note []byte, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ends) > 0 {
		f.write()
	}
	err = f.err
	if f.err = nil; err != nil || !f.grew {
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, err
	}
	f.grew = false
	num, size := f.Where()
	return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(num)), uint64(size)), nil
}

// Bundled returns the place of a head that was read in its bundle; false says that an older version wrote it.
func (f *HeadFiles) Bundled(at record.HeadPlace) (record.Place, bool) {
	if magic, err := f.magic(at.File); err != nil || magic == olderMagic {
		return record.Place{}, false
	}
	p, err := f.bundle(at)
	return p, err == nil
}

func (f *HeadFiles) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Packs.Close()
}

// Place decides which heads a record refers to after an answer, and appends new ones. old is the record
// before, nil for none. The places that r has are not looked at: a record that waited in the journal may be
// older than what was moved since.
func (f *HeadFiles) Place(r, old *record.Resource, answer []byte) {
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
			r.Head, r.HeadSum = f.Add(url, h), 0
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
func (f *HeadFiles) again(url string, h *heads.Head, was record.HeadPlace) record.HeadPlace {
	switch now, err := f.news(url, h, was); {
	case err == nil && now == nil:
		return was
	case err == nil:
		return f.Add(url, now)
	case h.Code() == http.StatusNotModified: // it has too few fields of the response with the body
		return record.HeadPlace{}
	}
	return f.Add(url, h) // missing, or lost
}

// news returns what the head at a place becomes by an answer; nil when that says nothing new.
func (f *HeadFiles) news(url string, h *heads.Head, was record.HeadPlace) (*heads.Head, error) {
	prev, err := f.Read(url, was)
	if err != nil {
		return nil, err
	}
	now, changed := h, !prev.Same(h)
	if h.Code() == http.StatusNotModified {
		now, changed = prev.Freshened(h)
	}
	if !changed {
		return nil, nil
	}
	return now, nil
}

// Knows reports whether Place would keep the head of a record after an answer that found the body as it was.
// The record may have no sum of such an answer: learning one is no reason to write each record of a site
// again.
func (f *HeadFiles) Knows(r *record.Resource, h *heads.Head) bool {
	if r.Head.IsZero() && h.Code() == http.StatusNotModified {
		return true
	}
	now, err := f.news(r.URL.String(), h, r.Head)
	return err == nil && now == nil
}
