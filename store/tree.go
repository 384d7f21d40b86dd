// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

const currentLink = "current"

// Trees is the published tree of a site and the one beside it, in which the next version is built.
type Trees struct {
	*home
	bodies siteBodies
}

// live returns the letter of the tree that current names, "" when nothing is published.
func (s *Trees) live() (string, error) {
	if s.pin != nil {
		return s.pin.letter, s.pin.err
	}
	if p, err := s.decided(); (p != nil) || (err != nil) {
		if err != nil {
			return "", err
		}
		return p.Tree, nil
	}
	t, err := s.root.Readlink(currentLink)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if errors.Is(err, syscall.EINVAL) {
		return "", fmt.Errorf("site %s: current is not a symbolic link: %w", s.name, ErrDamaged)
	}
	if err != nil {
		return "", diskErr("read current", err)
	}
	switch t {
	case "trees/a":
		return "a", nil
	case "trees/b":
		return "b", nil
	}
	return "", fmt.Errorf("site %s: current points to %q, not to a tree of the site: %w", s.name, t, ErrDamaged)
}

// known is live for those who are about to move the link: a link that leads elsewhere names no tree.
func (s *Trees) known() (string, error) {
	t, err := s.live()
	if errors.Is(err, ErrDamaged) {
		return "", nil
	}
	return t, err
}

// Current opens the published tree; ErrNoVersion when there is none. The caller closes it.
func (s *Trees) Current() (*os.Root, error) {
	t, err := s.live()
	if err != nil {
		return nil, err
	}
	if t == "" {
		return nil, fmt.Errorf("site %s: %w", s.name, ErrNoVersion)
	}
	open := func() (*os.Root, error) { return s.root.OpenRoot("trees/" + t) }
	if s.pin != nil && s.pin.tree != nil {
		open = func() (*os.Root, error) { return s.pin.tree.OpenRoot(".") }
	}
	r, err := open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("site %s: the published tree is missing: %w", s.name, ErrDamaged)
	}
	if err != nil {
		return nil, diskErr("open current", err)
	}
	return r, nil
}

// Tree is the tree that is not live, being brought up to date. Its methods are safe for concurrent use as
// long as each goroutine has a TreeWriter of its own.
type Tree struct {
	s      *Trees
	letter string
	Root   *os.Root // of the tree that is built
	Live   *os.Root // of the published tree; nil when there is none
}

// Build opens the tree that is not live for changing. What it holds is the version before the live one, or
// nothing: a tree whose building was cut off is emptied first. Publish or Close must follow.
func (s *Trees) Build() (*Tree, error) { return s.build(false) }

// BuildEmpty is Build for when the live tree cannot be relied on: the tree is empty, and Live is nil.
func (s *Trees) BuildEmpty() (*Tree, error) { return s.build(true) }

func (s *Trees) build(empty bool) (*Tree, error) {
	if err := s.finishPublish(); err != nil { // the tree of a publish that failed half way is as good as live
		return nil, err
	}
	live, err := s.known()
	if err != nil {
		return nil, err
	}
	t := &Tree{s: s, letter: otherTree(live)}
	if live == "" {
		t.letter = "a"
	}
	name := "trees/" + t.letter
	dirty := false
	err = s.update("begin tree", func(tx *transaction) error {
		m := tx.Bucket(bMeta)
		dirty = m.Get(kBuild) != nil
		return m.Put(kBuild, []byte(t.letter))
	})
	if err != nil {
		return nil, err
	}
	s.at("build marked")
	if dirty || empty {
		if err := s.root.RemoveAll(name); err != nil {
			return nil, diskErr("empty tree", err)
		}
		s.at("tree emptied")
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	if live != "" && !empty {
		if t.Live, err = s.root.OpenRoot("trees/" + live); err != nil {
			t.Root.Close()
			return nil, diskErr("open current", err)
		}
	}
	return t, nil
}

func (t *Tree) open() (err error) {
	name := "trees/" + t.letter
	if err := t.s.root.MkdirAll(name, 0o755); err != nil {
		return diskErr("make tree", err)
	}
	t.Root, err = t.s.root.OpenRoot(name)
	return diskErr("open tree", err)
}

// Empty removes everything from the tree that is built. No writer may be open.
func (t *Tree) Empty() error {
	err := t.Root.Close()
	if err == nil {
		err = t.s.root.RemoveAll("trees/" + t.letter)
	}
	if err != nil {
		return diskErr("empty tree", err)
	}
	return t.open()
}

// Close lets go of the trees without publishing.
func (t *Tree) Close() error {
	err := t.Root.Close()
	if t.Live != nil {
		err = errors.Join(err, t.Live.Close())
	}
	return err
}

// Unchanged says that the tree is finished but not to be published, so that the next build need not start
// again.
func (t *Tree) Unchanged() error {
	if err := t.sync(); err != nil {
		return err
	}
	return t.s.update("end tree", func(tx *transaction) error { return tx.Bucket(bMeta).Delete(kBuild) })
}

// Create makes the file at a mirror path again for streaming.
func (t *Tree) Create(path string) (io.WriteCloser, error) {
	if err := t.Root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diskErr("publish "+path, err)
	}
	f, err := t.Root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, diskErr("publish "+path, err)
	}
	return f, nil
}

// Remove deletes the file at a mirror path and the folders above it that are empty then.
func (t *Tree) Remove(path string) error {
	if err := t.Root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskErr("unpublish "+path, err)
	}
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if t.Root.Remove(path[:i]) != nil {
			break // not empty, or gone already
		}
	}
	return nil
}

// sync makes the whole tree survive loss of power.
func (t *Tree) sync() error {
	if t.s.volatile {
		return nil
	}
	f, err := t.Root.Open(".")
	if err == nil {
		err = errors.Join(syncFS(int(f.Fd())), f.Close())
	}
	return diskErr("sync tree", err)
}

// Publish makes the tree the live one, as a version. From the moment that the decision is committed a crash
// ends in the new version; before, in the old one. script is the edit script against the version before,
// uncompressed.
func (t *Tree) Publish(v Version, script []byte) error { return t.publish(v, script, false, nil) }

// PublishAgain is Publish for a tree that takes the place of a damaged one of the same version. The next
// build begins with an empty tree.
func (t *Tree) PublishAgain(v Version) error { return t.publish(v, nil, true, nil) }

// publish decides the publish and carries it out. also, which may be nil, changes the database in the
// transaction that decides.
func (t *Tree) publish(v Version, script []byte, again bool, also func(*transaction) error) error {
	s := t.s
	if err := t.sync(); err != nil {
		return err
	}
	s.at("tree synced")
	p := pending{Tree: t.letter, Version: v}
	if len(script) > 0 {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		p.Script = enc.EncodeAll(script, nil)
	}
	val, err := json.Marshal(p)
	if err != nil {
		return err
	}
	err = s.update("publish", func(tx *transaction) error {
		m := tx.Bucket(bMeta)
		if err := m.Put(kPublish, val); err != nil {
			return err
		}
		if also != nil {
			if err := also(tx); err != nil {
				return err
			}
		}
		if again {
			return m.Put(kBuild, []byte(otherTree(t.letter)))
		}
		return m.Delete(kBuild)
	})
	if err != nil {
		return err
	}
	s.at("publish decided")
	return s.finishPublish()
}

// finishPublish carries out a publish that was decided.
func (s *Trees) finishPublish() error {
	var p *pending
	err := s.db.View(func(tx *transaction) (err error) {
		p, err = s.pendingIn(tx)
		return err
	})
	if err != nil {
		return err
	}
	if p == nil {
		return nil
	}
	live, err := s.known()
	if err != nil {
		return err
	}
	if live != p.Tree {
		if err := s.pointTo(p.Tree); err != nil {
			return err
		}
	}
	if !s.volatile { // also when a killed run has moved it: its sync may not have come about
		f, err := s.root.Open(".")
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return diskErr("publish", err)
		}
	}
	rec, err := json.Marshal(p.Version)
	if err != nil {
		return err
	}
	return s.update("publish", func(tx *transaction) error {
		m := tx.Bucket(bMeta)
		k := seqKey(uint64(p.Version.Number))
		if err := tx.Bucket(bVersions).Put(k, rec); err != nil {
			return err
		}
		if err := m.Put(kLive, k); err != nil {
			return err
		}
		if len(p.Script) > 0 {
			if err := tx.Bucket(bScripts).Put(k, p.Script); err != nil {
				return err
			}
		}
		return m.Delete(kPublish)
	})
}

// pointTo moves the link to a tree, in place of whatever stands there.
func (s *Trees) pointTo(letter string) error {
	if err := s.owned(); err != nil {
		return err
	}
	const aside = ".current.new"
	if err := s.root.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskErr("publish", err)
	}
	if err := s.root.Symlink("trees/"+letter, aside); err != nil {
		return diskErr("publish", err)
	}
	s.at("link made")
	err := s.root.Rename(aside, currentLink)
	// a copy of the state in which links were followed
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EEXIST) {
		if err = s.root.RemoveAll(currentLink); err == nil {
			err = s.root.Rename(aside, currentLink)
		}
	}
	if err != nil {
		return diskErr("publish", err)
	}
	s.at("link moved")
	return nil
}

// otherTree is the letter of the tree beside one.
func otherTree(letter string) string {
	if letter == "a" {
		return "b"
	}
	return "a"
}
