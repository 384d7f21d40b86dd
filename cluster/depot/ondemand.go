// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"mirrord/store"
	"mirrord/store/away"
	"mirrord/store/facts"
	"mirrord/store/record"
	"mirrord/store/travel"
)

// leaving gathers what a check-out leaves in the depot, because only older versions need it: chunks of all
// packs but the last one, and bodies.
type leaving struct {
	away   away.Remainder
	object map[string]int // numbers of Away.Segments
	packs  []*File        // that wait for the database, which says what of them is needed
	need   *facts.Needed
	old    map[uint32][]away.Part // what the site that is here has left
}

func newLeaving(d *Depot, p *Pointer) *leaving {
	return &leaving{
		away: away.Remainder{
			Format:   away.Format,
			Depot:    d.Address,
			Cluster:  d.Cluster,
			Sequence: p.Sequence,
			Segments: []string{},
		},
		object: map[string]int{},
	}
}

func (l *leaving) number(object string) int {
	n, ok := l.object[object]
	if !ok {
		n = len(l.away.Segments)
		l.object[object] = n
		l.away.Segments = append(l.away.Segments, object)
	}
	return n
}

// body leaves a body, unless it is needed. A nil l leaves nothing.
func (l *leaving) body(digest [32]byte, p *bodyPlace) bool {
	if l == nil || l.need.Bodies[digest] || p.size == 0 {
		return false
	}
	l.away.Bodies = append(l.away.Bodies, away.Body{
		Part: away.Part{
			Size:    p.size,
			SHA256:  digest,
			Segment: l.number(p.object),
			At:      p.at,
			Stored:  p.stored,
		},
		Modified: p.modified.UnixNano(),
	})
	return true
}

// any reports whether something was left.
func (l *leaving) any() bool { return l != nil && len(l.away.Packs)+len(l.away.Bodies) > 0 }

// write notes what was left in the folder of a site.
func (l *leaving) write(root *os.Root) error {
	if !l.any() {
		return nil
	}
	b, err := json.Marshal(&l.away)
	if err != nil {
		return err
	}
	return root.WriteFile(away.FileName, b, 0o644)
}

// remember reads what the site that is here has left. What cannot be read is nothing.
func (l *leaving) remember(old *os.Root) {
	l.old = map[uint32][]away.Part{}
	if old == nil {
		return
	}
	var a away.Remainder
	if b, err := old.ReadFile(away.FileName); err == nil && json.Unmarshal(b, &a) == nil {
		for _, p := range a.Packs {
			l.old[p.Number] = p.Parts
		}
	}
}

// leftBefore reports whether the site that is here has left a chunk too.
func (l *leaving) leftBefore(num uint32, at int64, c *Chunk) bool {
	if l == nil {
		return false
	}
	return away.Holds(l.old[num], at, c.Size, c.SHA256)
}

// opened makes the format of a site's database that of one that has left something: programs that do not know
// of it would take holes for damage.
func opened(_ context.Context, st *store.State, aside string) error {
	s, err := st.OpenSite(aside)
	if err != nil {
		return err
	}
	return s.Close()
}

// packs fetches the parts of packs that are needed, and the last one whole.
func (r *receiver) packs(ctx context.Context, m *Manifest, s *store.Site) error {
	need, err := facts.NeededNow(ctx, s.Records)
	if err != nil {
		return err
	}
	r.left.need = need
	r.left.remember(r.arrival.Old)
	ranges := rangesOf(need.Places)
	var pieces []piece
	for _, f := range r.left.packs {
		num := travel.PackNumber(f.Name)
		needs := func(at, size int64) bool { return covers(ranges[num], at, size) }
		if num >= need.LastPack {
			needs = everything
		}
		if pieces, err = r.file(ctx, m, f, needs, pieces); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return r.fetch(ctx, pieces)
}

// span is a range of a pack.
type span struct{ from, to int64 }

// rangesOf are the ranges of each pack that places cover, in order.
func rangesOf(places []record.Place) map[uint32][]span {
	out := map[uint32][]span{}
	for _, at := range places { // sorted
		is := span{at.Off, at.Off + int64(at.Len)}
		if all := out[at.Pack]; len(all) > 0 && all[len(all)-1].to >= is.from {
			all[len(all)-1].to = max(all[len(all)-1].to, is.to)
		} else {
			out[at.Pack] = append(all, is)
		}
	}
	return out
}

// covers reports whether some range has a part of the one from at on.
func covers(all []span, at, size int64) bool {
	i, _ := slices.BinarySearchFunc(all, at, func(s span, at int64) int { return cmp.Compare(s.to, at+1) })
	return i < len(all) && all[i].from < at+size
}

// everything is the need of a file of which nothing is left in the depot.
func everything(int64, int64) bool { return true }

// file makes a file from local data, appends the pieces to fetch that are needed, and leaves the rest. One
// that the local site has, with the same holes, becomes a hard link to it: parts fetched later are in both.
func (r *receiver) file(
	ctx context.Context, m *Manifest, f *File, needs func(at, size int64) bool, pieces []piece,
) ([]piece, error) {
	if err := r.arrival.Root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return nil, err
	}
	old, err := openIn(r.arrival.Old, f.Name)
	if err != nil {
		return nil, err
	}
	num := travel.PackNumber(f.Name)
	here := map[int64]bool{} // offsets of chunks that the local site has
	same := false
	if old != nil {
		defer old.Close()
		fi, err := old.Stat()
		if err != nil {
			return nil, err
		}
		same = fi.Size() == f.Size && fi.Mode().IsRegular()
		for at, c := range f.chunks() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			here[at] = readChunk(old, at, c) != nil
			same = same && (here[at] || r.left.leftBefore(num, at, c))
		}
	}
	var file *os.File
	if same && r.link(f.Name) == nil {
		file, err = r.arrival.Root.OpenFile(f.Name, os.O_RDWR, 0)
	} else {
		same = false
		file, err = ownFile(r.arrival.Root, f)
	}
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, file)
	left := away.Pack{Number: num}
	for at, c := range f.chunks() {
		switch {
		case same && here[at]:
		case !same && readChunk(file, at, c) != nil: // a check-out that was killed had fetched it
		case here[at]:
			if _, err := file.WriteAt(readChunk(old, at, c), at); err != nil {
				return nil, err
			}
		case needs(at, c.Size):
			pieces = append(pieces, c.piece(m, func(raw []byte) error {
				_, err := file.WriteAt(raw, at)
				return err
			}))
		default:
			left.Parts = append(left.Parts, away.Part{
				From:    at,
				Size:    c.Size,
				SHA256:  c.SHA256,
				Segment: r.left.number(m.Segments[c.Segment].Name),
				At:      c.At,
				Stored:  c.Stored,
			})
		}
	}
	if len(left.Parts) > 0 {
		r.left.away.Packs = append(r.left.away.Packs, left)
	}
	return pieces, nil
}

// fetcher fetches what check-outs left in a depot, or in another one by its fetcher.
type fetcher struct {
	ctx   context.Context
	depot *Depot
	other away.Bringer // nil for none
}

// errElsewhere says that something was left in another depot.
var errElsewhere = errors.New("that is another depot than this one")

// FetchParts implements away.Bringer.
func (f *fetcher) FetchParts(
	from *away.Remainder, parts []away.Part, use func(*away.Part, []byte) error,
) error {
	if from.Cluster != f.depot.Cluster {
		if f.other == nil {
			return errElsewhere
		}
		return f.other.FetchParts(from, parts, use)
	}
	pieces := make([]piece, len(parts))
	for i := range parts {
		p := &parts[i]
		pieces[i] = piece{
			object: from.Segments[p.Segment],
			at:     p.At,
			stored: p.Stored,
			size:   p.Size,
			digest: p.SHA256,
			use:    func(raw []byte) error { return use(p, raw) },
		}
	}
	return fetch(f.ctx, f.depot.Store, pieces)
}

// FetchBody implements away.Bringer.
func (f *fetcher) FetchBody(from *away.Remainder, b *away.Body) (io.ReadCloser, error) {
	switch {
	case from.Cluster != f.depot.Cluster && f.other == nil:
		return nil, errElsewhere
	case from.Cluster != f.depot.Cluster:
		return f.other.FetchBody(from, b)
	case b.Size >= largeBody:
		return io.NopCloser(&largeReader{
			b:      &Bodies{ctx: f.ctx, store: f.depot.Store},
			object: from.Segments[b.Segment],
			end:    b.Size,
		}), nil
	}
	var body []byte
	err := f.FetchParts(from, []away.Part{b.Part}, func(_ *away.Part, raw []byte) error {
		body = bytes.Clone(raw)
		return nil
	})
	return io.NopCloser(bytes.NewReader(body)), err
}
