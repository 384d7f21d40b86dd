// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"mirrord/store/disk"
)

// Bodies is a blobs.Bodies in memory. Safe for concurrent use. The
// zero value is empty.
type Bodies struct {
	mu     sync.Mutex
	bodies map[[32]byte]body
}

type body struct {
	bytes    []byte
	modified time.Time
}

func (b *Bodies) get(digest [32]byte) (body, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x, ok := b.bodies[digest]
	if !ok {
		return x, fmt.Errorf("body %x: %w", digest[:6], fs.ErrNotExist)
	}
	return x, nil
}

// Stat implements blobs.Bodies.
func (b *Bodies) Stat(digest [32]byte) (disk.FileStat, error) {
	x, err := b.get(digest)
	if err != nil {
		return disk.FileStat{}, err
	}
	return disk.FileStat{Size: int64(len(x.bytes)), Time: x.modified, Regular: true}, nil
}

// Put implements blobs.Bodies.
func (b *Bodies) Put(digest [32]byte, data []byte, modified time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x, ok := b.bodies[digest]; ok && len(x.bytes) == len(data) {
		return nil
	}
	if b.bodies == nil {
		b.bodies = map[[32]byte]body{}
	}
	b.bodies[digest] = body{bytes.Clone(data), modified}
	return nil
}

// Open implements blobs.Bodies.
func (b *Bodies) Open(digest [32]byte, n int64) (io.ReadCloser, error) {
	x, err := b.get(digest)
	if err != nil {
		return nil, err
	}
	if size := int64(len(x.bytes)); n < 0 || n > size {
		n = size
	}
	return io.NopCloser(bytes.NewReader(x.bytes[:n])), nil
}

// Delete implements blobs.Bodies.
func (b *Bodies) Delete(digest [32]byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bodies, digest)
	return nil
}

// Len is the number of bodies.
func (b *Bodies) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.bodies)
}
