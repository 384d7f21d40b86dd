// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"mirrord/cluster/objects"
)

// DepotCheck says what Check found.
type DepotCheck struct {
	Chunks   int      `json:"chunks"` // of files, that were read
	Bodies   int      `json:"bodies"` // published as they came, that were read
	Bytes    int64    `json:"bytes"`  // of both, as they are stored
	Problems []string `json:"problems"`
}

// Check reads everything that the depot's pointers refer to and compares it with its digests. Damage is in
// the report, and is no error.
func (d *Depot) Check(ctx context.Context) (*DepotCheck, error) {
	sites, err := d.Sites(ctx)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	out := &DepotCheck{Problems: []string{}}
	if err != nil {
		out.Problems = strings.Split(err.Error(), "\n")
	}
	bodies := NewBodies(ctx, d.Store)
	wrong := func(site string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out.Problems = append(out.Problems, fmt.Sprintf("%s: %v", site, err))
		return nil
	}
	done := map[SHA256]bool{}
	for i := range sites {
		name := sites[i].Site
		d.Note("checking " + name)
		m, err := readManifest(ctx, d.Store, &sites[i])
		if err == nil {
			err = checkChunks(ctx, d.Store, m, done, out)
		}
		if err == nil {
			err = bodies.load(ctx, m.Bodies)
		}
		if err != nil {
			if err := wrong(name, err); err != nil {
				return nil, err
			}
		}
	}
	for digest, p := range bodies.places {
		out.Bodies++
		out.Bytes += p.stored
		if err := bodies.check(digest, p); err != nil {
			if err := wrong(p.object, err); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// checkChunks reads the chunks of a manifest that were not read yet.
func checkChunks(
	ctx context.Context, from objects.Store, m *Manifest, done map[SHA256]bool, out *DepotCheck,
) error {
	var pieces []piece
	var read atomic.Int64
	for i := range m.Files {
		f := &m.Files[i]
		for k := range f.Chunks {
			c := &f.Chunks[k]
			if done[c.SHA256] {
				continue
			}
			done[c.SHA256] = true
			stored := c.Stored
			pieces = append(pieces, c.piece(m, func([]byte) error {
				read.Add(stored)
				return nil
			}))
		}
	}
	err := fetch(ctx, from, pieces)
	out.Chunks += len(pieces)
	out.Bytes += read.Load()
	return err
}

// check reads a body and compares it with its digest.
func (b *Bodies) check(digest [32]byte, p *bodyPlace) error {
	r, err := b.read(digest, p)
	if err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return err
	}
	if [32]byte(h.Sum(nil)) != digest {
		return fmt.Errorf("body %x: %w", digest[:6], ErrDamaged)
	}
	return nil
}
