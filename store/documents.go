// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// Documents reads the packs of a site without its database, and without keeping anybody from it. A pack that
// was compacted away meanwhile is ErrDamaged: the records say where its documents are now. Safe for
// concurrent use.
type Documents struct{ packs *packs }

// Documents opens the packs of a site for reading. The caller closes them.
func (s *State) Documents(name string) (*Documents, error) {
	if !ValidName(name) {
		return nil, fmt.Errorf("%q cannot name a site", name)
	}
	r, err := s.root.OpenRoot("sites/" + name + "/packs")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("packs of %s: %w", name, ErrNoSite)
	}
	if err != nil {
		return nil, diskErr("open packs", err)
	}
	return &Documents{openPacks(r)}, nil
}

// ReadFrame decodes a document.
func (d *Documents) ReadFrame(r *FrameReader, at Place) (Frame, error) { return d.packs.read(r, at) }

// Close lets go of the packs.
func (d *Documents) Close() error { return d.packs.close() }

// Frames is the packs of an open site, to which documents are appended.
type Frames struct {
	packs *packs
	plain bool // documents are written as they are: the packs live as long as one run
}

// ReadFrame decodes a document of the packs.
func (s *Frames) ReadFrame(r *FrameReader, at Place) (Frame, error) { return s.packs.read(r, at) }
