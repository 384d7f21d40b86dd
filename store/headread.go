// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
)

// chain reads an entry and those that it is over, the lowest first. Bases are stored before the entries
// over them.
func (f *headFiles) chain(url string, at HeadPlace) (chain []placedHead, err error) {
	var coded [headDepth + 1][]byte
	var offs [headDepth + 1]int64
	var want uint32
	var h *heads.Head
	n := 0
	for ; ; n++ {
		if m := f.model(at); m != nil && n > 0 { // read before
			h = m
			chain = append(chain, placedHead{at.Off, 0, h})
			n--
			break
		}
		sum, payload, err := f.entry(at)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			want = sum
		}
		d := binread.Reader{Rest: payload}
		dist := d.Uvarint()
		if d.Bad || dist > uint64(at.Off) || (dist > 0 && n == headDepth) {
			return nil, fmt.Errorf("base: %w", ErrDamaged)
		}
		if coded[n], offs[n] = d.Rest, at.Off; dist == 0 {
			break
		}
		at.Off -= int64(dist)
	}
	for i := n; i >= 0; i-- {
		if h, err = heads.Decode(coded[i], h); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		chain = append(chain, placedHead{offs[i], len(chain), h})
	}
	if headSum(url, h) != want {
		return nil, fmt.Errorf("checksum: %w", ErrDamaged)
	}
	return chain, nil
}

// model returns the head in full at a place, if that is known.
func (f *headFiles) model(at HeadPlace) *heads.Head {
	for _, m := range f.models {
		if f.w != nil && at.File == f.num && m.off == at.Off {
			return m.head
		}
	}
	return nil
}

// headSum is the checksum of a head of a URL.
func headSum(url string, h *heads.Head) uint32 {
	buf := make([]byte, 0, 1024)
	buf = append(append(buf, url...), '\n')
	if h.Normalised {
		buf = append(buf, '\n')
	}
	buf = append(append(buf, h.Status...), '\n')
	for _, f := range h.Fields {
		buf = append(append(buf, f.Name...), ':')
		buf = append(append(buf, f.Value...), '\n')
	}
	return crc32.Checksum(buf, castagnoli)
}

// entry reads what lies at a place, unchecked.
func (f *headFiles) entry(at HeadPlace) (sum uint32, payload []byte, err error) {
	if at.Off < headsHeader {
		return 0, nil, fmt.Errorf("offset: %w", ErrDamaged)
	}
	b := make([]byte, firstRead) // the payload outlives the call
	n, err := f.readAt(b, at)
	if err != nil {
		return 0, nil, err
	}
	length, k := binary.Uvarint(b[:n])
	if k <= 0 || length > maxHead {
		return 0, nil, fmt.Errorf("length: %w", ErrDamaged)
	}
	if whole := k + 4 + int(length); whole > n {
		b = make([]byte, whole)
		if n, err = f.readAt(b, at); err != nil {
			return 0, nil, err
		}
		if n < whole {
			return 0, nil, fmt.Errorf("%w: the file ends early", ErrDamaged)
		}
	}
	return binary.LittleEndian.Uint32(b[k:]), b[k+4:][:length], nil
}

// readAt reads what there is, also what was not written yet.
func (f *headFiles) readAt(b []byte, at HeadPlace) (int, error) {
	if written := f.size - int64(len(f.buf)); f.w != nil && at.File == f.num && at.Off >= written {
		if at.Off >= f.size {
			return 0, fmt.Errorf("%w: the file ends before it", ErrDamaged)
		}
		return copy(b, f.buf[at.Off-written:]), nil
	}
	file, err := f.file(at.File)
	if err != nil {
		return 0, err
	}
	n, err := file.ReadAt(b, at.Off)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("%w: %w", ErrDamaged, err) // a disk that does not give them: they are lost
	}
	return n, nil
}

// file opens a file of heads for reading.
func (f *headFiles) file(n uint32) (*os.File, error) {
	if file := f.files[n]; file != nil {
		return file, nil
	}
	file, err := f.root.Open(headsFile(n))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := checkHeads(file); err != nil {
		file.Close()
		return nil, err
	}
	f.files[n] = file
	return file, nil
}

// checkHeads reads the header of a file of heads.
func checkHeads(file *os.File) error {
	var b [headsHeader]byte
	if _, err := file.ReadAt(b[:], 0); err != nil || string(b[:len(headsMagic)]) != headsMagic {
		return fmt.Errorf("%w: it is no file of heads", ErrDamaged)
	}
	if v := b[len(headsMagic)]; v > headsVersion {
		return fmt.Errorf("%w: %w: heads of version %d, this one reads %d", ErrDamaged, ErrNewerFormat, v,
			headsVersion)
	}
	return nil
}
