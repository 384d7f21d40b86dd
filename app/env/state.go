// SPDX-License-Identifier: Apache-2.0

package env

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mirrord/cluster/depot"
	"mirrord/job"
	"mirrord/mirror/render"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/away"
	"mirrord/store/disk"
	"mirrord/store/travel"
	"mirrord/store/trees"
)

// BaseFile, in the state directory, has the JobSet that was last the same here and in the cluster.
const BaseFile = "cluster-jobs.json"

// JobsShared reports whether the job files of this machine were once those of a cluster.
func JobsShared(a *App) bool {
	state, err := a.State()
	return err == nil && Exists(filepath.Join(state, BaseFile))
}

// IsRemoved reports whether a site could not be checked out because it was removed from the depot. It is
// then no longer here.
func IsRemoved(err error) bool {
	return errors.Is(err, depot.ErrRemoved) && !errors.Is(err, depot.ErrDiverged) &&
		!errors.Is(err, disk.ErrLocked)
}

// Exists reports whether something has that name.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// A node of a cluster keeps beside its state what the pages of the mirrors of other nodes say, each in a file
// of its name (see sitedigests.go), and who said so when. Everything there can be deleted.
const (
	ElsewhereFolder = "replicas-elsewhere"
	ElsewhereNotes  = ".said.json" // no job has this name; ".nodes.json" was that of digests in another form
)

// PublishedAs tells a version of a mirror from others, also from those of a mirror that was begun again.
type PublishedAs struct {
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
}

func (p PublishedAs) Equal(q PublishedAs) bool {
	return p.Version == q.Version && p.Retrieved.Equal(q.Retrieved)
}

// PublishedHere is the published version of a site; ok is false when there is no such version, or it cannot
// be read.
func PublishedHere(st *store.State, name string) (p PublishedAs, ok bool) {
	meta, err := render.PublishedMeta(st, name)
	if err != nil {
		return p, false
	}
	return PublishedAs{meta.Version, meta.Retrieved}, true
}

// AreFiles reports whether names are those of files and directories, not of jobs: the first one decides.
func AreFiles(a *App, names []string) bool { return len(names) > 0 && IsFile(a, names[0]) }

// IsFile reports whether a name that may be that of a job or of a file means a file or directory: it exists,
// and has a slash, or neither a job nor a mirror has that name.
func IsFile(a *App, name string) bool {
	if _, err := os.Stat(name); err != nil {
		return false
	}
	bare := strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(bare) { // such as "."
		return true
	}
	state, err := a.State()
	return !Exists(a.JobFile(bare)) &&
		(err != nil || !Exists(filepath.Join(state, "sites", bare)))
}

// lookWait is how long a run waits for its site: where a copy does not fit on the disk, serve and status
// hold the database for a moment; only another run holds it longer.
const lookWait = 2 * time.Second

// OpenState opens the state directory for a command that only reads; ok is false if it does not exist yet.
func (a *App) OpenState() (st *store.State, ok bool, err error) {
	dir, err := a.State()
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(filepath.Join(dir, "sites")); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	st, err = store.OpenState(dir, store.Options{Away: a.away(), Log: a.Log, Now: a.Clock})
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

// OwnState is State, in a process that acts as the owner of the state from now on, see ActAsOwner.
func (a *App) OwnState() (dir string, err error) {
	if dir, err = a.State(); err == nil {
		err = a.ActAsOwner(dir)
	}
	return dir, err
}

// MustWriteState is MustState for commands that change sites: they wait a moment for those that only look.
func (a *App) MustWriteState() (*store.State, error) {
	dir, err := a.OwnState()
	if err != nil {
		return nil, err
	}
	st, err := a.MustState()
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		return nil, err
	}
	return a.openToWrite(dir)
}

// MakeState opens the state for commands that change it, and makes it when it is not there; they wait a
// moment for those that only look.
func (a *App) MakeState() (*store.State, error) {
	dir, err := a.OwnState()
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
		Now:   a.Clock,
	})
}

// away fetches the data that check-outs have left in depots; nil where this is not possible.
func (a *App) away() away.Bringer {
	if a.Away == nil {
		return nil
	}
	return a.Away(a)
}

// NotYours adds to an error what to do, when it says that the caller may not use files of a state that
// belongs to another user.
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
	if !ok || o.UID == os.Geteuid() {
		return err
	}
	return fmt.Errorf("%w; the mirrors in %s belong to user %s: run this as root (sudo)%s", err, dir, o,
		cmp.Or(JoinHint(dir), " or as that user"))
}

// AboutRuns adds to an error of reading mirror.db, which only the owner of a state may read, how other users
// see the status of jobs. It returns all other errors as they are.
func (a *App) AboutRuns(err error) error {
	p, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	o, ok := ownerOf(filepath.Dir(p.Path))
	if !ok || o.UID == os.Geteuid() {
		return err
	}
	const say = "the records of runs cannot be read: %w; it belongs to user %s: run this as root (sudo) " +
		"or as that user; the daemon knows the status of jobs too, and answers members of its group " +
		"while it runs (sudo systemctl start mirrord)"
	return fmt.Errorf(say, p, o)
}

// OpenTree opens the published tree of a site, also while a run writes the site, and holds it: no publish
// makes it a tree of another version before it is closed.
func OpenTree(st *store.State, name string) (*trees.HeldTree, error) {
	if !job.ValidName(name) {
		return nil, NotAName(name)
	}
	s, err := st.ViewSite(name)
	if err != nil {
		return nil, DidYouMean(st, name, err)
	}
	tree, err := s.Trees.Hold()
	return tree, errors.Join(err, s.Close())
}

// InDepots reports whether a mirror was in a depot.
func InDepots(mirror string) bool {
	return mirror != "" && Exists(filepath.Join(mirror, travel.DepotNotes))
}
