// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"io"
	"slices"

	"mirrord/store/bodies"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Elsewhere finds bodies that another site of the state has too, by their digests: in a pack, published as
// they came, or as a file of its tree. One goroutine uses it.
type Elsewhere struct {
	state  *State
	sites  []*Site // that have some
	places map[[32]byte][]elsewhere
	frames *bodies.FrameReader
}

// elsewhere is where another site has a body.
type elsewhere struct {
	*Site
	at   record.Place // of a document; zero for a body that is published as it came
	path string       // mirror path
}

// mostElsewhere bounds the known places of one body.
const mostElsewhere = 8

// LookElsewhere reads the records of all sites but one, in all versions, for bodies of the given digests. A
// site that cannot be read has none. The error is that ctx ended, or one of the disk.
func LookElsewhere(ctx context.Context, s *State, but string, want map[[32]byte]bool) (*Elsewhere, error) {
	e := &Elsewhere{
		state:  s,
		places: map[[32]byte][]elsewhere{},
		frames: bodies.NewFrameReader(),
	}
	names, err := s.Sites()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == but {
			continue
		}
		if err := e.look(ctx, name, want); err != nil {
			s.opt.Log.Debug("no copies of bodies from there", "site", name, "err", err)
		}
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

func (e *Elsewhere) look(ctx context.Context, name string, want map[[32]byte]bool) error {
	site, err := e.state.ViewSite(name)
	if err != nil {
		return err
	}
	found := false
	err = site.Records.Every(func(r *record.Resource) error {
		if have := e.places[r.Digest]; r.Body != record.NoBody && want[r.Digest] && len(have) < mostElsewhere {
			e.places[r.Digest], found = append(have, elsewhere{site, r.At, r.Path}), true
		}
		return ctx.Err()
	})
	if !found {
		return errors.Join(err, site.Close())
	}
	e.sites = append(e.sites, site)
	return err
}

// Body returns a body; nil when no site has a good one.
func (e *Elsewhere) Body(digest [32]byte) []byte {
	right := func(b []byte) bool { return record.IsDigestOf(digest, b) }
	if f, err := e.state.Bodies.Open(digest, -1); err == nil {
		b, err := io.ReadAll(f)
		if f.Close(); err == nil && right(b) {
			return b
		}
	}
	for _, p := range e.places[digest] {
		if p.at.Len > 0 {
			if f, err := p.Frames.ReadFrame(e.frames, p.at); (err == nil) && right(f.Body) {
				return slices.Clone(f.Body)
			}
		}
		if b, err := p.Root.ReadFile(trees.CurrentLink + "/" + p.path); (err == nil) && right(b) {
			return b
		}
	}
	return nil
}

func (e *Elsewhere) Close() (err error) {
	for _, site := range e.sites {
		err = errors.Join(err, site.Close())
	}
	return err
}
