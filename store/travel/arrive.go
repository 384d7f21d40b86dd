// SPDX-License-Identifier: Apache-2.0

package travel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mirrord/store/blobs"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/trees"
)

// Arrival is a site that comes from elsewhere. It is made aside, as the site AsideName, and takes its place
// when it is whole: a kill leaves the site that was here, or the one that came. What a killed one had copied
// stays in the folder and is not copied again. The site cannot be opened meanwhile.
type Arrival struct {
	Name  string
	Aside string   // name of the site that is made
	Root  *os.Root // its folder
	Old   *os.Root // folder of the site that is here; nil for none

	state *home.StateFolder
	held  *home.HeldSite
	lock  *os.File
}

// arriveLock is a file of the folder that is locked while a process makes the site.
const arriveLock = ".arriving"

// Receive begins to make a site. One that a process has open is ErrLocked. Bodies are kept from being
// collected until the state is closed, by spool.
func Receive(s *home.StateFolder, spool *blobs.Spool, name string) (a *Arrival, err error) {
	if err := home.CheckName(name); err != nil {
		return nil, err
	}
	a = &Arrival{Name: name, Aside: home.AsideName(name), state: s}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("receive site %s: %w", name, err), a.Close())
		}
	}()
	if err := spool.Held(); err != nil {
		return a, err
	}
	if a.held, err = s.HoldSite(name); err != nil && !errors.Is(err, home.ErrNoSite) {
		return a, err
	}
	if a.held != nil {
		if a.Old, err = s.Root.OpenRoot("sites/" + name); err != nil {
			return a, disk.Err("open folder", err)
		}
	}
	dir := "sites/" + a.Aside
	err = s.Root.MkdirAll(dir, 0o755)
	if err == nil {
		a.Root, err = s.Root.OpenRoot(dir)
	}
	if err == nil {
		a.lock, err = a.Root.OpenFile(arriveLock, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return a, disk.Err("make folder", err)
	}
	if alone, err := disk.Flock(a.lock, true, false); err != nil || !alone {
		return a, errors.Join(err, disk.ErrLocked)
	}
	return a, nil
}

// Tidy removes everything of the folder but the files that are named. What a site needs besides is made.
func (a *Arrival) Tidy(files []string) error {
	err := fs.WalkDir(a.Root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		is := path == arriveLock || (!e.IsDir() && slices.Contains(files, path))
		if err != nil || path == "." || is {
			return err
		}
		inside := func(f string) bool { return strings.HasPrefix(f, path+"/") }
		if e.IsDir() && slices.ContainsFunc(files, inside) {
			return nil
		}
		if err = a.Root.RemoveAll(path); err == nil && e.IsDir() {
			err = fs.SkipDir
		}
		return err
	})
	if err != nil {
		return disk.Err("remove files", err)
	}
	for _, dir := range []string{"packs", trees.Dir} {
		if err := a.Root.MkdirAll(dir, 0o755); err != nil {
			return disk.Err("make folder", err)
		}
	}
	return nil
}

// Finish puts the site in its place. The one that was here is removed.
func (a *Arrival) Finish() error {
	err := disk.SyncFSOf(a.state.Dir + "/sites")
	if err == nil {
		err = a.Root.Remove(arriveLock)
	}
	if err == nil {
		err = a.swap()
	}
	if err == nil {
		err = disk.SyncDir(a.state.Dir + "/sites")
	}
	if err == nil && a.Old != nil {
		err = a.state.Root.RemoveAll("sites/" + a.Aside)
	}
	return disk.Err("put site "+a.Name+" in its place", err)
}

func (a *Arrival) swap() error {
	sites := filepath.Join(a.state.Dir, "sites")
	from, to := filepath.Join(sites, a.Aside), filepath.Join(sites, a.Name)
	flag := uint(unix.RENAME_EXCHANGE)
	if a.Old == nil {
		flag = unix.RENAME_NOREPLACE
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flag)
	if !errors.Is(err, unix.EINVAL) { // else a file system without the flag
		return err
	}
	if a.Old == nil {
		return os.Rename(from, to) // a folder with something in it is an error
	}
	removed := home.RemovedSites + a.Name // FinishRemovals deletes it after a kill
	if err := a.state.Root.RemoveAll(removed); err != nil {
		return err
	}
	return errors.Join(a.state.Root.Rename("sites/"+a.Name, removed), os.Rename(from, to),
		a.state.Root.RemoveAll(removed))
}

// Close lets others open the site again. What was copied of it stays for the next attempt.
func (a *Arrival) Close() (err error) {
	if a.held != nil {
		err = a.held.Close()
	}
	for _, r := range []*os.Root{a.Root, a.Old} {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if a.lock != nil {
		err = errors.Join(err, a.lock.Close())
	}
	return err
}
