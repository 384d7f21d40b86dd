// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"mirrord/internal/timed"
)

// Retry is a Store that repeats what failed for a moment: an answer of 5xx or 429, a connection that broke,
// an answer that does not come. It counts what it asks for. Fields that are zero have defaults.
type Retry struct {
	Store
	Attempts int           // at most; 5
	Pause    time.Duration // before the second attempt, doubled each time; 250 ms
	// Patience is how long one attempt may take, with a second more for each 256 KiB; 30 s.
	Patience time.Duration

	Counted Requested
}

// Requested is what a Store was asked for. It is written atomically.
type Requested struct {
	Puts     int64 `json:"puts"`
	Gets     int64 `json:"gets"`
	Lists    int64 `json:"lists"`
	Deletes  int64 `json:"deletes"`
	Retries  int64 `json:"retries"` // of these: attempts after one that failed
	Sent     int64 `json:"sent"`    // bytes of objects, as the next
	Received int64 `json:"received"`
}

// slowest is the rate, in bytes a second, at which a transfer is not yet given up.
const slowest = 256 << 10

// again calls f until it succeeds, as long as that can help.
func (r *Retry) again(ctx context.Context, size int64, f func(context.Context) error) error {
	attempts, pause := cmp.Or(r.Attempts, 5), cmp.Or(r.Pause, 250*time.Millisecond)
	patience := cmp.Or(r.Patience, 30*time.Second) + time.Duration(size/slowest)*time.Second
	for n := 1; ; n++ {
		once, cancel := context.WithTimeout(ctx, patience)
		err := f(once)
		cancel()
		if err == nil || isFinal(err) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n == attempts {
			return fmt.Errorf("%w: %w (%d attempts)", ErrUnavailable, err, n)
		}
		atomic.AddInt64(&r.Counted.Retries, 1)
		if timed.Wait(ctx, pause/2+rand.N(pause)) != nil {
			return context.Cause(ctx)
		}
		pause *= 2
	}
}

// isFinal reports whether another attempt would end in the same.
func isFinal(err error) bool {
	for _, final := range []error{ErrCondition, ErrDenied, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}

// Put implements Store. An object that is put on a condition may have been put by an attempt whose answer was
// lost: then it is ErrCondition too, and the caller checks the object.
func (r *Retry) Put(
	ctx context.Context, name string, data *io.SectionReader, c Condition,
) (etag string, err error) {
	err = r.again(ctx, data.Size(), func(ctx context.Context) (err error) {
		atomic.AddInt64(&r.Counted.Puts, 1)
		etag, err = r.Store.Put(ctx, name, data, c)
		return err
	})
	if err == nil {
		atomic.AddInt64(&r.Counted.Sent, data.Size())
	}
	return etag, err
}

// Get implements Store.
func (r *Retry) Get(ctx context.Context, name string, from, n int64) (b []byte, info Info, err error) {
	err = r.again(ctx, n, func(ctx context.Context) (err error) {
		atomic.AddInt64(&r.Counted.Gets, 1)
		b, info, err = r.Store.Get(ctx, name, from, n)
		return err
	})
	atomic.AddInt64(&r.Counted.Received, int64(len(b)))
	return b, info, err
}

// Delete implements Store.
func (r *Retry) Delete(ctx context.Context, name string) error {
	return r.again(ctx, 0, func(ctx context.Context) error {
		atomic.AddInt64(&r.Counted.Deletes, 1)
		return r.Store.Delete(ctx, name)
	})
}

// List implements Store. All names are read before the first one is passed on.
func (r *Retry) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		var all []Info
		err := r.again(ctx, slowest*600, func(ctx context.Context) error {
			atomic.AddInt64(&r.Counted.Lists, 1)
			all = all[:0]
			for info, err := range r.Store.List(ctx, prefix) {
				if err != nil {
					return err
				}
				all = append(all, info)
			}
			return nil
		})
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Tidy removes what killed processes have left, in stores that know of such.
func (r *Retry) Tidy() error {
	if f, ok := r.Store.(*Folder); ok {
		return f.Tidy()
	}
	return nil
}
