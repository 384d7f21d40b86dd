// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/pages"
)

// Buckets of site.db.
var (
	bResources = []byte("resources") // site.URL.Key -> Resource
	bLinks     = []byte("links")     // number of a document, big endian -> AppendTargets
	bJournal   = []byte("journal")   // sequence -> batch of an unfinished run, before format 11
	// version, big endian, then resource key -> the record before that version; empty: there was none
	bHistory  = []byte("history")
	bVersions = []byte("versions") // number -> Version as JSON
	bObserved = []byte("observed") // number of a run -> Observation
	bLooks    = []byte("looks")    // sequence -> look
	bScripts  = []byte("scripts")  // number -> zstd of the edit script against the version before
)

// Keys of the meta bucket.
var (
	kPack    = []byte("pack")    // number, committed bytes
	kRun     = []byte("run")     // Run as JSON, while a run is unfinished
	kPublish = []byte("publish") // pending as JSON, while the link is moved
	kBuild   = []byte("build")   // names of trees that are being changed, with spaces between them
	kTrees   = []byte("trees")   // []treeNote as JSON
	kLive    = []byte("live")    // number of the published version
	kRuns    = []byte("runs")    // number of runs begun
	// uvarint number of the last file of heads, its committed bytes, then the places of its models
	kHeads = []byte("heads")
	// Unix seconds, big endian: when Rebuild made this database; 0 while it has not finished
	kRebuilt = []byte("rebuilt")
	kFolding = []byte("folding") // how far an older program had folded a chunk
	kRests   = []byte("rests")   // version, then where its documents lay and where their rests lie; see Rests
	// number of the pack of rests of an unfinished version, big endian, and a byte more once it is to be removed
	kRules = []byte("rules") // fingerprint of the rules under which all stored documents were scanned
	kToken = []byte("token") // of the last lease; absent when only older versions have opened the site
)

// siteDB is the database of a site.
const siteDB = "site.db"

// Site is one site, open for one process. What it keeps is reached through its parts. They may be used from
// several goroutines; Records.Commit, Records.Fold and what publishes want one caller at a time.
type Site struct {
	Name     string
	Records  *Records
	Frames   *bodies.Frames
	Versions *SiteVersions
	Trees    *Trees
	Notes    *SiteNotes
	Parts    *blobs.Parts

	*home
	kept  *blobs.Blobs
	away  *awaySite // what of it a check-out has left in a depot; nil for nothing
	packs *bodies.Packs
	heads *bodies.HeadFiles
	spool *blobs.Spool
	holds bool // the spool

	glancing sync.Mutex // holds glanced, and the file
	glanced  string     // what glanceName has
}

// makeParts makes the parts of a site whose folder and files are open.
func (s *Site) makeParts() {
	s.Records = &Records{
		home:      s.home,
		packs:     s.packs,
		frames:    s.Frames,
		heads:     s.heads,
		foldItems: foldItems,
		foldParts: foldParts,
		looks:     &looks{home: s.home, heads: s.heads},
	}
	s.Versions = &SiteVersions{home: s.home, records: s.Records}
	s.Trees = &Trees{home: s.home, bodies: s.kept}
	s.packs.Published, s.packs.Volatile = s.Trees.file, s.volatile
	s.Notes = &SiteNotes{s.home}
	s.Parts = blobs.OpenParts(s.spool, blobs.PartsOf{
		Root:     s.root,
		Volatile: s.volatile,
		Now:      s.now,
		Owned:    s.owned,
	})
}

// Close lets go of the site.
func (s *Site) Close() error {
	if s.db == nil {
		return ErrClosed
	}
	s.Parts.Close()
	if pin := s.Trees.pin; pin != nil {
		pin.Close() // read only: nothing can be lost
	}
	err := errors.Join(s.packs.Close(), s.heads.Close())
	if !s.readOnly && err == nil {
		s.noteGlance(false)
	}
	err = errors.Join(err, s.release())
	s.db = nil
	if s.holds {
		s.spool.Unhold()
		s.holds = false
	}
	return err
}

// BadValue makes a *DatabaseError of what a caller found wrong with values of the site's database.
func (s *Site) BadValue(err error) error { return s.db.Damaged(err) }

// Volatile reports whether the site is written without syncs, as that of a one-off mirror is.
func (s *Site) Volatile() bool { return s.volatile }

// Dir is the site's folder.
func (s *Site) Dir() string { return s.dir }

// Pages is the folder with what the pages of the site say.
func (s *Site) Pages() pages.PageFiles {
	return pages.PageFiles{Root: s.root, Busy: s.Busy(), Reader: s.readOnly}
}

// Rests returns what makes the rests of a site; nil when it keeps its documents whole.
func (s *Site) Rests() *Rests {
	if !s.Frames.Plain {
		return nil
	}
	return &Rests{
		home:    s.home,
		packs:   s.packs,
		records: s.Records,
	}
}

// maxName is how long the name of a site is at most.
const maxName = 64

// ValidName reports whether name can be a site's folder.
func ValidName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, "/\\\x00") && name[0] != '.'
}

// Errors of opening.
var (
	ErrNoSite    = disk.Said("no such site")
	ErrNoVersion = errors.New("no version is published")
	ErrClosed    = errors.New("site is closed")
)

// ErrTooLong says that a URL is longer than MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")

// explain says in front of an error, where there is one, what was being done.
func explain(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
