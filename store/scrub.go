// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"time"

	"mirrord/internal/regular"
)

// Files of a site's folder about its health. Both are read without its database.
const (
	scrubName  = "scrub.json"  // what the daemon's scrub knows; additive JSON of its own
	redoneName = "redone.json" // LastRedone
)

// LoadScrub returns what SaveScrub kept for a site, nil for nothing.
func LoadScrub(s *State, site string) ([]byte, error) {
	return readBeside(s, site, scrubName)
}

// SaveScrub stores what a scrub knows of a site. A crash leaves what was stored before, or this. When the
// site has been removed, SaveScrub stores nothing. One goroutine calls it.
func SaveScrub(s *State, site string, v []byte) error {
	return keepBeside(s, site, scrubName, v, 0o644, !s.opt.Volatile)
}

// Redone is that a database was made again from its log.
type Redone struct {
	At    time.Time `json:"at"`
	Why   string    `json:"why"`             // what was wrong with it
	Aside string    `json:"aside,omitempty"` // folder of the site that has the damaged one
}

// LastRedone returns when the database of a site was last made again from its log; the zero value when it
// never was.
func LastRedone(s *State, site string) (r Redone, err error) {
	v, err := readBeside(s, site, redoneName)
	if err != nil || v == nil {
		return r, err
	}
	if json.Unmarshal(v, &r) != nil { // it tells nothing, and nothing depends on it
		return Redone{}, nil
	}
	return r, nil
}

// NotedDamage returns what checks of a site noted for its next run, without opening its database: URLs whose
// stored bodies are damaged, and paths of published files that are wrong.
func NotedDamage(s *State, site string) (urls, files []string, err error) {
	dir, err := siteRoot(s, site)
	if errors.Is(err, ErrNoSite) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	notes := SiteNotes{&home{root: dir}}
	if urls, err = notes.Damaged(); err == nil {
		files, err = notes.WrongFiles()
	}
	return urls, files, err
}

// RenewLog begins the log of a site that is open for writing again, with all that its database holds.
func RenewLog(s *Site) error {
	if err := s.owned(); err != nil {
		return err
	}
	return s.db.Checkpoint()
}

// IsBody reports whether a file of a tree is another name of a stored body: a check of the body covers it.
func (s *Trees) IsBody(tree regular.Root, path string, digest [32]byte) bool {
	fi, err := tree.Lstat(path)
	if err != nil {
		return false
	}
	same, err := s.bodies.Is(fi, digest)
	return same && err == nil
}
