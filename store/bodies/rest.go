// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"os"
	"slices"

	"mirrord/internal/binread"
	"mirrord/relocate"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// A rest is the part of a one-off mirror's document that its published file lacks: its links, and what
// relocation replaced. The digest of the document, a quick one, says whether the file is still what it was.
const (
	restMagic  = "mPo2"
	olderRests = "mPo1" // which had the digest in the head of the document alone
)

func isRest(raw []byte) bool {
	return string(raw[:4]) == restMagic || string(raw[:4]) == olderRests
}

// Rest returns the frame of the rest of a document whose published file lies at a path. It is valid until the
// next call.
func (w *FrameWriter) Rest(path string, f *Frame, spans []relocate.Span) []byte {
	w.letGo()
	digest := record.QuickDigest(f.Body)
	n := HeaderSize + len(path) + len(digest) + len(f.Meta) + len(f.Links) + 4*binary.MaxVarintLen64
	b := slices.Grow(w.buf[:0], n)[:HeaderSize]
	b = append(binread.AppendString(b, path), digest[:]...)
	for _, x := range [][]byte{f.Meta, f.Links} {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	b = binary.AppendUvarint(b, uint64(len(spans)))
	end := int32(0)
	for _, s := range spans {
		b = binary.AppendUvarint(b, uint64(s.At-end))
		b = binary.AppendUvarint(b, uint64(s.To-s.At))
		b = binary.AppendUvarint(b, uint64(s.End-s.Start))
		b = append(b, f.Body[s.Start:s.End]...)
		end = s.To
	}
	w.buf = b
	payload := b[HeaderSize:]
	w.out = appendS2(slices.Grow(w.out[:0], roomForS2(payload)), restMagic, payload)
	return w.out
}

// rest makes the payload of a full frame of a rest and the published file that it belongs to, of which only a
// part is in memory. It is valid until r is used again.
func (r *FrameReader) rest(p *Packs, raw []byte) ([]byte, error) {
	packed, err := r.unpackS2(raw[HeaderSize:])
	if err != nil {
		return nil, err
	}
	d := binread.Reader{Rest: packed}
	path := d.Text()
	var want [32]byte
	if string(raw[:4]) == restMagic {
		copy(want[:], d.Take(len(want)))
	}
	meta, links := d.Bytes(), d.Bytes()
	if string(raw[:4]) == olderRests {
		var m olderMeta
		if json.Unmarshal(meta, &m) == nil && len(m.Digest) == 2*len(want) {
			_, err = hex.Decode(want[:], []byte(m.Digest))
		}
	}
	if d.Bad || err != nil || want == [32]byte{} {
		return nil, fmt.Errorf("frame: %w: no rest of a document", disk.ErrDamaged)
	}
	file, size, err := p.publishedFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: the rest of it is %s in the mirror: %w", disk.ErrDamaged, path, err)
	}
	defer file.Close()
	room := len(packed) + int(size) // and little more, if a reference became shorter
	out := r.buffer(room)
	if out == nil {
		out = roomFor(&r.raw, room)
	}
	out = append(binary.AppendUvarint(out[:0], uint64(len(meta))), meta...)
	out = append(binary.AppendUvarint(out, uint64(len(links))), links...)
	begin := len(out)
	out, err = r.putBack(out, file, uint64(size), &d)
	r.raw = kept(out)
	switch {
	case d.Bad:
		return nil, fmt.Errorf("frame: %w: it does not fit %s in the mirror", disk.ErrDamaged, path)
	case err != nil:
		return nil, fmt.Errorf("%w: the rest of it is %s in the mirror: %w", disk.ErrDamaged, path, err)
	}
	if !record.IsDigestOf(want, out[begin:]) {
		return nil, fmt.Errorf("%w: %s in the mirror is not what was published", disk.ErrDamaged, path)
	}
	return out, nil
}

// putBack appends a published file of some bytes to out, with what relocation replaced as it was, which d
// reads. d is bad when that does not fit the file.
func (r *FrameReader) putBack(out []byte, file io.Reader, size uint64, d *binread.Reader) ([]byte, error) {
	if r.file == nil {
		r.file = bufio.NewReaderSize(nil, fileBuffer)
	}
	r.file.Reset(file)
	defer r.file.Reset(nil)
	pos := uint64(0)
	copyTo := func(to uint64) (err error) {
		n := len(out)
		out = slices.Grow(out, int(to-pos))[:n+int(to-pos)]
		_, err = io.ReadFull(r.file, out[n:])
		pos = to
		return err
	}
	for range d.Uvarint() {
		from := pos + d.Uvarint()
		to := from + d.Uvarint()
		was := d.Bytes()
		if d.Bad = d.Bad || from < pos || to < from || to > size; d.Bad {
			return out, nil
		}
		if err := copyTo(from); err != nil {
			return out, err
		}
		if _, err := r.file.Discard(int(to - from)); err != nil {
			return out, err
		}
		out, pos = append(out, was...), to
	}
	err := copyTo(size) // it changes out
	return out, err
}

// fileBuffer is how many bytes of a published file are buffered while it is converted.
const fileBuffer = 32 << 10

func (p *Packs) publishedFile(path string) (f *os.File, size int64, err error) {
	if p.Published == nil {
		return nil, 0, errors.New("nothing is published")
	}
	if f, err = p.Published(path); err != nil {
		return nil, 0, err
	}
	fi, err := f.Stat()
	if (err == nil) && (!fi.Mode().IsRegular() || fi.Size() > maxFrame) {
		err = fmt.Errorf("%s is no file of a document", path)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, fi.Size(), nil
}

// roomFor returns an empty buffer with capacity for n bytes. One that is to be kept is larger than it must
// be: one that grew a little with each of many documents would leave much to collect.
func roomFor(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = nil // gone before the new one comes
		if n <= maxKept {
			n = 1 << bits.Len(uint(n-1))
		}
		*b = make([]byte, 0, n)
	}
	return (*b)[:0]
}

// magic returns the first bytes of a pack, "" of an empty one.
func (p *Packs) magic(n uint32) (string, error) {
	f, err := p.File(n)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: it is missing", disk.ErrDamaged)
	}
	var b [4]byte
	if err == nil {
		_, err = f.ReadAt(b[:], 0)
	}
	if err == io.EOF {
		return "", nil
	}
	return string(b[:]), disk.ReadErr("read "+p.name(n), err)
}

// AsTheyCame lists the packs of documents as they came, which are the ones that rests take the place of.
func (p *Packs) AsTheyCame() (nums map[uint32]bool, err error) {
	all, err := disk.NumbersIn(p.root, ".", PackName)
	if err != nil {
		return nil, err
	}
	nums = map[uint32]bool{}
	last, _ := p.Where()
	for _, n := range all {
		if n > last { // left by a crash, and used again from its start
			continue
		}
		kind, err := p.magic(n)
		if err != nil {
			return nil, err
		}
		if kind == plainMagic {
			nums[n] = true
		}
	}
	return nums, nil
}

// Separate begins a pack where the last one has frames of another kind than documents as they came, or than
// rests when plain is false.
func (p *Packs) Separate(plain bool) error {
	num, size := p.Where()
	if size == 0 {
		return nil
	}
	kind, err := p.magic(num)
	if err != nil || (kind == plainMagic) == plain {
		return err
	}
	return p.Finish()
}

// AppendQuick appends the frame of a payload that Payload returned, in S2, without a buffer in the heap: of
// the memory only what the frame takes costs something.
func AppendQuick(p *Packs, payload []byte) (record.Place, error) {
	room, free, err := disk.Mapped(roomForS2(payload), false)
	if err != nil {
		return record.Place{}, fmt.Errorf("pack a document: %w", err)
	}
	defer free()
	return p.Append(appendS2(room[:0], quickMagic, payload))
}
