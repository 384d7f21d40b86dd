// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"strings"
	"time"
)

// PartsFreed says what Parts.Collect did, or would do.
type PartsFreed struct {
	Parts int   `json:"parts"` // that are removed
	Freed int64 `json:"freed"` // bytes
	Kept  int   `json:"kept"`
}

// Collect deletes the parts that drop names, given the URL of each and when it last grew, and what a crash
// left beside them. With dry it only says what it would do. No run may be under way.
func (s *Parts) Collect(dry bool, drop func(url string, grown time.Time) bool) (f PartsFreed, err error) {
	if !dry {
		if err := s.owned(); err != nil {
			return f, err
		}
	}
	r, err := s.root.OpenRoot(partsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, diskErr("open parts", err)
	}
	defer r.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	err = eachPart(r, func(name string, n *partNote) error {
		names := []string{name}
		if n != nil {
			if !drop(n.URL, n.Noted) {
				f.Kept++
				return nil
			}
			f.Parts++
			names = append(names, strings.TrimSuffix(name, partJSON)+partBody)
			delete(s.have, n.URL)
		}
		for _, name := range names {
			fi, err := r.Lstat(name)
			if err == nil && !dry {
				err = r.Remove(name)
			}
			if err != nil {
				return err
			}
			f.Freed += fi.Size()
		}
		return nil
	})
	return f, diskErr("collect parts", err)
}
