// SPDX-License-Identifier: Apache-2.0

package store

import "mirrord/store/record"

// Documents reads the packs of a site without its database, and without keeping anybody from it. A pack that
// was compacted away meanwhile is ErrDamaged: the records say where its documents are now. Safe for
// concurrent use.
type Documents struct{ packs *packs }

// ReadFrame decodes a document.
func (d *Documents) ReadFrame(r *FrameReader, at record.Place) (Frame, error) {
	return d.packs.read(r, at)
}

// Close lets go of the packs.
func (d *Documents) Close() error { return d.packs.close() }

// Frames is the packs of an open site, to which documents are appended.
type Frames struct {
	packs   *packs
	gather  *gatherer
	encoder frameEncoder
	quick   bool // full frames are written in S2, which takes less time and more room
	plain   bool // full frames are written as they are, until rests take their places
}

// ReadFrame decodes a document of the packs.
func (s *Frames) ReadFrame(r *FrameReader, at record.Place) (Frame, error) {
	return s.packs.read(r, at)
}

// OneOff reports whether the documents are those of a one-off mirror.
func (s *Frames) OneOff() bool { return s.plain }
