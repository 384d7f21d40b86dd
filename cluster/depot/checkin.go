// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"mirrord/cluster/objects"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/facts"
	"mirrord/store/pages"
	"mirrord/store/travel"
)

// CheckedIn says what a check-in did.
type CheckedIn struct {
	Site      string `json:"-"`
	Version   int    `json:"version"`         // published, 0 for none
	Sequence  uint64 `json:"sequence"`        // of check-ins of the site
	Unchanged bool   `json:"unchanged"`       // the depot had everything
	Files     int    `json:"files"`           // of the site
	Bytes     int64  `json:"bytes"`           // of these
	Sent      int64  `json:"sent"`            // bytes that were put
	Bodies    int    `json:"bodies"`          // published as they came, that were put
	Lacks     int    `json:"lacks,omitempty"` // bodies that are missing here
}

// unit is the unit of check-ins and check-outs: a site, or what sites share.
type unit struct {
	name    string
	token   uint64
	tx      uint64
	version int
	files   []travel.File
	// bodies calls its argument for each body that the unit refers to; nil: there are none
	bodies func(ctx context.Context, f func([32]byte) error) error
	local  *blobs.Blobs
	from   *travel.Departure // nil: nothing of the files can lie in a depot
	known  *note             // of this machine
	note   func(*note) error // replaces it
}

// Checkin puts the state of a site as of its last commit into the depot. It may be called while the site is
// read or written. The state must be that of a machine that checked the site out, or made it: else it is
// ErrDiverged. With an older token than that of the last check-in it is ErrOldToken. again takes nothing in
// the depot for granted: everything is put, regardless of the objects that are there. It is for a store that
// was emptied, and for a site that has changed on two machines.
func (d *Depot) Checkin(
	ctx context.Context, st *store.State, site string, again bool,
) (_ *CheckedIn, err error) {
	defer func() { err = wrapped("check in "+site, err) }()
	plain, err := d.plainState(ctx, st)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	t, err := plain.Depart(site)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	u := &unit{
		name:    site,
		token:   t.Token,
		tx:      t.Tx,
		version: t.Version,
		files:   t.Files,
		local:   plain.Bodies,
		from:    t,
		bodies: func(ctx context.Context, f func([32]byte) error) error {
			return facts.UsedBodies(ctx, t.Records, f)
		},
	}
	records, err := recordsFile(plain, site)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	u.files = append(slices.Clone(t.Files), *records)
	notes, err := readNotes(plain, site)
	if err != nil {
		return nil, err
	}
	u.known = notes[d.Cluster]
	u.note = func(n *note) error {
		notes[d.Cluster] = n
		return writeNotesIn(filepath.Join(plain.Dir, "sites", site), notes)
	}
	return d.checkin(ctx, u, again)
}

// wrapped is an error with what was being done.
func wrapped(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// plainState opens the state once more, without an owner above: the caller of a check-in or check-out
// has its lease, or needs none.
func (d *Depot) plainState(ctx context.Context, st *store.State) (*store.State, error) {
	return store.OpenState(st.Dir, store.Options{Now: st.Now, Away: &fetcher{ctx, d, st.Away.Fetch}})
}

// checkin puts a unit.
func (d *Depot) checkin(ctx context.Context, u *unit, again bool) (*CheckedIn, error) {
	if err := d.writable(); err != nil {
		return nil, err
	}
	p, revision, base, err := d.before(ctx, u, again)
	if err != nil {
		return nil, err
	}
	known := u.known.at(p)
	out := &CheckedIn{
		Site:    u.name,
		Version: u.version,
		Files:   len(u.files),
	}
	for i := range u.files {
		out.Bytes += u.files[i].Size()
	}
	switch {
	case p != nil:
		out.Sequence = p.Sequence
	case known != nil: // the pointer was lost: who has seen it follows
		out.Sequence = known.Sequence
	}
	if base != nil && known != nil && known.Tx == u.tx && u.isAs(base, known) {
		out.Unchanged = true
		return out, nil
	}
	for range 3 { // a collection may condemn what this relies on
		e, _, err := readEpoch(ctx, d.Pointers)
		if err != nil {
			return nil, err
		}
		c := &checkin{
			depot:     d,
			unit:      u,
			base:      base,
			known:     known,
			condemned: e.condemned(),
			bodies:    d.bodies.in(ctx, d.Store, e.Number),
			out:       out,
		}
		m, err := c.put(ctx)
		if err != nil {
			return nil, err
		}
		if p != nil && u.token <= p.Token && m.same(base) {
			out.Unchanged = true
			return out, u.note(newNote(u, p))
		}
		m.Sequence = out.Sequence + 1
		now, _, err := readEpoch(ctx, d.Pointers)
		if err != nil {
			return nil, err
		}
		looked := time.Now()
		if now.Number > e.Number+1 || relies(m, now.condemned()) {
			continue
		}
		if p, err = d.finish(ctx, u, revision, m, looked); err != nil {
			return nil, err
		}
		out.Sequence, out.Sent = p.Sequence, out.Sent+c.sent.Load()
		return out, u.note(newNote(u, p))
	}
	return nil, fmt.Errorf("%w: collections removed objects three times while they were needed", ErrLost)
}

// isAs reports whether the files of a unit are those of its last check-in, at the same transaction: see
// Manifest.same.
func (u *unit) isAs(base *Manifest, known *note) bool {
	files := len(base.Files)
	if base.file(pages.DigestsFile) != nil {
		files--
	}
	for i := range u.files {
		switch f := &u.files[i]; f.Name {
		case pages.DigestsFile:
			continue
		case recordsName, "site.db":
		default:
			if !known.has(f) {
				return false
			}
		}
		files--
	}
	return u.tx > 0 && files == 0
}

// before reads what the depot has of a unit, and checks that the unit may follow it.
func (d *Depot) before(
	ctx context.Context, u *unit, again bool,
) (p *Pointer, revision string, base *Manifest, err error) {
	p, revision, err = d.pointer(ctx, u.name)
	known := u.known.at(p)
	switch {
	case errors.Is(err, ErrRemoved) && (again || known == nil): // it is a new one
		u.token = max(u.token, p.Token)
		return p, revision, nil, nil
	case errors.Is(err, ErrRemoved):
		return nil, "", nil, fmt.Errorf("%w: %w; push --again restores it", ErrDiverged, err)
	case errors.Is(err, ErrUnknown):
		if known != nil && !again {
			return nil, "", nil, fmt.Errorf("%w: its pointer, which this machine has seen (check-in %d); "+
				"the store was emptied, or the address is wrong; --again puts everything there", ErrLost,
				known.Sequence)
		}
		return nil, "", nil, nil
	case again && errors.Is(err, ErrDamaged):
		return nil, revision, nil, nil
	case err != nil:
		return nil, "", nil, err
	case again:
		u.token = max(u.token, p.Token)
		return p, revision, nil, nil
	case p.Token > u.token:
		return nil, "", nil, fmt.Errorf("%w: token %d, and this one has %d (%s, %s)", ErrOldToken, p.Token, u.token,
			p.Machine, p.Time.Format(time.RFC3339))
	case known == nil || known.Sequence != p.Sequence || known.Checkin != p.Checkin:
		seen := "never"
		if known != nil {
			seen = fmt.Sprintf("check-in %d", known.Sequence)
		}
		return nil, "", nil, fmt.Errorf("%w: there it is check-in %d by %s, here last seen: %s; pull "+
			"fetches that one, push --again replaces it", ErrDiverged, p.Sequence, p.Machine, seen)
	}
	if base, err = readManifest(ctx, d.Store, p); err == nil {
		err = present(ctx, d.Store, &d.bodies, base)
	}
	if errors.Is(err, ErrLost) || errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w; push --again puts everything there", err)
	}
	return p, revision, base, err
}

// finish stores the manifest and moves the pointer. looked is when the epoch was last looked at.
func (d *Depot) finish(
	ctx context.Context, u *unit, revision string, m *Manifest, looked time.Time,
) (*Pointer, error) {
	packed, err := m.encode()
	if err != nil {
		return nil, err
	}
	p := &Pointer{
		Format:   Version,
		Cluster:  d.Cluster,
		Site:     u.name,
		Token:    u.token,
		Sequence: m.Sequence,
		SHA256:   digestOf(packed),
		Checkin:  objects.RandomName(),
		Machine:  d.Machine,
		Time:     d.Now().UTC(),
		Version:  u.version,
	}
	for i := range m.Files {
		p.Bytes += m.Files[i].Size
	}
	p.Manifest = fmt.Sprintf("manifests/%s/%d-%s", u.name, p.Sequence, p.Checkin)
	_, err = d.Store.Put(ctx, p.Manifest, objects.Bytes(packed), objects.Condition{})
	if err != nil {
		return nil, err
	}
	if time.Since(looked) > d.Epoch/3 {
		return nil, fmt.Errorf("%w: the last step took so long that a collection may have come between; try again",
			ErrLost)
	}
	if err := u.note(u.known.before(newNote(u, p))); err != nil {
		return nil, err
	}
	return p, d.move(ctx, p, revision)
}

// recordsName is a file that no site's folder has: the records of the job's runs.
const recordsName = "records.json"

// records is what recordsName holds.
type records struct {
	Runs []json.RawMessage `json:"runs"` // the oldest first
	Job  json.RawMessage   `json:"job,omitempty"`
}

// keptRuns is how many runs of a site travel: all that are kept.
const keptRuns = 1000

// recordsFile makes the file of the job's records.
func recordsFile(st *store.State, site string) (*travel.File, error) {
	runs, err := st.Shared.Runs(site, keptRuns)
	if err != nil {
		return nil, err
	}
	jobs, err := st.Shared.JobRecords()
	if err != nil {
		return nil, err
	}
	r := records{Runs: []json.RawMessage{}, Job: jobs[site]}
	for _, run := range slices.Backward(runs) {
		v, err := json.Marshal(run)
		if err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, v)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return memoryFile(recordsName, b)
}
