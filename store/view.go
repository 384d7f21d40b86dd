// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/log"
)

// How long to try for a view of which records and published tree are of one version, and the pause between
// two attempts. A publish is two commits with a rename and some syncs between them.
const (
	pinFor   = 5 * time.Second
	pinPause = 10 * time.Millisecond
)

// pinTree opens the published tree of a view, also one that was decided on and has no link yet. whole
// is false when it is not the tree of the last version that the view knows: another was published meanwhile.
func (s *Site) pinTree() (whole bool, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return false, err
	}
	p := s.Trees.hold()
	s.pin = p
	nothing := (len(vs) == 0) && p.name == ""
	switch {
	case nothing, p.err != nil:
		return true, nil
	case len(vs) == 0, p.Root.Root == nil:
		return !s.Stale(), nil
	}
	meta, err := p.ReadFile(phm.MetaName, regular.MaxSmall)
	same := (err == nil) && bytes.Equal(meta, vs[len(vs)-1].Meta)
	return same || !s.Stale(), nil
}

// Busy reports whether the site was being written when a view of it was opened.
func (s *home) Busy() bool { return s.db.Busy }

// Stale reports whether something was committed since a view was opened.
func (s *home) Stale() bool { return s.db.Stale() }

// upToDate returns the database that a reader gets of a site: d, or err, when its writer has closed it, or
// has it open. Else a loss of power may have cost what was not synced: when d is not what the log says, one
// is made of the log.
func upToDate(s *State, root *os.Root, o db.Options, d *db.DB, err error) (*db.DB, error) {
	damaged := errors.Is(err, disk.ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	if (d == nil && !damaged) || db.IsWritten(root) || (d != nil && d.Busy) || log.IsClean(root) {
		return d, err
	}
	segment, serr := log.LastOf(root)
	if serr != nil {
		return d, err
	}
	defer segment.Close()
	cut := false
	whole, nerr := log.Read(segment)
	if nerr == nil {
		_, cut, nerr = counted(s, root, o.Site, whole)
	}
	if d != nil && nerr == nil {
		if nerr = db.IsUpTo(d, whole, cut); nerr == nil {
			return d, nil
		}
		if err = nerr; errors.Is(nerr, db.ErrBehind) || errors.Is(nerr, disk.ErrDamaged) {
			nerr = nil
		}
	}
	if d != nil {
		nerr = errors.Join(nerr, d.Close())
	}
	if nerr != nil {
		return nil, errors.Join(err, nerr)
	}
	version := linkedVersion(root)
	return o.InScratch(d, func(next *db.DB) error { return redoTo(next, whole, version) })
}
