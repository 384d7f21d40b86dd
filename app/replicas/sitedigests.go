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
	wholeSum         = 0x48674bc7 // CRC-32C of anything with its own CRC-32C behind it
)

// ErrOtherDigests says that digests were made by another version, or are none.
var ErrOtherDigests = errors.New("the node has digests of another form: its mirrord is of another version")

// errSaidAddress says that what an address was read of is damaged.
var errSaidAddress = errors.New("digests of pages: an address is not valid")

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
}

func NewSiteDigestWriter(w io.Writer) *siteDigestWriter {
	s := &siteDigestWriter{sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
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
	same := 0
	for same < min(len(address), len(s.last)) && address[same] == s.last[same] {
		same++
	}
	s.last = address
	s.n++
	b := binary.AppendUvarint(s.w.AvailableBuffer(), uint64(same))
	b = binary.AppendUvarint(b, uint64(len(address)-same))
	b = append(b, address[same:]...)
	b = binary.AppendUvarint(b, uint64(max(0, modified.Unix())))
	b = binary.LittleEndian.AppendUint64(b, d.Text)
	b = binary.LittleEndian.AppendUint32(b, d.Words)
	_, err := s.w.Write(append(b, d.Sketch[:]...))
	return err
}

func (s *siteDigestWriter) End() error {
	s.w.Write(binary.AppendUvarint([]byte{0, 0}, s.n))
	if err := s.w.Flush(); err != nil {
		return err
	}
	s.w.Write(binary.LittleEndian.AppendUint32(nil, s.sum.Sum32()))
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

// ReadSiteDigests reads what WriteSiteDigests wrote, to the end. It gives each page to f, which must not keep
// it.
func ReadSiteDigests(from io.Reader, f func(*PageSaid) error) (pages int, err error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	in := bufio.NewReaderSize(io.TeeReader(from, sum), 64<<10)
	head := make([]byte, siteDigestsHead)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, cutDigests(err)
	}
	if string(head[:4]) != siteDigestsMagic || binary.LittleEndian.Uint32(head[4:]) != text.DigestForm {
		return 0, ErrOtherDigests
	}
	var address []byte
	var p PageSaid
	for n := uint64(0); ; n++ {
		if address, err = readAddress(in, address); err != nil {
			return 0, err
		}
		if len(address) == 0 {
			return int(n), endDigests(in, n, sum)
		}
		host, path, ok := strings.Cut(string(address), "/")
		if !ok {
			return 0, errSaidAddress
		}
		p = PageSaid{At: collections.Address{Host: host, Path: "/" + path}}
		modified, err := binary.ReadUvarint(in)
		said := make([]byte, siteDigestBytes)
		if err == nil {
			_, err = io.ReadFull(in, said)
		}
		if err != nil {
			return 0, cutDigests(err)
		}
		if modified > 0 {
			p.Modified = time.Unix(int64(modified), 0).UTC()
		}
		p.Digest.Text, p.Digest.Words = binary.LittleEndian.Uint64(said), binary.LittleEndian.Uint32(said[8:])
		copy(p.Digest.Sketch[:], said[12:])
		if err := f(&p); err != nil {
			return 0, err
		}
	}
}

// readAddress reads the address after another one; an empty one is the end.
func readAddress(in *bufio.Reader, last []byte) ([]byte, error) {
	same, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, cutDigests(err)
	}
	rest, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, cutDigests(err)
	}
	if same > uint64(len(last)) || rest > maxSaidAddress-same {
		return nil, errSaidAddress
	}
	address := append(last[:same], make([]byte, rest)...)
	if _, err := io.ReadFull(in, address[same:]); err != nil {
		return nil, cutDigests(err)
	}
	return address, nil
}

// endDigests checks what follows n pages.
func endDigests(in *bufio.Reader, n uint64, sum hash.Hash32) error {
	said, err := binary.ReadUvarint(in)
	if err == nil {
		_, err = in.Discard(crc32.Size)
	}
	if err != nil {
		return cutDigests(err)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) || said != n || sum.Sum32() != wholeSum {
		return errors.New("digests of pages: they are damaged")
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
