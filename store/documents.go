// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"

	bolt "go.etcd.io/bbolt"

	"mirrord/site"
)

// Documents reads the packs of a site without its database, and without keeping anybody from it. A pack that was compacted away meanwhile is
// ErrDamaged: the records say where its documents are now. Safe for concurrent use.
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

// Dated is what was known of a URL in a version.
type Dated struct {
	Version Version
	Record  Resource
	Known   bool // the URL was known then
}

// History returns the records of a URL in all kept versions, oldest first. It does not open the versions: one look-up for each.
func (s *Site) History(u site.URL) ([]Dated, error) {
	vs, err := s.Versions()
	if err != nil || len(vs) == 0 {
		return nil, err
	}
	out := make([]Dated, len(vs))
	key := u.Key(nil)
	err = s.db.View(func(tx *bolt.Tx) error {
		now, hist := tx.Bucket(bResources).Get(key), tx.Bucket(bHistory)
		before := func(version int) {
			if v := hist.Get(append(seqKey(uint64(version)), key...)); v != nil {
				now = v
			}
		}
		before(vs[len(vs)-1].Number + 1) // what an unfinished run has found
		for i := len(vs) - 1; i >= 0; i-- {
			out[i].Version = vs[i]
			if len(now) > 0 {
				out[i].Known = true
				if err := out[i].Record.decode(u, now); err != nil {
					return err
				}
			}
			before(vs[i].Number)
		}
		return nil
	})
	return out, err
}
