// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"strings"

	"mirrord/replica/text"
)

// Address is where a page lies.
type Address struct{ Host, Path string }

// dirOf is a path's directory, with its slash at the end.
func dirOf(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// A page's record: the fingerprint of its words, its sketch, the number of its words; where in names its
// address begins, how long host and path are.
const (
	digestSize = 8 + text.Bins + 4
	pageSize   = digestSize + 8 + 4 + 4
)

// keepPage adds a page to those that are read again.
func (f *Finder) keepPage(a Address, d *text.ContentDigest) error {
	b := append(binary.LittleEndian.AppendUint64(f.record[:0], d.Text), d.Sketch[:]...)
	b = binary.LittleEndian.AppendUint32(b, d.Words)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.names.len()))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Host)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Path)))
	f.record = b
	if err := f.names.add([]byte(a.Host + a.Path)); err != nil {
		return err
	}
	return f.records.add(b)
}

// placeOf is where in names the address of a page is.
func placeOf(record []byte) (from int64, host, path int) {
	return int64(binary.LittleEndian.Uint64(record)), int(binary.LittleEndian.Uint32(record[8:])),
		int(binary.LittleEndian.Uint32(record[12:]))
}

// address reads that of a page.
func (f *Finder) address(page uint32) (Address, error) {
	var b [pageSize - digestSize]byte
	if _, err := f.records.ReadAt(b[:], int64(page)*pageSize+digestSize); err != nil {
		return Address{}, err
	}
	from, host, path := placeOf(b[:])
	name := make([]byte, host+path)
	if _, err := f.names.ReadAt(name, from); err != nil {
		return Address{}, err
	}
	return Address{string(name[:host]), string(name[host:])}, f.tick(1)
}

// eachPage reads all pages once more. The digest may be used until each returns.
func (f *Finder) eachPage(phase string, each func(a Address, digest []byte) error) error {
	if err := f.begin(phase, f.pages); err != nil {
		return err
	}
	records := f.records.reader()
	names := f.names.reader()
	for f.done = 0; f.done < f.pages; f.done++ {
		record, err := take(records, pageSize)
		if err != nil {
			return err
		}
		_, host, path := placeOf(record[digestSize:])
		name, err := take(names, host+path)
		if err != nil {
			return err
		}
		if err := each(Address{string(name[:host]), string(name[host:])}, record[:digestSize]); err != nil {
			return err
		}
		if err := f.tick(1); err != nil {
			return err
		}
	}
	return nil
}
