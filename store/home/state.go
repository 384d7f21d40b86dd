// SPDX-License-Identifier: Apache-2.0

package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"mirrord/store/disk"
)

// StateFolder is the folder of a state, in which each site has one of its own. Safe for concurrent use.
type StateFolder struct {
	Dir      string // path
	Root     *os.Root
	Owner    Owner // decides who may write a site, before its lock does; nil: the lock alone
	Volatile bool  // nothing is synced
	Now      func() time.Time
}

// ErrNoSite says that a state has no site of a name.
var ErrNoSite = disk.Said("no such site")

// maxName is how long the name of a site is at most.
const maxName = 64

// ValidName reports whether name can be a site's folder.
func ValidName(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, "/\\\x00") && name[0] != '.'
}

// CheckName is an error when a site cannot have a name.
func CheckName(name string) error {
	if !ValidName(name) {
		return fmt.Errorf("%q cannot name a site", name)
	}
	return nil
}

// AsideMark begins the name of a site that is being made aside: no job has such a name.
const AsideMark = "~"

// AsideName is the name of a site that must not be visible before it is whole, see HeldSite.Rename.
func AsideName(name string) string { return AsideMark + name[:min(len(name), maxName-len(AsideMark))] }

// Sites lists the names of the sites that exist, sorted. One that is being made aside is not listed yet.
func (s *StateFolder) Sites() ([]string, error) {
	names, err := s.AllSites()
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, AsideMark) }), err
}

// AllSites lists the names of all sites, sorted, with those that are being made aside.
func (s *StateFolder) AllSites() ([]string, error) {
	es, err := fs.ReadDir(s.Root.FS(), "sites")
	if err != nil {
		return nil, disk.Err("list sites", err)
	}
	var names []string
	for _, e := range es {
		if e.IsDir() && ValidName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// SiteRoot opens the folder of a site. One that does not exist is ErrNoSite.
func (s *StateFolder) SiteRoot(name string) (*os.Root, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	root, err := s.Root.OpenRoot("sites/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSite
	}
	return root, disk.Err("open folder", err)
}

// ReadBeside reads a file of a site's folder, which another process may have open; nil without one.
func (s *StateFolder) ReadBeside(site, name string) ([]byte, error) {
	v, err := s.Root.ReadFile("sites/" + site + "/" + name)
	return v, disk.Err("read "+name, disk.UnlessGone(err))
}

// LastingFact returns a fact that has a file of its own, without opening the site's database; nil for none.
func (s *StateFolder) LastingFact(site, name string) ([]byte, error) {
	return s.ReadBeside(site, LastingFact+name)
}

// KeepBeside replaces a file in the folder of a site, which another process may have open. Without the site
// it does nothing.
func (s *StateFolder) KeepBeside(site, name string, v []byte, mode fs.FileMode, sync bool) error {
	dir, err := s.SiteRoot(site)
	if err != nil {
		if errors.Is(err, ErrNoSite) {
			return nil
		}
		return err
	}
	return disk.Err("write "+name, errors.Join(disk.Replace(dir, name, v, mode, sync), dir.Close()))
}
