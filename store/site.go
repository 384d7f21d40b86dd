// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"mirrord/store/away"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/pages"
	"mirrord/store/trees"
)

// Site is one site, open for one process. What it keeps is reached through its parts. They may be used from
// several goroutines; Records.Commit, Records.Fold and what publishes want one caller at a time.
type Site struct {
	Records  *facts.Records
	Frames   *bodies.Frames
	Versions *facts.Versions
	Trees    *trees.SiteTrees
	Notes    *SiteNotes
	Parts    *blobs.Parts

	*home.Folder
	kept    *blobs.Blobs
	away    *away.Site // what of it a check-out has left in a depot; nil for nothing
	packs   *bodies.Packs
	heads   *bodies.HeadFiles
	spool   *blobs.Spool
	holds   bool // the spool
	glancer glancer
}

// makeParts makes the parts of a site whose folder and files are open.
func (s *Site) makeParts() {
	s.Records = facts.Of(s.Folder, s.Frames, s.heads)
	s.Versions = s.Records.Versions()
	s.Trees = trees.Of(s.Folder, s.kept)
	s.packs.Published, s.packs.Volatile = s.Trees.OpenFile, s.Volatile
	s.Notes = &SiteNotes{s.Folder}
	s.Parts = blobs.OpenParts(s.spool, blobs.PartsOf{
		Root:     s.Root,
		Volatile: s.Volatile,
		Now:      s.Now,
		Owned:    s.Owned,
	})
}

// Close lets go of the site.
func (s *Site) Close() error {
	if s.DB == nil {
		return ErrClosed
	}
	s.Parts.Close()
	err := errors.Join(s.Trees.Close(), s.packs.Close(), s.heads.Close())
	if !s.ReadOnly && err == nil {
		s.glancer.note(s.Folder, false)
	}
	err = errors.Join(err, s.Release())
	s.DB = nil
	if s.holds {
		s.spool.Unhold()
		s.holds = false
	}
	return err
}

// Pages is the folder with what the pages of the site say.
func (s *Site) Pages() pages.PageFiles {
	return pages.PageFiles{Root: s.Root, Busy: s.DB.Busy, Reader: s.ReadOnly}
}

// ErrClosed says that a site was closed already.
var ErrClosed = errors.New("site is closed")

// explain says in front of an error, where there is one, what was being done.
func explain(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
