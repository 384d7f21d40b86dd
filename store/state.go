// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"mirrord/store/away"
	"mirrord/store/blobs"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/shared"
	"mirrord/store/travel"
	"mirrord/store/trees"
)

// Options say how a state is opened. The zero value is what a daemon wants.
type Options struct {
	// Volatile leaves out every sync: what was committed survives kill -9 but not loss of power. For one-off
	// mirrors.
	Volatile bool
	// OneOff keeps documents as they came during a run, and afterwards only the parts that its published
	// files lack; see facts.Rests.
	OneOff bool
	// Wait is how long to wait for another process to let go. Default: not at all.
	Wait time.Duration
	// Away fetches what check-outs left in depots. Default: reading that is ErrAway.
	Away away.Bringer
	// Owner decides who may write a site, before the lock of its database does. Default: nil, the lock alone
	// decides.
	Owner home.Owner
	// Now is the clock of times on the disk and of lifetimes. Default: time.Now.
	Now func() time.Time
	// PackSize is how many bytes a pack has before a new one is begun. Default: 256 MiB.
	PackSize int64
	// Log gets a record when a damaged mirror.db was made again. Default: nothing is logged.
	Log *slog.Logger
}

// State is the state directory of one mirrord. Safe for concurrent use.
type State struct {
	*home.StateFolder
	Shared      *shared.Database
	PublicNames *shared.PublicNames
	Bodies      *blobs.Blobs // that are published as they came
	Spool       *blobs.Spool // of them
	Away        *away.State  // what check-outs have left in depots
	opt         Options

	checked db.WholeFiles
}

// OpenState opens a state directory and makes it when it does not exist.
func OpenState(dir string, opt Options) (*State, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state %s: %w", dir, err)
	}
	if err := os.Mkdir(abs, 0o755); err == nil && !opt.Volatile {
		err = disk.SyncDir(filepath.Dir(abs))
		if err != nil && !errors.Is(err, fs.ErrPermission) { // who may add a name may not always read them
			return nil, disk.Err("open state", err)
		}
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, disk.Err("open state", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, disk.Err("open state", err)
	}
	for _, d := range []string{"blobs/tmp", "sites"} {
		err = errors.Join(err, root.MkdirAll(d, 0o755))
	}
	var bf *disk.OpenDir
	if err == nil {
		var br *os.Root
		if br, err = root.OpenRoot("blobs"); err == nil {
			bf, err = disk.NewOpenDir(br)
		}
	}
	if err != nil {
		return nil, errors.Join(disk.Err("open state", err), root.Close())
	}
	folder := &home.StateFolder{
		Dir:      abs,
		Root:     root,
		Owner:    opt.Owner,
		Volatile: opt.Volatile,
		Now:      opt.Now,
	}
	s := &State{
		StateFolder: folder,
		Shared:      shared.Open(folder, opt.Log),
		PublicNames: &shared.PublicNames{In: folder},
		Away:        &away.State{In: folder, Fetch: opt.Away},
		opt:         opt,
	}
	s.Bodies = blobs.Open(bf, !opt.Volatile, s.Away.Body)
	s.Spool = s.Bodies.Spool()
	s.checked.Now = opt.Now
	return s, nil
}

// Close lets go of the directory. Sites must have been closed before.
func (s *State) Close() error {
	return errors.Join(s.Bodies.Close(), s.Root.Close())
}

// EmptySite reports whether a site has no run and no version. A site of which that cannot be said has some.
func EmptySite(s *State, name string) bool {
	for _, file := range []string{shared.LastRun, trees.CurrentLink} {
		if _, err := s.Root.Lstat("sites/" + name + "/" + file); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// RemoveSite deletes everything of a site but the blobs: see HoldSite and HeldSite.Remove.
func (s *State) RemoveSite(name string) error {
	h, err := s.HoldSite(name)
	if err != nil {
		return fmt.Errorf("remove site %s: %w", name, err)
	}
	return errors.Join(h.Remove(), h.Close())
}

// Depart opens a site for travelling, see travel.Depart.
func (s *State) Depart(name string) (*travel.Departure, error) {
	return travel.Depart(s.StateFolder, name, func() (v travel.Viewed, err error) {
		site, err := s.ViewSite(name)
		if err == nil {
			v = travel.Viewed{
				Records: site.Records,
				Packs:   site.Frames.Packs,
				Away:    site.Away,
				Close:   site.Close,
			}
		}
		return v, err
	})
}

// BringAll fetches what a check-out left in the depot, of packs and of the bodies that the site refers to.
// It returns how many bytes that was. A site that a process has open for writing is ErrLocked in the end.
func (s *State) BringAll(ctx context.Context, name string) (bytes int64, err error) {
	defer disk.Explain(&err, "bring all of %s", name)
	left, err := s.Away.Noted(name)
	if left == nil || err != nil {
		return 0, err
	}
	view, err := s.ViewSite(name)
	if err != nil {
		return 0, err
	}
	if view.Away != nil {
		bytes, err = view.Away.BringAll(ctx, view.Frames.Packs, s.Bodies, func(f func([32]byte) error) error {
			return facts.UsedBodies(ctx, view.Records, f)
		})
	}
	if err = errors.Join(err, view.Close()); err != nil {
		return bytes, err
	}
	h, err := s.HoldSite(name)
	if err != nil {
		return bytes, err
	}
	return bytes, errors.Join(s.Away.Drop(left), h.Close())
}
