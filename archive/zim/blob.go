// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	inMemory  = 16 << 20  // bytes of a cluster up to which its blobs are held
	maxWindow = 128 << 20 // of zstd: what other readers allow too
)

// Blob is the content of an entry.
type Blob struct {
	io.Reader
	Size int64
	At   io.ReaderAt // the content, to be read anywhere by anybody; nil of a large compressed cluster

	free func()
}

// Close lets go of what reads the blob.
func (b *Blob) Close() error {
	if b.free != nil {
		b.free()
		b.free = nil
	}
	return nil
}

// cluster is a cluster of which the offsets are known.
type cluster struct {
	index   uint32
	info    byte
	offsets []uint64 // of the blobs, from the first offset on, and the end
	data    []byte   // of all, from the first offset on, when it is small and compressed
}

// Blob returns the content of an entry that is no redirect. A Blob of a large compressed cluster is read from
// the cluster's beginning.
func (z *Reader) Blob(f Located) (*Blob, error) {
	d := &f.d
	if d.mime > maxTypes {
		return nil, fmt.Errorf("%c/%s: %w: the entry has no content", d.namespace, d.path, ErrUnread)
	}
	b, err := z.blob(d)
	if err != nil {
		return nil, fmt.Errorf("%c/%s: cluster %d: %w", d.namespace, d.path, d.cluster, err)
	}
	return b, nil
}

func (z *Reader) blob(d *dirent) (*Blob, error) {
	c, err := z.cluster(d.cluster)
	if err != nil {
		return nil, err
	}
	at, _, err := z.bounds(d.cluster)
	if err != nil {
		return nil, err
	}
	if uint64(d.blob)+1 >= uint64(len(c.offsets)) {
		return nil, damaged(at, "blob %d of %d", d.blob, max(len(c.offsets)-1, 0))
	}
	from, to := c.offsets[d.blob], c.offsets[d.blob+1]
	n := int64(to - from)
	switch {
	case c.data != nil:
		m := bytes.NewReader(c.data[from:to])
		return &Blob{Reader: m, Size: n, At: m}, nil
	case c.info&0xf != zstdCluster:
		in := io.NewSectionReader(z.r, at+1+int64(from), n)
		return &Blob{Reader: in, Size: n, At: in}, nil
	}
	in, free, err := z.unpacked(d.cluster)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, in, int64(from)); err != nil {
		free()
		return nil, damaged(at, "%v", err)
	}
	return &Blob{Reader: io.LimitReader(in, n), Size: n, free: free}, nil
}

// unpacked reads a cluster behind its info byte.
func (z *Reader) unpacked(i uint32) (io.Reader, func(), error) {
	at, end, err := z.bounds(i)
	if err != nil {
		return nil, nil, err
	}
	in := io.NewSectionReader(z.r, at+1, end-at-1)
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, nil, err
	}
	return d, d.Close, nil
}

// cluster returns a cluster, one of the last two without reading it again.
func (z *Reader) cluster(i uint32) (*cluster, error) {
	for k, c := range z.cache {
		if c != nil && c.index == i {
			if k == 1 {
				z.cache[0], z.cache[1] = z.cache[1], z.cache[0]
			}
			return c, nil
		}
	}
	c, err := z.readCluster(i)
	if err == nil {
		z.cache[0], z.cache[1] = c, z.cache[0]
	}
	return c, err
}

func (z *Reader) readCluster(i uint32) (*cluster, error) {
	at, end, err := z.bounds(i)
	if err != nil {
		return nil, err
	}
	var info [1]byte
	if _, err := z.r.ReadAt(info[:], at); err != nil && err != io.EOF {
		return nil, err
	}
	c := &cluster{index: i, info: info[0]}
	room := uint64(end - at - 1) // bytes of the offsets and blobs
	var in io.Reader = bufio.NewReader(io.NewSectionReader(z.r, at+1, int64(room)))
	switch c.info & 0xf {
	case 0, plainCluster:
	case zstdCluster:
		d, free, err := z.unpacked(i)
		if err != nil {
			return nil, damaged(at, "%v", err)
		}
		defer free()
		in, room = d, 1<<62
	case lzmaCluster:
		return nil, fmt.Errorf("%w: the cluster at byte %d is compressed with LZMA, which Kiwix gave up in 2021; "+
			"get a newer issue of the file", ErrUnread, at)
	default:
		return nil, damaged(at, "a cluster is compressed in the unknown way %d", c.info&0xf)
	}
	err = c.readOffsets(in, room, int(z.Entries))
	if end := c.end(); err == nil && c.info&0xf == zstdCluster && end <= inMemory {
		c.data = make([]byte, end)
		_, err = io.ReadFull(in, c.data[c.offsets[0]:])
	}
	if err != nil {
		return nil, damaged(at, "%v", err)
	}
	return c, nil
}

func (c *cluster) end() uint64 {
	if len(c.offsets) == 0 {
		return 0
	}
	return c.offsets[len(c.offsets)-1]
}

// readOffsets reads the offsets of a cluster of so many bytes; most is how many blobs it may have.
func (c *cluster) readOffsets(in io.Reader, room uint64, most int) error {
	width := uint64(4)
	if c.info&wideOffsets != 0 {
		width = 8
	}
	next := func() (uint64, error) {
		var b [8]byte
		_, err := io.ReadFull(in, b[:width])
		return binary.LittleEndian.Uint64(b[:]), err
	}
	first, err := next()
	if err != nil {
		return err
	}
	n := first / width
	if n == 0 || first%width != 0 || n > uint64(most)+1 || first > room {
		return fmt.Errorf("blobs are said to begin at byte %d of it", first)
	}
	c.offsets = append(make([]uint64, 0, min(n, 1<<16)), first)
	for last := first; uint64(len(c.offsets)) < n; {
		o, err := next()
		if err != nil {
			return err
		}
		if o < last || o > room {
			return fmt.Errorf("blob %d is said to end at byte %d of it", len(c.offsets)-1, o)
		}
		c.offsets, last = append(c.offsets, o), o
	}
	return nil
}
