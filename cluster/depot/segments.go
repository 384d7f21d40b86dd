// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"mirrord/cluster/objects"
	"mirrord/store/travel"
)

// segments gathers chunks into objects and puts these, some at a time. One goroutine adds.
type segments struct {
	store  objects.Store
	prefix string
	enc    *zstd.Encoder
	sent   atomic.Int64
	sizes  map[string]int64 // of the objects

	ctx    context.Context
	cancel context.CancelCauseFunc
	slots  chan struct{} // as many puts at a time
	wg     sync.WaitGroup
	name   string // of the object that is open; "" for none
	buf    []byte
	packed []byte
}

const (
	segmentSize = 8 << 20
	putsAtATime = 3
)

func (s *segments) begin(ctx context.Context, st objects.Store, prefix string) (err error) {
	s.store, s.prefix, s.sizes = st, prefix, map[string]int64{}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.slots = make(chan struct{}, putsAtATime)
	s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	return err
}

// add takes a chunk, and says where it will lie.
func (s *segments) add(raw []byte) (name string, at, stored int64, err error) {
	if s.name == "" {
		s.name = s.prefix + objects.RandomName()
	}
	s.packed = s.enc.EncodeAll(raw, s.packed[:0])
	piece := raw
	if len(s.packed) < len(raw)*9/10 {
		piece = s.packed
	}
	name, at = s.name, int64(len(s.buf))
	s.buf = append(s.buf, piece...)
	if len(s.buf) >= segmentSize {
		err = s.roll()
	}
	return name, at, int64(len(piece)), err
}

// roll puts the open object.
func (s *segments) roll() error {
	if s.name == "" {
		return nil
	}
	name, buf := s.name, s.buf
	s.name, s.buf = "", nil
	s.sizes[name] = int64(len(buf))
	select {
	case s.slots <- struct{}{}:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	s.wg.Go(func() {
		defer func() { <-s.slots }()
		if _, err := s.store.Put(s.ctx, name, objects.Bytes(buf), objects.Condition{}); err != nil {
			s.cancel(err)
			return
		}
		s.sent.Add(int64(len(buf)))
	})
	return nil
}

// flush returns when all objects are put.
func (s *segments) flush() error {
	err := s.roll()
	s.wg.Wait()
	return errors.Join(err, context.Cause(s.ctx))
}

// end stops the uploads in progress.
func (s *segments) end() {
	s.cancel(context.Canceled)
	s.wg.Wait()
	s.enc.Close()
}

// memoryFile is a file that is nowhere: made of bytes.
func memoryFile(name string, b []byte) (*travel.File, error) {
	f, err := os.CreateTemp("", "mirrord-depot-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = f.Write(b)
	}
	fi, serr := f.Stat()
	if err = errors.Join(err, serr); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &travel.File{Name: name, Info: fi, File: f}, nil
}
