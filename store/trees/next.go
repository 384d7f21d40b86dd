// SPDX-License-Identifier: Apache-2.0

package trees

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mirrord/internal/regular"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// TreeRules say how long the tree of an older version stays as it is, and how many trees there are.
type TreeRules struct {
	Grace time.Duration // from when another tree took its place; less than 0 is 0
	Most  int           // trees that stay, with the published one; a build needs two at least
	New   bool          // the next build begins with an empty tree
}

// least is how many trees a build needs: one that readers see, and one to build in.
const least = 2

// NextTree is the tree in which the next version is built.
type NextTree struct {
	Free    time.Time // when its grace is over; zero: it has none
	Version int       // that it has; 0: a new tree is made
	Left    time.Time // when another tree took its place
	Trees   int       // that there are, with the published one

	name string // "": a new one
	old  *treeNote
}

// Next returns the tree in which the next version is built: the oldest one whose grace is over, a new one
// while there are fewer than r.Most, or the one whose grace is over first. One that is held is never used.
func (s *SiteTrees) Next(r TreeRules) (NextTree, error) {
	live, err := s.known()
	if err != nil {
		return NextTree{}, err
	}
	return s.next(r, live)
}

func (s *SiteTrees) next(r TreeRules, live string) (NextTree, error) {
	notes, err := s.noted()
	if err != nil {
		return NextTree{}, err
	}
	notes = slices.DeleteFunc(notes, func(n treeNote) bool { return n.Name == live })
	held := map[string]bool{}
	for _, n := range notes {
		lock, err := s.lockTree(n.Name)
		if err != nil {
			return NextTree{}, err
		}
		if lock == nil {
			held[n.Name] = true
			continue
		}
		if err := unlock(lock); err != nil {
			return NextTree{}, disk.Err("lock tree", err)
		}
	}
	next := pickTree(notes, held, r, s.Now())
	if live != "" {
		next.Trees++
	}
	return next, nil
}

// pickTree decides Next. old are the trees that are not live.
func pickTree(old []treeNote, held map[string]bool, r TreeRules, now time.Time) NextTree {
	next := NextTree{Trees: len(old)}
	if r.New {
		return next
	}
	slices.SortFunc(old, func(a, b treeNote) int {
		return cmp.Or(cmp.Compare(a.Left, b.Left), cmp.Compare(a.Version, b.Version))
	})
	i := slices.IndexFunc(old, func(n treeNote) bool { return n.Name == nextTree })
	if i < 0 {
		i = slices.IndexFunc(old, func(n treeNote) bool { return !held[n.Name] })
	}
	if i < 0 { // no tree, or all are held
		return next
	}
	free := old[i].free(r.Grace, now)
	if free.After(now) && len(old)+1 < max(r.Most, least) {
		return next
	}
	next.Version, next.name, next.old = old[i].Version, old[i].Name, &old[i]
	if next.Free = free; old[i].Left != 0 {
		next.Left = time.Unix(0, old[i].Left)
	}
	return next
}

// free is when the grace of a tree is over. A clock that was set back does not make it longer.
func (n *treeNote) free(grace time.Duration, now time.Time) time.Time {
	left := time.Unix(0, n.Left)
	if n.Name == nextTree || grace <= 0 {
		return time.Time{}
	}
	if left.After(now) {
		left = now
	}
	return left.Add(grace)
}

// lockTree takes a finished tree for changing; nil when a reader holds it. Closing it lets go of the tree.
func (s *SiteTrees) lockTree(name string) (*os.File, error) {
	f, err := regular.Root{Root: s.Root}.Open(Dir + "/" + name)
	if err != nil {
		return nil, disk.Err("lock tree", err)
	}
	ok, err := disk.Flock(f, true, false)
	if err != nil { // a file system without locks of folders: grace alone protects readers
		return f, nil
	}
	if !ok {
		return nil, disk.Err("lock tree", f.Close())
	}
	return f, nil
}

// take makes the tree that Next returns the one that is built.
func (t *Tree) take(r TreeRules, live string) error {
	s := t.s
	var next NextTree
	for {
		var err error
		if next, err = s.next(r, live); err != nil {
			return err
		}
		if next.name == "" {
			break
		}
		if t.lock, err = s.lockTree(next.name); err != nil {
			return err
		}
		if t.lock != nil {
			break
		} // else a reader was faster
	}
	if err := s.mark(nextTree, next.name); err != nil {
		return err
	}
	s.At("build marked")
	if next.name == "" || (next.old.Stale && next.name == nextTree) {
		return disk.Err("empty tree", s.Root.RemoveAll(Dir+"/"+nextTree))
	}
	if next.old.Stale {
		return s.discard(next.name)
	}
	if next.name != nextTree {
		if err := s.unlinkVersion(next.old); err != nil {
			return err
		}
		err := s.Root.RemoveAll(Dir + "/" + nextTree)
		if err == nil {
			err = s.Root.Rename(Dir+"/"+next.name, Dir+"/"+nextTree)
		}
		if err != nil {
			return disk.Err("take tree", err)
		}
		s.At("tree taken")
	}
	for _, p := range next.old.Doubt {
		if err := s.Root.RemoveAll(Dir + "/" + nextTree + "/" + p); err != nil {
			return disk.Err("remove "+p, err)
		}
	}
	return nil
}

// mark notes the trees that are no longer finished: the next build removes them.
func (s *SiteTrees) mark(names ...string) error {
	return s.SetMeta("begin tree", home.KeyBuild, []byte(strings.TrimSpace(strings.Join(names, " "))))
}

// marked returns the names of trees that are not finished.
func (s *SiteTrees) marked() (names []string, err error) {
	v, err := s.Meta(home.KeyBuild)
	return strings.Fields(string(v)), err
}

// clean removes the trees that a build or a removal that was cut off has left.
func (s *SiteTrees) clean() error {
	names, err := s.marked()
	if err != nil {
		return err
	}
	live, err := s.known()
	if err != nil {
		return err
	}
	for _, name := range append(names, goneTree) {
		_, lerr := s.Root.Lstat(Dir + "/" + name)
		if name == live || errors.Is(lerr, fs.ErrNotExist) {
			continue
		}
		if err := s.Owned(); err != nil {
			return err
		}
		if err := s.Root.RemoveAll(Dir + "/" + name); err != nil {
			return disk.Err("empty tree", err)
		}
		s.At("tree emptied")
		if err := s.syncIn(Dir); err != nil {
			return err
		}
	}
	return nil
}

// discard removes a tree, of which nothing is there under its name after the first step.
func (s *SiteTrees) discard(name string) error {
	if err := s.Owned(); err != nil {
		return err
	}
	err := s.Root.RemoveAll(Dir + "/" + goneTree)
	if err == nil {
		err = s.Root.Rename(Dir+"/"+name, Dir+"/"+goneTree)
	}
	if err != nil {
		return disk.Err("remove tree", err)
	}
	s.At("tree set aside")
	return disk.Err("remove tree", s.Root.RemoveAll(Dir+"/"+goneTree))
}

// Trim removes trees that are more than r.Most, and those of which nothing can be taken over: after their
// grace, unless they are held. It returns how many.
func (s *SiteTrees) Trim(r TreeRules) (n int, err error) {
	if err := s.clean(); err != nil { // remove marks another one
		return 0, err
	}
	live, err := s.live()
	if err != nil {
		return 0, err
	}
	notes, err := s.noted()
	if err != nil {
		return 0, err
	}
	now := s.Now()
	slices.SortFunc(notes, func(a, b treeNote) int { return cmp.Compare(a.Left, b.Left) })
	rest := len(notes)
	for i := range notes {
		old := &notes[i]
		surplus := rest > max(r.Most, 1) || old.Stale
		if old.Name == live || !surplus || old.free(r.Grace, now).After(now) {
			continue
		}
		lock, err := s.lockTree(old.Name)
		if err != nil {
			return n, err
		}
		if lock == nil {
			continue
		}
		err = errors.Join(s.remove(old), unlock(lock))
		if err != nil {
			return n, err
		}
		rest--
		n++
	}
	return n, nil
}

// remove removes a tree that is not live, with the link to it.
func (s *SiteTrees) remove(n *treeNote) error {
	if err := s.mark(n.Name); err != nil {
		return err
	}
	if err := s.unlinkVersion(n); err != nil {
		return err
	}
	if err := s.discard(n.Name); err != nil {
		return err
	}
	if err := s.syncIn(Dir); err != nil {
		return err
	}
	return s.SetMeta("remove tree", home.KeyBuild, nil) // its note goes with the next publish
}

// unlinkVersion removes the link of the folder versions that points to a tree.
func (s *SiteTrees) unlinkVersion(n *treeNote) error {
	if err := s.Owned(); err != nil {
		return err
	}
	name := VersionsDir + "/" + strconv.Itoa(n.Version)
	if to, err := s.Root.Readlink(name); err != nil || to != "../"+Dir+"/"+n.Name {
		return nil
	}
	return disk.Err("unlink version", s.Root.Remove(name))
}

// DistrustNext makes the next build begin with an empty tree, for a database that was made again: the lost
// one knew whether the tree that is there is whole.
func DistrustNext(m *db.Bucket) error { return m.Put(home.KeyBuild, []byte(nextTree)) }
