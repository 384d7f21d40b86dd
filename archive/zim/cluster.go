// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"
)

const (
	window    = 2 << 20 // in which clusters are compressed
	maxBlobs  = 1 << 13 // in a cluster, so that one of empty blobs ends too
	packRatio = 100     // bytes that are packed into one at most: more looks like a bomb to readers

	headRoom = 1 + 8*(maxBlobs+1) // for the info byte and the offsets of a cluster
)

// OpenCluster takes the blobs of entries and compresses them, beside others and what a Writer does. It is not
// safe for concurrent use.
type OpenCluster struct {
	packer  *zstd.Encoder // nil: it is not compressed
	data    []byte        // space for the fields before the blobs, and the blobs
	sizes   []int
	entries []clusterEntry // that came by OpenCluster.Add and Share
	held    map[[16]byte]uint32
	err     error // of these

	bytes []byte // all of it as it is written
}

// NewCluster begins a cluster for about so many bytes of blobs, which is not compressed when it is plain. It
// is safe for concurrent use.
func (w *Writer) NewCluster(plain bool, size int) *OpenCluster {
	c := &OpenCluster{data: make([]byte, headRoom, headRoom+size+size/16)}
	if !plain {
		c.packer = w.packer
	}
	return c
}

// Room returns memory for n bytes: a blob that is made there is added without a copy.
func (c *OpenCluster) Room(n int) []byte {
	c.data = slices.Grow(c.data, n)
	return c.data[len(c.data) : len(c.data)+n]
}

// clusterEntry is an entry of a cluster.
type clusterEntry struct {
	Entry
	blob uint32
	same [16]byte // see OpenCluster.Share; zero: it has the blob
}

// Add adds an entry with its blob, which stays in this cluster: Plain of the entry says nothing here. Take
// returns its errors, and those of Hold and Share.
func (c *OpenCluster) Add(e Entry, blob []byte) {
	c.entries = append(c.entries, clusterEntry{Entry: e, blob: uint32(len(c.sizes))})
	c.add(blob)
}

// Hold adds a blob of a digest, which is not zero, for entries that share it.
func (c *OpenCluster) Hold(digest [16]byte, blob []byte) {
	if c.held == nil {
		c.held = map[[16]byte]uint32{}
	}
	c.held[digest] = uint32(len(c.sizes))
	c.add(blob)
}

// Share adds an entry whose blob is held by this cluster, or by one that is taken before it.
func (c *OpenCluster) Share(e Entry, digest [16]byte) {
	c.entries = append(c.entries, clusterEntry{Entry: e, same: digest})
}

func (c *OpenCluster) add(blob []byte) {
	if len(c.sizes) >= maxBlobs {
		c.err = fmt.Errorf("%w: one blob too many in a cluster", ErrEntry)
		return
	}
	n := len(c.data)
	if room := c.data[n:cap(c.data)]; len(room) > 0 && len(blob) > 0 && &room[0] == &blob[0] {
		c.data = c.data[:n+len(blob)]
	} else {
		c.data = append(c.data, blob...)
	}
	c.sizes = append(c.sizes, len(blob))
}

// Pack ends the cluster: it is compressed, unless it does not shrink, or too well.
func (c *OpenCluster) Pack() {
	c.bytes = c.plain()
	if c.packer == nil {
		return
	}
	out := make([]byte, 1, len(c.bytes)/4+1024) // nearly always enough for text
	out[0] = c.bytes[0] - plainCluster + zstdCluster
	out = c.packer.EncodeAll(c.bytes[1:], out)
	if len(out) < len(c.bytes) && len(c.bytes) <= packRatio*len(out) {
		c.bytes, c.data = out, nil
	}
}

// plain returns the cluster without compression, a part of data.
func (c *OpenCluster) plain() []byte {
	width, info := 4, byte(plainCluster)
	if uint64(len(c.data))+uint64(width*(len(c.sizes)+1)) > math.MaxUint32 {
		width, info = 8, plainCluster|wideOffsets
	}
	head := width * (len(c.sizes) + 1)
	all := c.data[headRoom-head-1:]
	index := append(all[:0], info)
	at := uint64(head)
	index = appendOffset(index, width, at)
	for _, n := range c.sizes {
		at += uint64(n)
		index = appendOffset(index, width, at)
	}
	return all
}

// Take writes a cluster that is packed, and adds its entries.
func (w *Writer) Take(c *OpenCluster) error {
	if w.err != nil {
		return w.err
	}
	err := w.takeEntries(c, w.begin())
	if err == nil {
		_, err = w.out.Write(c.bytes)
	}
	return w.note(err)
}

func (w *Writer) takeEntries(c *OpenCluster, id uint32) error {
	if c.err != nil {
		return c.err
	}
	for digest, blob := range c.held {
		w.shared[digest] = blobRef{id, blob}
	}
	for _, e := range c.entries {
		rec, err := w.dir.check(e.Entry)
		if err != nil {
			return err
		}
		at, ok := blobRef{id, e.blob}, true
		if e.same != [16]byte{} {
			if at, ok = w.shared[e.same]; !ok {
				return fmt.Errorf("%q: %w: no cluster before has its blob", e.Path, ErrEntry)
			}
		}
		rec.cluster, rec.blob = at.cluster, at.blob
		w.dir.add(e.Entry, rec)
	}
	return nil
}

func appendOffset(dst []byte, width int, at uint64) []byte {
	if width == 8 {
		return binary.LittleEndian.AppendUint64(dst, at)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(at))
}

var errSize = errors.New("the blob does not have the size that was announced")

// stream writes a cluster of one blob.
type stream struct {
	w    *Writer
	body io.Writer
	left uint64
	zstd *zstd.Encoder // nil when the blob is not compressed
}

func newStream(w *Writer, plain bool, size uint64) (*stream, error) {
	width, info := 4, byte(plainCluster)
	if size+8 > math.MaxUint32 {
		width, info = 8, plainCluster|wideOffsets
	}
	if !plain {
		info += zstdCluster - plainCluster
	}
	if _, err := w.out.Write([]byte{info}); err != nil {
		return nil, err
	}
	s := &stream{w: w, body: &w.out, left: size}
	if !plain {
		var err error
		if s.zstd, err = zstd.NewWriter(&w.out, zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
			return nil, err
		}
		s.body = s.zstd
	}
	_, err := s.body.Write(appendOffset(appendOffset(nil, width, uint64(2*width)), width, uint64(2*width)+size))
	return s, err
}

// Write takes exactly as many bytes as were announced.
func (s *stream) Write(p []byte) (int, error) {
	if uint64(len(p)) > s.left {
		return 0, s.w.note(errSize)
	}
	n, err := s.body.Write(p)
	s.left -= uint64(n)
	return n, s.w.note(err)
}

func (s *stream) Close() error {
	var err error
	if s.zstd != nil {
		err = s.zstd.Close()
	}
	if (err == nil) && s.left > 0 {
		err = fmt.Errorf("%w: %d bytes are missing", errSize, s.left)
	}
	return s.w.note(err)
}
