// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/replica/collections"
	"mirrord/replica/text"
	"mirrord/store"
)

// What the pages of a mirror say, for machines that do not have it: addresses and digests, and no contents.
//
//	head   "mSd1", and the form of the digests (text.DigestForm) 4 bytes
//	pages  in the order of the file table. Address: how many bytes it begins with like the one before, uvarint,
//	       and the rest, uvarint and bytes; Last-Modified in seconds, uvarint, 0 for none; then
//	       text.ContentDigest: Text 8, Words 4, Sketch 128
//	end    0, 0, the number of pages, uvarint; CRC-32C of all before, 4
//
// Integers are little endian. A page takes some 160 bytes.
const (
	siteDigestsMagic = "mSd1"
	siteDigestsHead  = 8
	siteDigestBytes  = 8 + 4 + text.Bins
	maxSaidAddress   = 64 << 10
)

// ErrOtherDigests says that digests were made by another version, or are none.
var ErrOtherDigests = errors.New("the node has digests of another form: its mirrord is of another version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// PageSaid is a page of which only the digest is known.
type PageSaid struct {
	At       collections.Address
	Modified time.Time // zero: not known
	Digest   text.ContentDigest
}

// siteDigestWriter writes what the pages of a mirror say.
type siteDigestWriter struct {
	w    *bufio.Writer
	sum  hash.Hash32
	last string
	n    uint64
	buf  []byte
	all  uint32 // the checksum of all, after end
}

func NewSiteDigestWriter(w io.Writer) *siteDigestWriter {
	s := &siteDigestWriter{sum: crc32.New(castagnoli)}
	s.w = bufio.NewWriterSize(io.MultiWriter(w, s.sum), 64<<10)
	s.w.WriteString(siteDigestsMagic) // the first error stays in w
	s.w.Write(binary.LittleEndian.AppendUint32(nil, text.DigestForm))
	return s
}

func (s *siteDigestWriter) Add(at collections.Address, modified time.Time, d *text.ContentDigest) error {
	address := at.Host + at.Path
	if address == "" || len(address) > maxSaidAddress {
		return nil // no page that can be named
	}
	s.buf = appendDigest(appendAddress(s.buf[:0], s.last, address, modified), d)
	s.last = address
	s.n++
	_, err := s.w.Write(s.buf)
	return err
}

func appendAddress(b []byte, last, address string, modified time.Time) []byte {
	same := 0
	for same < min(len(address), len(last)) && address[same] == last[same] {
		same++
	}
	b = binary.AppendUvarint(b, uint64(same))
	b = binary.AppendUvarint(b, uint64(len(address)-same))
	b = append(b, address[same:]...)
	return binary.AppendUvarint(b, uint64(max(0, modified.Unix())))
}

func appendDigest(b []byte, d *text.ContentDigest) []byte {
	b = binary.LittleEndian.AppendUint64(b, d.Text)
	b = binary.LittleEndian.AppendUint32(b, d.Words)
	return append(b, d.Sketch[:]...)
}

func (s *siteDigestWriter) End() error {
	b := binary.AppendUvarint([]byte{0, 0}, s.n)
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	s.all = s.sum.Sum32()
	s.w.Write(binary.LittleEndian.AppendUint32(nil, s.all))
	return s.w.Flush()
}

// WriteSiteDigests writes what the pages of a published mirror say. Pages whose digests are not kept are
// read.
func WriteSiteDigests(ctx context.Context, w io.Writer, st *store.State, name string) error {
	root, err := env.OpenTree(st, name)
	if err != nil {
		return err
	}
	r := &replicaPages{
		trees: []replicaTree{{name: "site " + name, root: root, site: name}},
		note:  func(string) {},
		warn:  func(string) {},
		state: st,
	}
	s := NewSiteDigestWriter(w)
	err = r.digests(ctx, func(p *replicaPage) error {
		return s.Add(p.at, p.file.modified, &p.digest.Digest)
	})
	r.state = nil // the caller's
	if err = errors.Join(err, r.close()); err != nil {
		return err
	}
	return s.End()
}

// summed reads and keeps the checksum of what was read.
type summed struct {
	r   *bufio.Reader
	sum uint32
	one [1]byte
}

// ReadByte implements io.ByteReader.
func (s *summed) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		s.one[0] = b
		s.sum = crc32.Update(s.sum, castagnoli, s.one[:])
	}
	return b, err
}

func (s *summed) full(b []byte) error {
	_, err := io.ReadFull(s.r, b)
	s.sum = crc32.Update(s.sum, castagnoli, b)
	return err
}

// digest reads the digest of a page.
func (s *summed) digest(d *text.ContentDigest) error {
	said := make([]byte, siteDigestBytes)
	if err := s.full(said); err != nil {
		return err
	}
	d.Text, d.Words = binary.LittleEndian.Uint64(said), binary.LittleEndian.Uint32(said[8:])
	copy(d.Sketch[:], said[12:])
	return nil
}

// ReadSiteDigests reads what writeSiteDigests wrote, and gives each page to f, which must not keep it.
func ReadSiteDigests(from io.Reader, f func(*PageSaid) error) (pages int, err error) {
	in := &summed{r: bufio.NewReaderSize(from, 64<<10)}
	return in.pages(siteDigestsMagic, in.digest, func() (uint32, error) { return in.sum, nil }, f)
}

// ErrSpoiltDigests says that digests are not what was written.
var ErrSpoiltDigests = errors.New("they are damaged")

// pages reads pages, of each the digest by a function, to the end, where the checksum stands.
func (s *summed) pages(
	magic string, digest func(*text.ContentDigest) error, sum func() (uint32, error), f func(*PageSaid) error,
) (pages int, err error) {
	head := make([]byte, siteDigestsHead)
	if err := s.full(head); err != nil {
		return 0, cutDigests(err)
	}
	if string(head[:4]) != magic || binary.LittleEndian.Uint32(head[4:]) != text.DigestForm {
		return 0, ErrOtherDigests
	}
	var address []byte
	var p PageSaid
	for n := uint64(0); ; n++ {
		same, err := binary.ReadUvarint(s)
		if err != nil {
			return 0, cutDigests(err)
		}
		rest, err := binary.ReadUvarint(s)
		if err != nil {
			return 0, cutDigests(err)
		}
		if same == 0 && rest == 0 {
			return int(n), s.end(n, sum)
		}
		if same > uint64(len(address)) || rest > maxSaidAddress-same {
			return 0, errors.New("digests of pages: an address is not valid")
		}
		address = append(address[:same], make([]byte, rest)...)
		if err := s.full(address[same:]); err != nil {
			return 0, cutDigests(err)
		}
		host, path, ok := strings.Cut(string(address), "/")
		if !ok {
			return 0, errors.New("digests of pages: an address is not valid")
		}
		p = PageSaid{At: collections.Address{Host: host, Path: "/" + path}}
		modified, err := binary.ReadUvarint(s)
		if err == nil {
			err = digest(&p.Digest)
		}
		if err != nil {
			return 0, cutDigests(err)
		}
		if modified > 0 {
			p.Modified = time.Unix(int64(modified), 0).UTC()
		}
		if err := f(&p); err != nil {
			return 0, err
		}
	}
}

// end checks what follows n pages.
func (s *summed) end(n uint64, sum func() (uint32, error)) error {
	said, err := binary.ReadUvarint(s)
	if err != nil {
		return cutDigests(err)
	}
	want, err := sum()
	if err != nil {
		return err
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(s.r, b); err != nil {
		return cutDigests(err)
	}
	if said != n || binary.LittleEndian.Uint32(b) != want {
		return cutDigests(ErrSpoiltDigests)
	}
	return nil
}

// cutDigests is the error of digests that end before their end.
func cutDigests(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("digests of pages: %w", err)
}
