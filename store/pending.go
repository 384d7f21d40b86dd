// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"mirrord/store/record"
)

// pending is a publish that was decided: in any case the link moves to Tree, and Version becomes the
// published one. The next open for writing carries it out; readers treat it as done.
type pending struct {
	Tree    string  `json:"tree"`
	Again   bool    `json:"again,omitempty"` // no other tree can be relied on
	Version Version `json:"version"`
	Script  []byte  `json:"script,omitempty"`
}

// pendingIn returns the publish that was decided and not carried out, nil without one.
func (s *home) pendingIn(tx *transaction) (*pending, error) {
	v := tx.Bucket(bMeta).Get(kPublish)
	if v == nil {
		return nil, nil
	}
	p := new(pending)
	if err := json.Unmarshal(v, p); err != nil {
		return nil, fmt.Errorf("site %s: publish: %w: %v", s.name, record.ErrValue, err)
	}
	return p, nil
}

// decided is pendingIn for those who read a site: nil for a site that is open for writing, which has carried
// it out.
func (s *home) decided() (p *pending, err error) {
	if !s.readOnly {
		return nil, nil
	}
	err = s.db.View(func(tx *transaction) error {
		p, err = s.pendingIn(tx)
		return err
	})
	return p, err
}

// Publishing reports whether a publish was decided that has not been carried out: a process does it now, or
// the next one that opens the site for writing will.
func (s *home) Publishing() bool {
	p, err := s.decided()
	return (err == nil) && (p != nil)
}

// with returns versions, oldest first, with the one that was decided. p may be nil.
func (p *pending) with(vs []Version) []Version {
	if p == nil {
		return vs
	}
	vs = slices.DeleteFunc(vs, func(v Version) bool { return v.Number == p.Version.Number })
	return append(vs, p.Version)
}

// is reports whether a number, as a key, is that of the version that was decided. p may be nil.
func (p *pending) is(key []byte) bool {
	return (p != nil) && (len(key) == 8) && binary.BigEndian.Uint64(key) == uint64(p.Version.Number)
}
