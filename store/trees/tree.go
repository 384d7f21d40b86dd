// SPDX-License-Identifier: Apache-2.0

// Package trees is the room of package store that has the published trees of a site: the one that readers
// see, those of versions before it, and the one in which the next version is built. It knows the notes of
// trees and of a publish that was decided, and nothing of records.
package trees

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"mirrord/internal/regular"
	"mirrord/store/blobs"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// CurrentLink is the symbolic link of a site's folder to the published tree.
const CurrentLink = "current"

// SiteTrees is the published tree of a site, the trees of versions before it, and the one in which the next
// version is built.
type SiteTrees struct {
	*home.Folder
	bodies *blobs.Blobs
	pin    *HeldTree // the published tree of a view: the link may have been moved since
}

// Of returns the trees of a site that is open. Bodies that are published as they came are linked from kept.
// The caller closes it.
func Of(f *home.Folder, kept *blobs.Blobs) *SiteTrees { return &SiteTrees{Folder: f, bodies: kept} }

// Close lets go of what a view holds.
func (s *SiteTrees) Close() error {
	if s.pin == nil {
		return nil
	}
	return s.pin.Close()
}

// Recover finishes what a crash has left half done.
func (s *SiteTrees) Recover() error {
	if err := s.finishPublish(); err != nil {
		return err
	}
	return s.tidy()
}

// live returns the name of the tree to which current leads, "" when nothing is published.
func (s *SiteTrees) live() (string, error) {
	if s.pin != nil {
		return s.pin.name, s.pin.err
	}
	if p, err := s.Decided(); (p != nil) || (err != nil) {
		if err != nil {
			return "", err
		}
		return p.Tree, nil
	}
	t, err := s.Root.Readlink(CurrentLink)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if errors.Is(err, syscall.EINVAL) {
		return "", fmt.Errorf("site %s: current is not a symbolic link: %w", s.Name, disk.ErrDamaged)
	}
	if err != nil {
		return "", disk.Err("read current", err)
	}
	if name, ok := strings.CutPrefix(t, Dir+"/"); ok && isTree(name) {
		return name, nil
	}
	return "", fmt.Errorf("site %s: current points to %q, not to a tree of the site: %w", s.Name, t,
		disk.ErrDamaged)
}

// known is live for those who are about to move the link: a link that leads elsewhere names no tree.
func (s *SiteTrees) known() (string, error) {
	t, err := s.live()
	if errors.Is(err, disk.ErrDamaged) {
		return "", nil
	}
	return t, err
}

// Current opens the published tree; ErrNoVersion without one. The caller closes it.
func (s *SiteTrees) Current() (regular.Root, error) {
	t, err := s.live()
	if err != nil {
		return regular.Root{}, err
	}
	if t == "" {
		return regular.Root{}, fmt.Errorf("site %s: %w", s.Name, record.ErrNoVersion)
	}
	var r regular.Root
	if s.pin != nil && s.pin.Root.Root != nil {
		r, err = s.pin.OpenRoot(".")
	} else {
		r, err = s.openTree(t)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return regular.Root{}, fmt.Errorf("site %s: the published tree is missing: %w", s.Name, disk.ErrDamaged)
	}
	if err != nil {
		return regular.Root{}, disk.Err("open current", err)
	}
	return r, nil
}

// OpenFile opens a file of the published tree.
func (s *SiteTrees) OpenFile(path string) (*os.File, error) {
	tree, err := s.Current()
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	return tree.Open(path)
}

// openTree opens the tree of a name. There may be other things than files.
func (s *SiteTrees) openTree(name string) (regular.Root, error) {
	return regular.Root{Root: s.Root}.OpenRoot(Dir + "/" + name)
}

// Tree is an unpublished tree that is being updated. Its methods are safe for concurrent use as long
// as each goroutine has a TreeWriter of its own.
type Tree struct {
	s    *SiteTrees
	name string
	lock *os.File     // of a tree that was taken; nil: not locked
	Root regular.Root // of the tree that is built
	Live regular.Root // of the published tree; the zero value without one

	dir *os.File // the tree, open since before the first file was made: the kernel reports a loss to it
}

// Build opens a tree for changing, the one that Next returns. What it holds is an older version, or nothing.
// The caller sees to it that the tree's grace is over, or is not waited for. Publish or Close must follow.
func (s *SiteTrees) Build(r TreeRules) (*Tree, error) { return s.build(r, false) }

// BuildEmpty is Build for when no tree can be relied on: the tree is new and empty, and Live is nil.
func (s *SiteTrees) BuildEmpty() (*Tree, error) {
	return s.build(TreeRules{New: true}, true)
}

func (s *SiteTrees) build(r TreeRules, alone bool) (*Tree, error) {
	if err := s.finishPublish(); err != nil { // the tree of a publish that failed half way is as good as live
		return nil, err
	}
	if err := s.clean(); err != nil {
		return nil, err
	}
	live, err := s.known()
	if err != nil {
		return nil, err
	}
	if alone {
		live = ""
	}
	t := &Tree{s: s, name: nextTree}
	if err = t.take(r, live); err == nil {
		err = t.open()
	}
	if err != nil {
		return nil, errors.Join(err, t.unlock())
	}
	if live != "" {
		if t.Live, err = s.openTree(live); err != nil {
			return nil, errors.Join(disk.Err("open current", err), t.Close())
		}
	}
	return t, nil
}

func (t *Tree) open() error {
	if err := t.s.Root.MkdirAll(Dir+"/"+t.name, 0o755); err != nil {
		return disk.Err("make tree", err)
	}
	root, err := t.s.openTree(t.name)
	if err != nil {
		return disk.Err("open tree", err)
	}
	dir, err := root.Open(".")
	if err != nil {
		return errors.Join(disk.Err("open tree", err), root.Close())
	}
	t.Root, t.dir = root, dir // not before: those that Empty has closed can be closed again
	return nil
}

// Empty removes everything from the tree that is built. No writer may be open.
func (t *Tree) Empty() error {
	err := errors.Join(t.dir.Close(), t.Root.Close())
	if err == nil {
		err = t.s.Root.RemoveAll(Dir + "/" + t.name)
	}
	if err != nil {
		return disk.Err("empty tree", err)
	}
	return t.open()
}

// Close lets go of the trees without publishing.
func (t *Tree) Close() error {
	err := errors.Join(t.dir.Close(), t.Root.Close(), t.unlock())
	if t.Live.Root != nil {
		err = errors.Join(err, t.Live.Close())
	}
	return err
}

// unlock lets readers hold the tree again.
func (t *Tree) unlock() error {
	if t.lock == nil {
		return nil
	}
	f := t.lock
	t.lock = nil
	return unlock(f)
}

// Unchanged says that the tree is finished but not to be published, so that the next build need not start
// again.
func (t *Tree) Unchanged() error {
	if err := t.sync(); err != nil {
		return err
	}
	return t.s.Update("end tree", func(tx *db.Tx) error {
		notes := slices.DeleteFunc(notesIn(tx), func(n treeNote) bool { return n.Name == nextTree })
		return errors.Join(putNotes(tx, notes), tx.Meta().Delete(home.KeyBuild))
	})
}

// Create makes the file at a mirror path again for streaming.
func (t *Tree) Create(path string) (io.WriteCloser, error) {
	err := disk.RemoveIn(t.Root.Root, path)
	var f *os.File
	if err == nil {
		f, err = t.Root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, disk.Err("publish "+path, err)
	}
	return f, nil
}

// Remove deletes the file at a mirror path and the folders above it that are empty then.
func (t *Tree) Remove(path string) error {
	if err := disk.RemoveIn(t.Root.Root, path); err != nil {
		return disk.Err("unpublish "+path, err)
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if t.Root.Remove(path[:i]) != nil {
			break // not empty, or gone already
		}
	}
	return nil
}

// Publish makes the tree the live one, as a version. From the moment that the decision is committed a crash
// ends in the new version; before, in the old one. script is the edit script against the version before,
// uncompressed.
func (t *Tree) Publish(v record.Version, script []byte) error {
	return t.publish(v, script, false, nil)
}

// PublishAgain is Publish for a tree that takes the place of one of the same version. No later build begins
// with a tree that is there now. also, which may be nil, changes the database in the transaction that
// decides.
func (t *Tree) PublishAgain(v record.Version, also func(*db.Tx) error) error {
	return t.publish(v, nil, true, also)
}

func (t *Tree) publish(v record.Version, script []byte, again bool, also func(*db.Tx) error) error {
	s := t.s
	if err := t.rename(v.Number); err != nil {
		return err
	}
	if err := t.sync(); err != nil {
		return err
	}
	s.At("tree synced")
	p := record.Pending{Tree: t.name, Again: again, Version: v}
	if len(script) > 0 {
		p.Script = record.PackScript(script)
	}
	err := s.Update("publish", func(tx *db.Tx) error {
		err := tx.Meta().PutJSON(home.KeyPublish, p)
		if err == nil && also != nil {
			err = also(tx)
		}
		return errors.Join(err, tx.Meta().Delete(home.KeyBuild))
	})
	if err != nil {
		return err
	}
	s.At("publish decided")
	return s.finishPublish()
}

// rename gives the tree that was built the name of its version. No reader knows it yet.
func (t *Tree) rename(version int) error {
	s := t.s
	name, err := s.freeName(version)
	if err != nil {
		return err
	}
	marked, err := s.marked()
	if err == nil {
		err = s.mark(append(marked, name)...)
	}
	if err != nil {
		return err
	}
	if err := s.Root.Rename(Dir+"/"+t.name, Dir+"/"+name); err != nil {
		return disk.Err("publish", err)
	}
	t.name = name
	s.At("tree named")
	return disk.Err("publish", t.unlock()) // before readers know it
}

func (s *SiteTrees) finishPublish() error {
	p, err := s.Pending()
	if (err != nil) || p == nil {
		return err
	}
	was, err := s.known()
	if err != nil {
		return err
	}
	notes, err := s.noted()
	if err != nil {
		return err
	}
	notes = succeeded(notes, p, was, s.Now())
	if err := s.linkVersions(notes); err != nil {
		return err
	}
	if was != p.Tree {
		if err := s.pointTo(p.Tree); err != nil {
			return err
		}
	}
	// also when a killed run has moved it: its sync may not have come about
	if err := s.syncIn("."); err != nil {
		return err
	}
	return s.Update("publish", func(tx *db.Tx) error {
		m := tx.Meta()
		k := db.NumberKey(uint64(p.Version.Number))
		err := errors.Join(tx.Bucket(home.Versions).PutJSON(k, p.Version), m.Put(home.KeyLive, k),
			putNotes(tx, notes), m.Delete(home.KeyPublish))
		if len(p.Script) > 0 {
			err = errors.Join(err, tx.Bucket(home.Scripts).Put(k, p.Script))
		}
		return err
	})
}

func (s *SiteTrees) syncIn(dir string) error {
	if s.Volatile {
		return nil
	}
	return disk.Err("publish", disk.SyncIn(s.Root, dir))
}

// pointTo moves the link to a tree, and replaces what has that name.
func (s *SiteTrees) pointTo(name string) error {
	if err := s.Owned(); err != nil {
		return err
	}
	if err := s.replaceLink(CurrentLink, Dir+"/"+name); err != nil {
		return disk.Err("publish", err)
	}
	s.At("link moved")
	return nil
}

// replaceLink makes a symbolic link in the site's folder, and replaces what has that name.
func (s *SiteTrees) replaceLink(name, target string) error {
	const aside = ".current.new"
	if err := disk.RemoveIn(s.Root, aside); err != nil {
		return err
	}
	if err := s.Root.Symlink(target, aside); err != nil {
		return err
	}
	s.At("link made")
	err := s.Root.Rename(aside, name)
	// a copy of the state in which links were followed
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) {
		if err = s.Root.RemoveAll(name); err == nil {
			err = s.Root.Rename(aside, name)
		}
	}
	return err
}
