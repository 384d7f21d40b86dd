// SPDX-License-Identifier: Apache-2.0

package render

import (
	"mirrord/internal/regular"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/record"
)

// RecordLister reads the records of a site. *store.Records is one.
type RecordLister interface {
	// Known returns how many numbers URLs have.
	Known() (uint32, error)
	// Resources calls f for each record, which is valid during the call.
	Resources(f func(rec *record.Resource) error) error
}

// VersionReader reads the kept versions of a site. *store.SiteVersions is one.
type VersionReader interface {
	// List returns the versions, the published one last.
	List() ([]store.Version, error)
	// Past returns the records as they were in a version.
	Past(number int) (*store.Past, error)
	// Script returns the edit script of a version against the version before it.
	Script(number int) ([]byte, error)
}

// LiveTree opens the tree of the published version. *store.Trees does.
type LiveTree interface {
	// Current fails with store.ErrNoVersion or store.ErrDamaged when there is no tree to open.
	Current() (regular.Root, error)
}

// Material is what the versions of a site are made of. All fields are needed.
type Material struct {
	Site     string // name, for errors
	Records  RecordLister
	Versions VersionReader
	Frames   FrameSource
	Bodies   *blobs.Blobs
	Tree     LiveTree
}

// MaterialOf returns the material of an open site.
func MaterialOf(st *store.State, s *store.Site) Material {
	return Material{
		Site:     s.Name,
		Records:  s.Records,
		Versions: s.Versions,
		Frames:   s.Frames,
		Bodies:   st.Bodies,
		Tree:     s.Trees,
	}
}
