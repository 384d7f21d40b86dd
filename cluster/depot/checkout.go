// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/travel"
)

// Out says how a site is checked out.
type Out struct {
	// Discard gives up what has changed here since the site was last checked in or out.
	Discard bool
	// Removed removes a site here that was removed from the depot.
	Removed bool
	// Ready is called when the site is whole, and before it takes the place of the one that is here: with the
	// state, and the name under which the site stands aside. It may write the site. Its published tree is not
	// made yet. nil: nothing is to be done.
	Ready func(ctx context.Context, st *store.State, aside string) error
}

// CheckedOut says what a check-out did.
type CheckedOut struct {
	Site      string `json:"-"`
	Version   int    `json:"version"`         // published, 0 for none
	Sequence  uint64 `json:"sequence"`        // of check-ins of the site
	Unchanged bool   `json:"unchanged"`       // it was here already
	Ahead     bool   `json:"ahead,omitempty"` // the local state is newer than the depot's, and stays
	Files     int    `json:"files"`           // of the site
	Bytes     int64  `json:"bytes"`           // of these
	Received  int64  `json:"received"`        // bytes that came
	Bodies    int    `json:"bodies"`          // published as they came, that were fetched
	Lacks     int    `json:"lacks,omitempty"` // bodies that the depot lacks as well
}

// Checkout fetches a site as it was last checked in. Only missing data is fetched. The local site is replaced
// in one step, once all was received and verified; it must not be open for writing. A site that the depot
// does not know is ErrUnknown, and the local one stays, but for o.Removed. When only the site here has
// changed since it was last in the depot, it stays too; when both have, it is ErrDiverged.
func (d *Depot) Checkout(
	ctx context.Context, st *store.State, site string, o Out,
) (out *CheckedOut, err error) {
	defer func() { err = wrapped("check out "+site, err) }()
	if st, err = d.plainState(ctx, st); err != nil {
		return nil, err
	}
	defer st.Close()
	notes, err := readNotes(st, site)
	if err != nil {
		return nil, err
	}
	tx, err := travel.LastTransaction(st.StateFolder, site)
	if err != nil {
		return nil, err
	}
	p, _, err := d.pointer(ctx, site)
	known := notes[d.Cluster].at(p)
	switch {
	case errors.Is(err, ErrRemoved):
		if o.Removed && known != nil {
			return nil, dropRemoved(st, site, tx == known.Tx || o.Discard, err)
		}
	case errors.Is(err, ErrUnknown) && known != nil:
		return nil, fmt.Errorf("%w: its pointer, which this machine has seen (check-in %d); the store "+
			"was emptied, or the address is wrong", ErrLost, known.Sequence)
	}
	if err != nil {
		return nil, err
	}
	out = &CheckedOut{
		Site:     site,
		Version:  p.Version,
		Sequence: p.Sequence,
		Bytes:    p.Bytes,
	}
	if tx > 0 {
		stays, err := follows(known, p, tx, o.Discard)
		if err != nil {
			return nil, err
		}
		if stays {
			out.Unchanged, out.Ahead = tx == known.Tx, tx != known.Tx
			if !d.OnDemand {
				out.Received, err = st.BringAll(ctx, site)
			}
			return out, err
		}
	}
	m, err := readManifest(ctx, d.Store, p)
	if err != nil {
		return nil, err
	}
	out.Files = len(m.Files)
	a, err := travel.Receive(st.StateFolder, st.Spool, site)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if now, err := travel.LastTransaction(st.StateFolder, site); err != nil || now != tx {
		return nil, errors.Join(err, fmt.Errorf("it was written meanwhile: %w", disk.ErrLocked))
	}
	r := &receiver{
		depot:   d,
		state:   st,
		arrival: a,
		pointer: p,
		out:     out,
	}
	if d.OnDemand {
		r.left = newLeaving(d, p)
	}
	if err := r.receive(ctx, m); err != nil {
		return nil, err
	}
	if err := r.left.write(a.Root); err != nil {
		return nil, err
	}
	if o.Ready == nil && r.left.any() {
		o.Ready = opened
	}
	if o.Ready != nil {
		if err := o.Ready(ctx, st, a.Aside); err != nil {
			return nil, err
		}
	}
	return out, r.finish()
}

// follows reports whether the site here stays, because it is what the pointer says or was made of that.
func follows(known *note, p *Pointer, tx uint64, discard bool) (stays bool, err error) {
	same := known != nil && known.Sequence == p.Sequence && known.Checkin == p.Checkin
	switch {
	case same && (tx == known.Tx || !discard):
		return true, nil
	case discard || (known != nil && tx == known.Tx && known.Sequence < p.Sequence):
		return false, nil
	case known != nil && known.Sequence > p.Sequence:
		return false, fmt.Errorf("%w: it has check-in %d and this machine has seen %d; pull --discard takes what "+
			"it has, push --again replaces it", ErrSetBack, p.Sequence, known.Sequence)
	case known == nil:
		return false, fmt.Errorf("%w; pull --discard replaces the local state, push --again the depot's",
			ErrStranger)
	}
	return false, fmt.Errorf("%w since check-in %d: there it is check-in %d by %s; pull --discard gives up "+
		"the local state, push --again the depot's", ErrDiverged, known.Sequence, p.Sequence, p.Machine)
}

// receiver makes one site.
type receiver struct {
	depot   *Depot
	state   *store.State
	arrival *travel.Arrival
	pointer *Pointer
	out     *CheckedOut
	left    *leaving // nil: nothing is left in the depot

	runs   [][]byte
	job    []byte
	opened []*os.File // that chunks are written to
}

// receive fetches files and bodies.
func (r *receiver) receive(ctx context.Context, m *Manifest) (err error) {
	defer func() {
		for _, f := range r.opened {
			err = errors.Join(err, f.Close())
		}
	}()
	var names []string
	for i := range m.Files {
		if m.Files[i].Name != recordsName {
			names = append(names, m.Files[i].Name)
		}
	}
	if err := r.arrival.Tidy(names); err != nil {
		return err
	}
	var pieces []piece
	var noted []byte
	for i := range m.Files {
		f := &m.Files[i]
		if f.Name == recordsName {
			var small []piece
			if noted, small, err = f.inMemory(m, mostRecords); err != nil {
				return err
			}
			pieces = append(pieces, small...)
			continue
		}
		if r.left != nil && travel.PackNumber(f.Name) > 0 {
			r.left.packs = append(r.left.packs, f)
			continue
		}
		if pieces, err = r.file(ctx, m, f, everything, pieces); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := r.fetch(ctx, pieces); err != nil {
		return err
	}
	if err := r.takeRecords(noted); err != nil {
		return err
	}
	s, err := r.state.ViewSite(r.arrival.Aside)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r.left != nil {
		if err := r.packs(ctx, m, s); err != nil {
			return err
		}
	}
	return r.bodies(ctx, m, s)
}

func (r *receiver) fetch(ctx context.Context, pieces []piece) error {
	for i := range pieces {
		r.out.Received += pieces[i].stored
	}
	r.depot.Note(fmt.Sprintf("%s: fetching %d pieces of files", r.out.Site, len(pieces)))
	return fetch(ctx, r.depot.Store, pieces)
}

// mostRecords bounds the file of a job's records, in bytes.
const mostRecords = 64 << 20

// inMemory returns the pieces of a file of at most so many bytes; the contents are there once all are
// fetched.
func (f *File) inMemory(m *Manifest, most int64) (contents []byte, out []piece, err error) {
	if f.Size > most {
		return nil, nil, fmt.Errorf("%s: %w: it is too large", f.Name, ErrDamaged)
	}
	contents = make([]byte, f.Size)
	for at, c := range f.chunks() {
		out = append(out, c.piece(m, func(raw []byte) error {
			copy(contents[at:], raw)
			return nil
		}))
	}
	return contents, out, nil
}

// piece returns the piece to fetch of a chunk.
func (c *Chunk) piece(m *Manifest, use func([]byte) error) piece {
	return piece{
		object: m.Segments[c.Segment].Name,
		at:     c.At,
		stored: c.Stored,
		size:   c.Size,
		digest: c.SHA256,
		use:    use,
	}
}

// openIn opens a file of a folder; nil when it is missing.
func openIn(root *os.Root, name string) (*os.File, error) {
	if root == nil {
		return nil, nil
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// readChunk returns a chunk of a file, nil when the file has other bytes there.
func readChunk(file *os.File, at int64, c *Chunk) []byte {
	if file == nil {
		return nil
	}
	raw := make([]byte, c.Size)
	if _, err := file.ReadAt(raw, at); err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	if digestOf(raw) != c.SHA256 {
		return nil
	}
	return raw
}

// link makes a file another name of the one that is here.
func (r *receiver) link(name string) error {
	a := r.arrival
	if err := a.Root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(filepath.Join(a.Old.Name(), name), filepath.Join(a.Root.Name(), name))
}

// ownFile opens a file for writing and makes it when it is missing. One that has another name too is made
// again: it is that of the site that is here.
func ownFile(root *os.Root, f *File) (*os.File, error) {
	if fi, err := root.Lstat(f.Name); err == nil && (!fi.Mode().IsRegular() || hasLinks(fi)) {
		if err := root.Remove(f.Name); err != nil {
			return nil, err
		}
	}
	file, err := root.OpenFile(f.Name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = file.Truncate(f.Size)
	if err == nil {
		err = file.Chmod(fileMode(f))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// fileMode is how the file may be used: what the manifest says of it, and no more than a site's files have.
func fileMode(f *File) fs.FileMode {
	mode := fs.FileMode(f.Mode) & 0o644
	if f.Name == "site.db" {
		mode = 0o640
	}
	return mode | 0o600
}

// finish puts the site in its place, with a note of what it is: what other depots were told of the one before
// no longer holds.
func (r *receiver) finish() error {
	tx, err := travel.LastTransaction(r.state.StateFolder, r.arrival.Aside)
	if err != nil {
		return err
	}
	notes := map[string]*note{
		r.depot.Cluster: {Sequence: r.pointer.Sequence, Checkin: r.pointer.Checkin, Tx: tx},
	}
	if err := writeNotesIn(r.arrival.Root.Name(), notes); err != nil {
		return err
	}
	if err := r.state.Shared.ReplaceRecords(r.out.Site, r.runs, r.job); err != nil {
		return err
	}
	return r.arrival.Finish()
}

// hasLinks reports whether a file has several names.
func hasLinks(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 1
}
