// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/fetch/robots"
	"mirrord/store/blobs"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
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
	Away Bringer
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
	Dir    string
	Bodies *blobs.Blobs // that are published as they came
	Spool  *blobs.Spool // of them
	Away   Bringer      // of the options
	opt    Options
	root   *os.Root

	aways   aways
	checked db.WholeFiles
	names   PublicNames
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
	for _, d := range []string{"blobs", "blobs/tmp", "sites"} {
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
	s := &State{
		Dir:  abs,
		opt:  opt,
		root: root,
		Away: opt.Away,
	}
	s.Bodies = blobs.Open(bf, !opt.Volatile, func(d [32]byte) (*blobs.LeftBody, error) {
		return s.aways.body(s, d)
	})
	s.Spool = s.Bodies.Spool()
	s.aways.fetch = opt.Away
	s.names.state, s.checked.Now = s, opt.Now
	return s, nil
}

// Now is the time by the clock of the state: Options.Now.
func (s *State) Now() time.Time { return s.opt.Now() }

// Close lets go of the directory. Sites must have been closed before.
func (s *State) Close() error {
	return errors.Join(s.Bodies.Close(), s.root.Close())
}

// Sites lists the names of the sites that exist, sorted. One that is being made aside is not listed yet.
func (s *State) Sites() ([]string, error) {
	names, err := siteFolders(s)
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, asideMark) }), err
}

// EmptySite reports whether a site has no run and no version. A site of which that cannot be said has some.
func EmptySite(s *State, name string) bool {
	for _, file := range []string{lastRunName, trees.CurrentLink} {
		if _, err := s.root.Lstat("sites/" + name + "/" + file); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// asideMark begins the name of a site that is being made aside: no job has such a name.
const asideMark = "~"

// AsideName is the name of a site that must not be visible before it is whole, see
// HeldSite.Rename.
func AsideName(name string) string { return asideMark + name[:min(len(name), maxName-len(asideMark))] }

// siteFolders lists the names of all sites, sorted.
func siteFolders(s *State) ([]string, error) {
	d, err := s.root.Open("sites")
	if err != nil {
		return nil, disk.Err("list sites", err)
	}
	defer d.Close()
	es, err := d.ReadDir(-1)
	if err != nil {
		return nil, disk.Err("list sites", err)
	}
	var names []string
	for _, e := range es {
		if e.IsDir() && ValidName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// checkName is an error when a site cannot have a name.
func checkName(name string) error {
	if !ValidName(name) {
		return fmt.Errorf("%q cannot name a site", name)
	}
	return nil
}

// siteRoot opens the folder of a site. One that does not exist is ErrNoSite.
func siteRoot(s *State, name string) (*os.Root, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	root, err := s.root.OpenRoot("sites/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSite
	}
	return root, disk.Err("open folder", err)
}

// readBeside reads a file of a site's folder, which another process may have open; nil without one.
func readBeside(s *State, site, name string) ([]byte, error) {
	v, err := s.root.ReadFile("sites/" + site + "/" + name)
	return v, disk.Err("read "+name, disk.UnlessGone(err))
}

// keepBeside replaces a file in the folder of a site, which another process may have open. Without the site
// it does nothing.
func keepBeside(s *State, site, name string, v []byte, mode fs.FileMode, sync bool) error {
	dir, err := siteRoot(s, site)
	if err != nil {
		if errors.Is(err, ErrNoSite) {
			return nil
		}
		return err
	}
	return disk.Err("write "+name, errors.Join(disk.Replace(dir, name, v, mode, sync), dir.Close()))
}

// RemoveSite deletes everything of a site but the blobs: see HoldSite and HeldSite.Remove.
func (s *State) RemoveSite(name string) error {
	h, err := HoldSite(s, name)
	if err != nil {
		return fmt.Errorf("remove site %s: %w", name, err)
	}
	return errors.Join(h.Remove(), h.Close())
}

// RunRecord is one line of the run log.
type RunRecord struct {
	Site    string          `json:"site"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended"`
	Verdict string          `json:"verdict"`
	Reasons []string        `json:"reasons,omitempty"`
	Version int             `json:"version,omitempty"` // published by this run, 0 if none
	Summary json.RawMessage `json:"summary,omitempty"`
}

// keptRuns is how many runs of a site the log keeps.
const keptRuns = 1000

// AddRun appends to the run log.
func (s *State) AddRun(r RunRecord) error {
	v, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("run log of %s: %w", r.Site, err)
	}
	return s.updateDB("write run log", func(tx *db.Tx) error { return addRun(tx, r.Site, v) })
}

func addRun(tx *db.Tx, name string, v []byte) error {
	all, err := tx.CreateBucketIfNotExists(bRuns)
	if err != nil {
		return err
	}
	b := all.Bucket([]byte(name))
	if b == nil {
		if err := all.Delete([]byte(name)); err != nil { // what lies there is no log
			return err
		}
		if b, err = all.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	return appendFact(b, v, keptRuns)
}

// Runs returns the last n runs of a site, newest first. A record that cannot be read is left out.
func (s *State) Runs(name string, n int) (out []RunRecord, err error) {
	err = s.viewDB(func(tx *db.Tx) error {
		if all := tx.Bucket(bRuns); all != nil {
			out = lastFacts[RunRecord](all.Bucket([]byte(name)), n)
		}
		return nil
	})
	return out, err
}

// LoadHost returns the record of an origin; ok is false when it is missing or cannot be read.
func (s *State) LoadHost(origin string) (f robots.FileCopy, ok bool, err error) {
	return factOf[robots.FileCopy](s, bHosts, origin)
}

// SaveHost stores the record of an origin.
func (s *State) SaveHost(origin string, f robots.FileCopy) error {
	return saveFact(SharedOf(s), string(bHosts), origin, &f)
}

// PublicNames returns the memory.
func (s *State) PublicNames() *PublicNames { return &s.names }
