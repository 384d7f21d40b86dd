// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"mirrord/internal/binread"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// FrameMeta is the head of a document in a frame: uvarint number of its URL, and the first bytes of the
// digest of its body. The record has the rest. Older versions wrote an object of JSON.
type FrameMeta struct {
	ID     uint32
	Digest [32]byte // that of the record
}

// metaDigest is how many bytes of the digest the head has.
const metaDigest = 8

// FrameMetaOf returns the head that the frame of a document has.
func FrameMetaOf(r *record.Resource) FrameMeta { return FrameMeta{r.ID, r.Digest} }

func (m *FrameMeta) append(b []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(m.ID)), m.Digest[:metaDigest]...)
}

// olderMeta is the part of the head of older versions that is read.
type olderMeta struct {
	ID     uint32 `json:"id"`
	Digest string `json:"sha256"`
}

// ID returns the number of the URL of the document.
func (f *Frame) ID() (uint32, error) {
	if len(f.Meta) > binary.MaxVarintLen32+metaDigest && f.Meta[0] == '{' && f.Meta[len(f.Meta)-1] == '}' {
		var m olderMeta
		err := json.Unmarshal(f.Meta, &m)
		return m.ID, err
	}
	d := binread.Reader{Rest: f.Meta}
	id := d.Uvarint()
	if d.Bad || len(d.Rest) != metaDigest || uint64(uint32(id)) != id {
		return 0, fmt.Errorf("head of a frame: %w", disk.ErrDamaged)
	}
	return uint32(id), nil
}

// check holds the head against a record, and returns the digest that the body must have: a record that forgot
// it, so that the body would be requested again, goes by the head.
func (f *Frame) check(id uint32, digest [32]byte) (want [32]byte, err error) {
	is, err := f.ID()
	if err != nil {
		return digest, err
	}
	if is != id {
		return digest, fmt.Errorf("%w: the frame is that of another URL, number %d", disk.ErrDamaged, is)
	}
	var m olderMeta
	older := json.Unmarshal(f.Meta, &m) == nil
	switch begin := f.Meta[max(len(f.Meta)-metaDigest, 0):]; {
	case older && digest == [32]byte{}:
		_, err = hex.Decode(want[:], []byte(m.Digest[:min(len(m.Digest), 2*len(want))]))
		return want, err
	case older && m.Digest == record.HexOf(digest), !older && bytes.Equal(begin, digest[:metaDigest]):
		return digest, nil
	case !older && digest == [32]byte{}:
		for _, want = range [][32]byte{sha256.Sum256(f.Body), record.QuickDigest(f.Body)} {
			if bytes.Equal(begin, want[:metaDigest]) {
				return want, nil
			}
		}
	}
	return digest, fmt.Errorf("%w: the frame has another body than digest %x", disk.ErrDamaged, digest)
}
