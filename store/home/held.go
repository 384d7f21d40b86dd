// SPDX-License-Identifier: Apache-2.0

package home

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mirrord/store/db"
	"mirrord/store/disk"
)

// HeldSite is a site that cannot be opened for writing elsewhere until it is closed. Its database, which some
// may read, may be damaged. It is not safe for concurrent use.
type HeldSite struct {
	state        *StateFolder
	name         string
	writer, file *os.File // that are locked; nil once it is closed, the second without a database too
	lease        *SiteLease
}

// HoldSite keeps a site from being opened. One that a process has open is ErrLocked, one that does not exist
// ErrNoSite.
func (s *StateFolder) HoldSite(name string) (_ *HeldSite, err error) {
	root, err := s.SiteRoot(name)
	if err != nil {
		return nil, err
	}
	root.Close() // nothing was done with it
	h := &HeldSite{state: s, name: name}
	if h.lease, err = Acquire(s.Owner, name); err != nil {
		return nil, err
	}
	h.writer, err = db.LockWriter(filepath.Join(s.Dir, "sites", name), 0o640, 0)
	if err == nil {
		h.file, err = s.Root.OpenFile("sites/"+name+"/"+SiteDB, os.O_RDWR, 0)
	}
	if errors.Is(err, fs.ErrNotExist) && h.writer != nil {
		return h, nil
	}
	ok := false
	if err == nil {
		ok, err = disk.FlockFor(h.file, false, db.LockFor)
	}
	if !ok {
		return nil, errors.Join(cmp.Or(disk.Err("lock site", err), disk.ErrLocked), h.Close())
	}
	return h, nil
}

// Movable returns an error when the folder of the site is a mount point, which can be neither renamed nor
// removed. Where the system does not tell, the error is nil.
func (h *HeldSite) Movable() error {
	dir := filepath.Join(h.state.Dir, "sites", h.name)
	if !disk.IsMountPoint(dir) {
		return nil
	}
	return fmt.Errorf("%s is a mount point, which can be neither renamed nor removed, and nothing was changed: "+
		"unmount it (umount %s) and give the command again; what lies on the other disk stays there", dir, dir)
}

// Remove deletes everything of the site but the blobs, which other sites may share. A crash leaves the whole
// site, or a remainder that is no longer a site.
func (h *HeldSite) Remove() error {
	root, aside := h.state.Root, RemovedSites+h.name
	err := root.RemoveAll(aside)
	if err == nil {
		err = root.Rename("sites/"+h.name, aside)
	}
	if err == nil {
		err = root.RemoveAll(aside)
	}
	return disk.Err("remove site "+h.name, err)
}

// RemovedSites begins the name that a site has while it is deleted.
const RemovedSites = "sites/.removed-"

// HalfRemoved returns the path of what a crash has left of a site that was being removed; "" for nothing.
func HalfRemoved(dir, name string) string {
	path := filepath.Join(dir, RemovedSites+name)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// FinishRemovals deletes what crashes have left of sites that were being removed.
func (s *StateFolder) FinishRemovals() error {
	left, err := fs.Glob(s.Root.FS(), RemovedSites+"*")
	for _, name := range left {
		err = errors.Join(err, s.Root.RemoveAll(name))
	}
	return disk.Err("finish removals", err)
}

// Rename gives the site another name, by one rename of its folder. It is an error when there is a site of
// that name.
func (h *HeldSite) Rename(to string) error {
	if err := CheckName(to); err != nil {
		return err
	}
	s := h.state
	if _, err := s.Root.Lstat("sites/" + to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("rename site %s: there is a site %s already", h.name, to), err)
	}
	err := s.Root.Rename("sites/"+h.name, "sites/"+to)
	if err == nil && !s.Volatile {
		err = disk.SyncDir(s.Dir + "/sites")
	}
	return disk.Err("rename site "+h.name, err)
}

// Close lets others open the site again. Closing twice is harmless.
func (h *HeldSite) Close() error {
	for _, f := range []*os.File{h.file, h.writer} {
		if f != nil {
			f.Close() // nothing was written to it
		}
	}
	h.file, h.writer = nil, nil
	return h.lease.Release()
}
