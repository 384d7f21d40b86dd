// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"

	"mirrord/store/blobs"
	"mirrord/store/facts"
	"mirrord/store/pages"
	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// Site is one site, open for one process. What it keeps is reached through its parts. They may be used from
// several goroutines; Records.Commit, Records.Fold and what publishes want one caller at a time.
type Site struct {
	upkeep.Site
	Notes *SiteNotes
	Parts *blobs.Parts

	spool   *blobs.Spool
	holds   bool // the spool
	glancer glancer
}

func (s *Site) makeParts() {
	s.Records = facts.Of(s.Folder, s.Frames, s.Heads)
	s.Versions = facts.VersionsOf(s.Records)
	s.Trees = trees.Of(s.Folder, s.Kept)
	s.Frames.Published, s.Frames.Volatile = s.Trees.OpenFile, s.Volatile
	s.Notes = &SiteNotes{s.Folder}
	s.Parts = blobs.OpenParts(s.spool, blobs.PartsOf{
		Root:     s.Root,
		Volatile: s.Volatile,
		Now:      s.Now,
		Owned:    s.Owned,
	})
}

func (s *Site) Close() error {
	if s.DB == nil {
		return ErrClosed
	}
	s.Parts.Close()
	err := errors.Join(s.Trees.Close(), s.Frames.Close(), s.Heads.Close())
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
