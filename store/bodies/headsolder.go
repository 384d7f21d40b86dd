// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Older versions wrote files of heads that are differences. They are read, and gc writes their heads again:
//
//	header  8 bytes: "mHd", 1, 4 zeros
//	entries one after the other: uvarint bytes of the payload; crc32c of the URL and the head, 4 bytes little
//	        endian; the payload:
//	        uvarint bytes from the beginning of the base entry to that of this one, 0 for none; the head, coded
//	        over the base's (heads.DecodeOlder)
//
// A HeadPlace in such a file has the offset of the entry.
const (
	olderMagic = "mHd\x01"
	olderRead  = 128     // bytes: most entries have less
	olderEntry = 1 << 20 // bytes of a payload that is believed
	olderDepth = 4       // bases below one another
)

func (f *HeadFiles) readOlder(url string, at record.HeadPlace) (*heads.Head, error) {
	file, err := f.File(at.File)
	if err != nil {
		return nil, disk.ReadErr("read heads", err)
	}
	sum, h, err := olderHead(file, at.Off, olderDepth)
	if err != nil {
		return nil, err
	}
	buf := append(append(make([]byte, 0, 1024), url...), '\n')
	if h.Normalised {
		buf = append(buf, '\n')
	}
	buf = append(append(buf, h.Status...), '\n')
	for _, f := range h.Fields {
		buf = append(append(buf, f.Name...), ':')
		buf = append(append(buf, f.Value...), '\n')
	}
	if crc32.Checksum(buf, castagnoli) != sum {
		return nil, fmt.Errorf("checksum: %w", disk.ErrDamaged)
	}
	return h, nil
}

// olderHead reads the head of an entry that has so many bases at most.
func olderHead(file *os.File, off int64, depth int) (sum uint32, h *heads.Head, err error) {
	b := make([]byte, olderRead)
	n, err := file.ReadAt(b, off)
	length, k := binary.Uvarint(b[:n])
	if k > 0 && length <= olderEntry && k+4+int(length) > n {
		b = make([]byte, k+4+int(length))
		n, err = file.ReadAt(b, off)
	}
	if err != nil && err != io.EOF {
		return 0, nil, disk.ReadErr("read heads", err)
	}
	if k <= 0 || length > olderEntry || k+4+int(length) > n {
		return 0, nil, fmt.Errorf("length: %w", disk.ErrDamaged)
	}
	d := binread.Reader{Rest: b[k+4:][:length]}
	dist := d.Uvarint()
	if d.Bad || dist > uint64(off) || (dist > 0 && depth == 0) {
		return 0, nil, fmt.Errorf("base: %w", disk.ErrDamaged)
	}
	var base *heads.Head
	if dist > 0 {
		if _, base, err = olderHead(file, off-int64(dist), depth-1); err != nil {
			return 0, nil, err
		}
	}
	if h, err = heads.DecodeOlder(d.Rest, base); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", disk.ErrDamaged, err)
	}
	return binary.LittleEndian.Uint32(b[k:]), h, nil
}
