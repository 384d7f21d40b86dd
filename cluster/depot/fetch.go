// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"mirrord/cluster/objects"
	"mirrord/store/away"
)

// piece is a part of an object that is to be fetched.
type piece struct {
	object string
	at     int64
	stored int64
	size   int64
	digest SHA256
	use    func(raw []byte) error // pieces are used by several goroutines
}

// How much lies between two pieces that are fetched by one request, at most, and how many requests are made
// at a time.
const (
	fetchGap    = 64 << 10
	getsAtATime = 4
)

// fetch fetches pieces, neighbours by one request, checks them, and has them used.
func fetch(ctx context.Context, from objects.Store, pieces []piece) error {
	slices.SortFunc(pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.at, b.at))
	})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work, dec := make(chan []piece), newCodec().dec
	var wg sync.WaitGroup
	for range getsAtATime {
		wg.Go(func() {
			for run := range work {
				if err := fetchRun(ctx, from, dec, run); err != nil {
					cancel(err)
				}
			}
		})
	}
	for len(pieces) > 0 && ctx.Err() == nil {
		n, end := 1, pieces[0].at+pieces[0].stored
		for n < len(pieces) && pieces[n].object == pieces[0].object && pieces[n].at <= end+fetchGap &&
			pieces[n].at+pieces[n].stored <= pieces[0].at+objects.MaxGet {
			end = max(end, pieces[n].at+pieces[n].stored)
			n++
		}
		work <- pieces[:n]
		pieces = pieces[n:]
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// lost is the error of an object that is missing.
func lost(object string) error {
	return fmt.Errorf("%w: %s; the store, or part of it, was emptied", ErrLost, object)
}

// fetchRun makes one request.
func fetchRun(ctx context.Context, from objects.Store, dec *zstd.Decoder, run []piece) error {
	start, end := run[0].at, run[0].at
	for _, p := range run {
		end = max(end, p.at+p.stored)
	}
	b, _, err := from.Get(ctx, run[0].object, start, end-start)
	if errors.Is(err, fs.ErrNotExist) {
		return lost(run[0].object)
	}
	if err != nil {
		return err
	}
	for i := range run {
		p := &run[i]
		if p.at+p.stored-start > int64(len(b)) {
			return fmt.Errorf("%s: %w: it is too short", p.object, ErrDamaged)
		}
		raw, err := unpack(dec, b[p.at-start:][:p.stored], p.size)
		if err != nil || digestOf(raw) != p.digest {
			return errors.Join(fmt.Errorf("%s: %w: the bytes from %d on", p.object, ErrDamaged, p.at), err)
		}
		if err := p.use(raw); err != nil {
			return err
		}
	}
	return nil
}

// Fetcher fetches what check-outs left in the depot. The context is that of all calls.
func (d *Depot) Fetcher(ctx context.Context) away.Bringer { return &fetcher{ctx: ctx, depot: d} }
