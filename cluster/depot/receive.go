// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"mirrord/store"
	"mirrord/store/facts"
)

// takeRecords notes what the depot has of the job's runs.
func (r *receiver) takeRecords(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	var noted records
	if err := json.Unmarshal(raw, &noted); err != nil {
		return fmt.Errorf("%s: %w: %w", recordsName, ErrDamaged, err)
	}
	for _, run := range noted.Runs {
		r.runs = append(r.runs, run)
	}
	r.job = noted.Job
	return nil
}

// bodies fetches the bodies that the site refers to and this machine lacks, but for those that are left.
func (r *receiver) bodies(ctx context.Context, m *Manifest, s *store.Site) error {
	b := NewBodies(ctx, r.depot.Store)
	if err := b.load(ctx, m.Bodies); err != nil {
		return err
	}
	var pieces []piece
	err := facts.UsedBodies(ctx, s.Records, func(digest [32]byte) error {
		if r.state.Bodies.Here(digest) {
			return nil
		}
		p := b.place(digest)
		if p == nil {
			r.out.Lacks++ // verify says which
			return nil
		}
		if r.left.body(digest, p) {
			return nil
		}
		r.out.Bodies++
		r.out.Received += p.stored
		if p.size >= largeBody {
			return r.largeBody(b, digest, p)
		}
		modified := p.modified
		put := func(raw []byte) error { return r.state.Bodies.Put(digest, raw, modified) }
		if p.size == 0 {
			return put(nil)
		}
		pieces = append(pieces, piece{
			object: p.object,
			at:     p.at,
			stored: p.stored,
			size:   p.size,
			digest: digest,
			use:    put,
		})
		return nil
	})
	if err != nil {
		return err
	}
	r.depot.Note(fmt.Sprintf("%s: fetching %d bodies", r.out.Site, len(pieces)))
	if err := fetch(ctx, r.depot.Store, pieces); err != nil {
		return err
	}
	return r.state.Bodies.Sync()
}

// largeBody fetches a body range by range.
func (r *receiver) largeBody(b *Bodies, digest [32]byte, p *bodyPlace) error {
	r.depot.Note(fmt.Sprintf("%s: fetching a body of %d MB", r.out.Site, p.size/1e6))
	body, err := b.read(digest, p)
	if err != nil {
		return err
	}
	w, err := r.state.Spool.Create()
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, body); err != nil {
		w.Abort()
		return err
	}
	if w.Digest() != digest {
		w.Abort()
		return fmt.Errorf("%s: %w", p.object, ErrDamaged)
	}
	_, _, err = w.Commit(p.modified)
	return err
}
