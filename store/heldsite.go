// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// HeldSite is a site that cannot be opened for writing elsewhere until it is closed. Its database, which some
// may read, may be damaged. It is not safe for concurrent use.
type HeldSite struct {
	state        *State
	name         string
	writer, file *os.File // that are locked; nil once it is closed, the second without a database too
	lease        *home.SiteLease
}

// HoldSite keeps a site from being opened. One that a process has open is ErrLocked, one that does not exist
// ErrNoSite.
func HoldSite(s *State, name string) (_ *HeldSite, err error) {
	root, err := siteRoot(s, name)
	if err != nil {
		return nil, err
	}
	root.Close() // nothing was done with it
	h := &HeldSite{state: s, name: name}
	if h.lease, err = home.Acquire(s.opt.Owner, name); err != nil {
		return nil, err
	}
	h.writer, err = db.LockWriter(filepath.Join(s.Dir, "sites", name), 0o640, 0)
	if err == nil {
		h.file, err = s.root.OpenFile("sites/"+name+"/"+home.SiteDB, os.O_RDWR, 0)
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
	root, aside := h.state.root, removedSites+h.name
	err := root.RemoveAll(aside)
	if err == nil {
		err = root.Rename("sites/"+h.name, aside)
	}
	if err == nil {
		err = root.RemoveAll(aside)
	}
	return disk.Err("remove site "+h.name, err)
}

// removedSites begins the name that a site has while it is deleted.
const removedSites = "sites/.removed-"

// HalfRemoved returns the path of what a crash has left of a site that was being removed; "" for nothing.
func HalfRemoved(dir, name string) string {
	path := filepath.Join(dir, removedSites+name)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// FinishRemovals deletes what crashes have left of sites that were being removed.
func FinishRemovals(s *State) error {
	left, err := fs.Glob(s.root.FS(), removedSites+"*")
	for _, name := range left {
		err = errors.Join(err, s.root.RemoveAll(name))
	}
	return disk.Err("finish removals", err)
}

// Rename gives the site another name, by one rename of its folder. It is an error when there is a site of
// that name.
func (h *HeldSite) Rename(to string) error {
	if err := checkName(to); err != nil {
		return err
	}
	s := h.state
	if _, err := s.root.Lstat("sites/" + to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("rename site %s: there is a site %s already", h.name, to), err)
	}
	err := s.root.Rename("sites/"+h.name, "sites/"+to)
	if err == nil && !s.opt.Volatile {
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

// CopyRecords copies the records of a job, its run log and the scheduler's record, to another name, and
// replaces those of that name.
func CopyRecords(s *State, from, to string) error {
	return s.updateDB("copy records", func(tx *db.Tx) error {
		if jobs := tx.Bucket(bJobs); jobs != nil {
			if v := jobs.Get([]byte(from)); v != nil {
				if err := jobs.Put([]byte(to), append([]byte{}, v...)); err != nil {
					return err
				}
			}
		}
		runs := tx.Bucket(bRuns)
		if runs == nil || runs.Bucket([]byte(from)) == nil {
			return nil
		}
		if err := dropRuns(tx, to); err != nil {
			return err
		}
		return runs.Bucket([]byte(from)).ForEach(func(_, v []byte) error {
			return addRun(tx, to, append([]byte{}, v...))
		})
	})
}

// DropRecords removes the records of a job: its run log and the scheduler's record.
func DropRecords(s *State, name string) error {
	return s.updateDB("remove records", func(tx *db.Tx) error {
		if jobs := tx.Bucket(bJobs); jobs != nil {
			if err := jobs.Delete([]byte(name)); err != nil {
				return err
			}
		}
		return dropRuns(tx, name)
	})
}

func dropRuns(tx *db.Tx, name string) error {
	runs := tx.Bucket(bRuns)
	if runs == nil || runs.Bucket([]byte(name)) == nil {
		return nil
	}
	return runs.DeleteBucket([]byte(name))
}
