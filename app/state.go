// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mirrord/job"
	"mirrord/store"
)

// lookWait is how long a run waits for its site: where there is no room for a copy, serve and status hold the
// database for a moment; only another run holds it longer.
const lookWait = 2 * time.Second

// OpenState opens the state directory for a command that only looks; ok is false when there is none yet.
func (a *App) OpenState() (st *store.State, ok bool, err error) {
	dir, err := a.State()
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "sites")); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	st, err = store.OpenState(dir, store.Options{Away: a.away(), Log: a.Log, Now: a.now})
	return st, err == nil, err
}

// MustState is OpenState for commands that need a mirror to be there.
func (a *App) MustState() (*store.State, error) {
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	if !ok {
		dir, err := a.State()
		if err != nil {
			return nil, err
		}
		return nil, &Error{Field: FieldState, Err: fmt.Errorf("there are no mirrors in %s", dir)}
	}
	return st, nil
}

// MustWriteState is MustState for commands that change sites: they wait a moment for those that only look.
func (a *App) MustWriteState() (*store.State, error) {
	dir, err := a.State()
	if err == nil {
		err = a.actAsOwner(dir)
	}
	if err != nil {
		return nil, err
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	return a.openToWrite(dir)
}

// MakeState opens the state for commands that change it, and makes it when it is not there; they wait a
// moment for those that only look.
func (a *App) MakeState() (*store.State, error) {
	dir, err := a.State()
	if err == nil {
		err = a.actAsOwner(dir)
	}
	if err != nil {
		return nil, err
	}
	return a.openToWrite(dir)
}

func (a *App) openToWrite(dir string) (*store.State, error) {
	if err := readsWhatIsWritten(dir); err != nil {
		return nil, err
	}
	return store.OpenState(dir, store.Options{
		Away:  a.away(),
		Wait:  lookWait,
		Owner: a.Owner,
		Log:   a.Log,
		Now:   a.now,
	})
}

// away is what brings what check-outs have left in depots, nil where nothing does.
func (a *App) away() store.Bringer {
	if a.Away == nil {
		return nil
	}
	return a.Away(a)
}

// NotYours adds to an error what to do, when it says that the caller may not use files of a state that
// belongs to somebody else.
func (a *App) NotYours(err error) error {
	dir, serr := a.State()
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	p, ok := errors.AsType[*fs.PathError](err)
	if ok && strings.Contains(err.Error(), "(sudo)") {
		return err // it says so already
	}
	if serr != nil || !ok || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if !strings.HasPrefix(p.Path, dir) && !strings.HasPrefix(p.Path, "sites/") { // below its root, or to it
		return err
	}
	o, ok := ownerOf(dir)
	if !ok || o.uid == os.Geteuid() {
		return err
	}
	return fmt.Errorf("%w; the mirrors in %s belong to user %s: run this as root (sudo)%s", err, dir, o,
		cmp.Or(JoinHint(dir), " or as that user"))
}

// aboutRuns adds to an error of reading mirror.db, which only the owner of a state may read, how other users
// see the status of jobs. It returns all other errors as they are.
func (a *App) aboutRuns(err error) error {
	p, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	o, ok := ownerOf(filepath.Dir(p.Path))
	if !ok || o.uid == os.Geteuid() {
		return err
	}
	const say = "what is noted of runs cannot be read: %w; it belongs to user %s: run this as root (sudo) " +
		"or as that user; the daemon knows the status of jobs too, and answers members of its group " +
		"while it runs (sudo systemctl start mirrord)"
	return fmt.Errorf(say, p, o)
}

// OpenTree opens the published tree of a site, also while a run writes the site, and holds it: no publish
// makes it a tree of another version before it is closed.
func OpenTree(st *store.State, name string) (*store.HeldTree, error) {
	if !job.ValidName(name) {
		return nil, notAName(name)
	}
	s, err := st.ViewSite(name)
	if err != nil {
		return nil, didYouMean(st, name, err)
	}
	tree, err := s.Trees.Hold()
	return tree, errors.Join(err, s.Close())
}
