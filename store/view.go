// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"os"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
)

// How long to try for a view of which records and published tree are of one version, and the pause between
// two attempts. A publish is two commits with a rename and some syncs between them.
const (
	pinFor   = 5 * time.Second
	pinPause = 10 * time.Millisecond
)

// pinned is the published tree of a view: the link may have been moved since.
type pinned struct {
	name string
	tree regular.Root // the zero value when nothing is published, or it is missing
	lock *os.File     // keeps the tree from being reused; nil: nothing does
	err  error        // why name is not known
}

// pinTree opens the published tree for a view: the one that was decided on, also before the link leads
// there. whole is false when it is not the tree of the last version
// that the view knows, because something was published in between, or is being published.
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
	case len(vs) == 0, p.tree.Root == nil:
		return !s.Stale(), nil
	}
	meta, err := p.tree.ReadFile(phm.MetaName, regular.MaxSmall)
	same := (err == nil) && bytes.Equal(meta, vs[len(vs)-1].Meta)
	return same || !s.Stale(), nil
}

// Busy reports whether the site was being written when a view of it was opened.
func (s *home) Busy() bool { return s.db.busy }

// Stale reports whether something was committed since a view was opened.
func (s *home) Stale() bool { return s.db.stale() }
