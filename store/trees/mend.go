// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/disk"
)

// Repoint makes current point to a finished tree that fits, when it points to none. It reports whether there
// is such a tree.
func (s *SiteTrees) Repoint(fits func(tree regular.Root) bool) (bool, error) {
	notes, err := s.noted()
	if err != nil {
		return false, err
	}
	slices.SortFunc(notes, func(a, b treeNote) int { return cmp.Compare(b.Version, a.Version) })
	for i := range notes {
		name := notes[i].Name
		if name == nextTree {
			continue
		}
		tree, err := s.openTree(name)
		if err != nil {
			continue
		}
		ok := fits(tree)
		if err := tree.Close(); err != nil {
			return false, disk.Err("close tree", err)
		}
		if ok {
			return true, errors.Join(s.pointTo(name), s.SyncFolder())
		}
	}
	return false, nil
}

// mendFolder is the folder beside the trees in which files are made before they take the place of damaged
// ones.
const mendFolder = "mend"

// Mend opens an empty tree for files that are to replace damaged ones of the published tree. Replace or Close
// must follow.
func (s *SiteTrees) Mend() (*Tree, error) {
	if err := s.finishPublish(); err != nil {
		return nil, err
	}
	if err := s.Root.RemoveAll(Dir + "/" + mendFolder); err != nil {
		return nil, disk.Err("empty folder", err)
	}
	t := &Tree{s: s, name: mendFolder}
	return t, t.open()
}

// ownLive is live for who may change the trees.
func (s *SiteTrees) ownLive() (live string, err error) {
	if err = s.Owned(); err == nil {
		live, err = s.live()
	}
	return live, err
}

// Replace moves the files at the given mirror paths into the published tree, each by a rename, and removes
// others from it. The other trees may have the same damaged files: no version takes them over from there. No
// tree may be open for building.
func (t *Tree) Replace(paths, remove []string) error {
	s := t.s
	live, err := s.ownLive()
	if err != nil {
		return err
	}
	if err := t.sync(); err != nil {
		return err
	}
	if err := s.doubt(live, slices.Concat(paths, remove)); err != nil {
		return err
	}
	s.At("noted beside")
	for _, p := range remove {
		if err := s.Root.RemoveAll(Dir + "/" + live + "/" + p); err != nil {
			return disk.Err("remove "+p, err)
		}
	}
	for _, p := range paths {
		if err := t.moveIn(Dir+"/"+live+"/", p); err != nil {
			return disk.Err("replace "+p, err)
		}
	}
	return t.sync()
}

// moveIn moves one file; anything in its way is removed.
func (t *Tree) moveIn(tree, p string) error {
	from := Dir + "/" + t.name + "/" + p
	err := t.s.Root.Rename(from, tree+p)
	if err == nil {
		t.s.At("replaced")
		return nil
	}
	for i := 0; i < len(p); i++ {
		if p[i] != '/' {
			continue
		}
		if fi, lerr := t.s.Root.Lstat(tree + p[:i]); lerr == nil && !fi.IsDir() {
			if err := t.s.Root.Remove(tree + p[:i]); err != nil {
				return err
			}
		}
	}
	if err := t.s.Root.MkdirAll(path.Dir(tree+p), 0o755); err != nil {
		return err
	}
	if fi, lerr := t.s.Root.Lstat(tree + p); lerr == nil && fi.IsDir() {
		if err := t.s.Root.RemoveAll(tree + p); err != nil {
			return err
		}
	}
	return t.s.Root.Rename(from, tree+p)
}

// SetTime gives a file of the published tree its modification time.
func (s *SiteTrees) SetTime(path string, at time.Time) error {
	live, err := s.ownLive()
	if err != nil {
		return err
	}
	return disk.Err("set the time of "+path, s.Root.Chtimes(Dir+"/"+live+"/"+path, at, at))
}

// Discard removes the folder of a tree that Mend opened, after Close.
func (t *Tree) Discard() error {
	return disk.Err("remove folder", t.s.Root.RemoveAll(Dir+"/"+t.name))
}

// Relink makes the file at a mirror path of the published tree the blob that it should be, when it is another
// file: the tree keeps the damaged bytes of a blob that was discarded. Readers see the one or the other. From
// the other trees no version takes the file over. No tree may be open for building.
func (s *SiteTrees) Relink(path string, d [32]byte) error {
	live, err := s.ownLive()
	if err != nil || live == "" {
		return err
	}
	tree, err := s.openTree(live)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.Err("relink "+path, err)
	}
	defer tree.Close()
	fi, err := tree.Lstat(path)
	if err != nil { // not in this tree
		return nil
	}
	if whole, err := s.bodies.Is(fi, d); whole || err != nil {
		return disk.Err("relink "+path, err)
	}
	t, err := s.Mend()
	if err != nil {
		return err
	}
	w := t.Writer()
	err = w.LinkBlob(path, d)
	w.Close()
	if err == nil {
		err = t.Replace([]string{path}, nil)
	}
	return errors.Join(err, t.Close(), t.Discard())
}

// DropBeside removes all trees but the published one, also those that are held or in their grace, and files
// made beside the trees. The next build begins with an empty tree.
func (s *SiteTrees) DropBeside() error {
	if err := s.finishPublish(); err != nil {
		return err
	}
	live, err := s.live()
	if err != nil {
		return err
	}
	if err := s.clean(); err != nil {
		return err
	}
	trees, err := fs.ReadDir(s.Root.FS(), Dir)
	if err != nil {
		return disk.Err("list trees", err)
	}
	for _, e := range trees {
		switch name := e.Name(); {
		case name == live:
			continue
		case isTree(name), name == nextTree:
			err = s.mark(name)
			if err == nil {
				err = s.discard(name)
			}
		default:
			err = s.Root.RemoveAll(Dir + "/" + name)
		}
		if err != nil {
			return disk.Err("drop tree", err)
		}
	}
	if err := errors.Join(s.syncIn(Dir), s.tidy()); err != nil {
		return err
	}
	s.At("tree beside dropped")
	return nil
}
