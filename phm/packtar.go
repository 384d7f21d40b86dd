// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/inorder"
	"mirrord/internal/zst"
)

// tarPacker writes a tar that is compressed with zstd (RFC 8878), in frames that the crew makes side by side.
// It keeps to packRatio: data that packs better is followed by frames that readers skip. The output depends
// on the files alone. It is for one goroutine.
type tarPacker struct {
	out     *counter
	prefix  string
	frames  *inorder.Lane[*zstdFrame]
	encoder *zstd.Encoder // of all workers
	next    *zstdFrame    // what was added and is no whole frame yet
	free    chan *zstdFrame
	in      int64 // bytes of the tar that the frames in out hold
	buf     []byte
}

// zstdFrame is a part of the tar: raw, and then some files, which a worker reads behind it.
type zstdFrame struct {
	raw, packed []byte
	files       []item
	size        int // bytes of raw with its files, at most
}

// Sizes of zstd frames, in bytes: with parts of zstdPart a site is 8 % larger than in the single frame of
// zstd -3. zstdAhead bounds the parts on their way.
const (
	zstdPart   = 16 << 20
	zstdAhead  = 4
	zstdWindow = 2 << 20 // 8 MiB takes a tenth more time for half a hundredth of the size
)

// tarBlock is the size in bytes of which all parts of a tar are multiples.
const tarBlock = 512

func newTarPacker(w io.Writer, prefix string, crew inorder.Crew) *tarPacker {
	p := &tarPacker{
		out:    &counter{w: w},
		prefix: prefix,
		free:   make(chan *zstdFrame, zstdAhead),
		buf:    make([]byte, 64<<10),
	}
	p.frames = inorder.New(crew, zstdPart*min(int64(crew.Size), zstdAhead), p.put)
	p.encoder = zst.NewEncoder(zstdWindow, zstd.WithEncoderCRC(true),
		zstd.WithEncoderConcurrency(p.frames.Workers()))
	return p
}

// add adds a file. One of up to inMemory is read and checked by the worker that makes its frame.
func (p *tarPacker) add(it item) error {
	if it.Size > inMemory {
		return p.addLarge(it)
	}
	// a name that is long takes two blocks more, and those that it fills
	size := int(it.Size) + len(p.prefix) + len(it.Path) + 5*tarBlock
	if p.next != nil && p.next.size+size > zstdPart {
		if err := p.pack(); err != nil {
			return err
		}
	}
	p.begin()
	p.next.files = append(p.next.files, it)
	p.next.size += size
	return nil
}

func (p *tarPacker) addLarge(it item) error {
	if err := p.pack(); err != nil {
		return err
	}
	head, err := p.head(it)
	if err == nil {
		_, err = p.Write(head)
	}
	if err == nil {
		err = it.copyTo(p, p.buf)
	}
	if err == nil {
		_, err = p.Write(padding(it.Size))
	}
	return err
}

// head is the header of a file in the tar.
func (p *tarPacker) head(it item) ([]byte, error) {
	var b bytes.Buffer
	err := tar.NewWriter(&b).WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     p.prefix + it.Path,
		Size:     it.Size,
		Mode:     0o644,
		ModTime:  it.Modified,
	})
	if err != nil {
		return nil, fmt.Errorf("add %q: %w", it.Path, err)
	}
	return b.Bytes(), nil
}

// padding is what follows a file of size bytes in a tar.
func padding(size int64) []byte { return make([]byte, -size&(tarBlock-1)) }

// Write appends to the tar. No file was added to the frame that is begun.
func (p *tarPacker) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		p.begin()
		k := min(len(b), zstdPart-len(p.next.raw))
		p.next.raw = append(p.next.raw, b[:k]...)
		p.next.size = len(p.next.raw)
		n += k
		b = b[k:]
		if p.next.size == zstdPart {
			err = p.pack()
		}
	}
	return n, err
}

// begin begins a frame where none is begun.
func (p *tarPacker) begin() {
	if p.next != nil {
		return
	}
	select {
	case p.next = <-p.free:
		f := p.next
		f.raw, f.packed, f.files, f.size = f.raw[:0], f.packed[:0], f.files[:0], 0
	default:
		p.next = &zstdFrame{raw: make([]byte, 0, zstdPart), packed: make([]byte, 0, zstdPart/4)}
	}
}

// pack has the frame that is begun made by a worker.
func (p *tarPacker) pack() error {
	f := p.next
	if f == nil {
		return nil
	}
	p.next = nil
	return p.frames.Add(int64(f.size), func(int) (*zstdFrame, error) {
		var in folder
		defer in.close()
		for _, it := range f.files {
			head, err := p.head(it)
			if err != nil {
				return nil, err
			}
			file, err := in.open(it.fsys, it.Path)
			if err != nil {
				return nil, err
			}
			f.raw = slices.Grow(append(f.raw, head...), int(it.Size)+1)
			body, err := it.readFrom(file, f.raw[len(f.raw):])
			if err != nil {
				return nil, err
			}
			f.raw = append(f.raw[:len(f.raw)+len(body)], padding(it.Size)...)
		}
		f.packed = p.encoder.EncodeAll(f.raw, f.packed)
		return f, nil
	})
}

// put writes a frame that is packed, and a skippable one (RFC 8878 3.1.2) that is as long as the ratio wants.
func (p *tarPacker) put(f *zstdFrame, err error) error {
	if err != nil {
		return err
	}
	if _, err := p.out.Write(f.packed); err != nil {
		return err
	}
	p.in += int64(len(f.raw))
	if size := p.in/packRatio - p.out.n; p.in > boundFrom && size > 0 {
		head := []byte{0x50, 0x2a, 0x4d, 0x18, byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}
		if _, err := p.out.Write(append(head, make([]byte, size)...)); err != nil {
			return err
		}
	}
	select {
	case p.free <- f:
	default:
	}
	return nil
}

// finish writes the end of the tar.
func (p *tarPacker) finish() error {
	if err := p.pack(); err != nil {
		return err
	}
	if _, err := p.Write(make([]byte, 2*tarBlock)); err != nil {
		return err
	}
	if err := p.pack(); err != nil {
		return err
	}
	return p.frames.Flush()
}

// abort ends the output after an error within a frame, so that its reader sees that more should come: a tar
// may end behind any file, and most programs say nothing.
func (p *tarPacker) abort() {
	if p.out.n > 0 {
		// the beginning of a frame; the caller gets the error before it
		_, _ = p.out.Write([]byte{0x28, 0xb5, 0x2f, 0xfd})
	}
}
