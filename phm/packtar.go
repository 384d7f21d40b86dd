// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"fmt"
	"io"

	"mirrord/internal/inorder"
)

// tarPacker writes a tar. Files of up to inMemory are read and checked on their way.
type tarPacker struct {
	tar    *tar.Writer
	prefix string
	files  *inorder.Lane[packedFile]
	buf    []byte
}

// packedFile is a file that is ready to be written.
type packedFile struct {
	it   item
	body []byte
}

func newTarPacker(w io.Writer, prefix string, crew inorder.Crew) *tarPacker {
	p := &tarPacker{
		tar:    tar.NewWriter(w),
		prefix: prefix,
		buf:    make([]byte, 64<<10),
	}
	p.files = inorder.New(crew, packAhead, p.write)
	return p
}

func (p *tarPacker) add(it item) error {
	if it.size <= inMemory {
		return p.files.Add(it.size, func(int) (packedFile, error) {
			body, err := it.read(nil)
			return packedFile{it, body}, err
		})
	}
	if err := p.files.Flush(); err != nil {
		return err
	}
	if err := p.head(it); err != nil {
		return err
	}
	return it.copyTo(p.tar, p.buf)
}

func (p *tarPacker) head(it item) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     p.prefix + it.path,
		Size:     it.size,
		Mode:     0o644,
		ModTime:  it.modified,
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("add %q: %w", it.path, err)
	}
	return nil
}

// write writes a file that a worker has read.
func (p *tarPacker) write(e packedFile, err error) error {
	if err != nil {
		return err
	}
	if err := p.head(e.it); err != nil {
		return err
	}
	_, err = p.tar.Write(e.body)
	return err
}
