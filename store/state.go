package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// FormatVersion is the version of the on-disk format.
//
//	1  first
//	2  records may have more fields: validators, observations, what always changes, lifetime. Format 1 is read as it is
//	3  frames of packs may be deltas over full frames. Formats 1 and 2 are read as they are
//	4  deltas may be over deltas. Formats 1 to 3 are read as they are
//	5  records may say that a body came from a replica. Formats 1 to 4 are read as they are
//	6  records may say that a page reads like another one. Formats 1 to 5 are read as they are
const FormatVersion = 6

// Options say how a state is opened. The zero value is what a daemon wants.
type Options struct {
	// Volatile leaves out every sync: what was committed survives kill -9 but not loss of power. For one-off mirrors.
	Volatile bool
	// Wait is how long to wait for another process to let go. Default: not at all.
	Wait time.Duration
}

// State is the state directory of one mirrord. Safe for concurrent use.
type State struct {
	Dir   string
	Blobs *Blobs
	opt   Options
	root  *os.Root
}

// OpenState opens a state directory and makes it when it does not exist.
func OpenState(dir string, opt Options) (*State, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state %s: %w", dir, err)
	}
	if err := os.Mkdir(abs, 0o755); err == nil && !opt.Volatile {
		err = syncDir(filepath.Dir(abs))
		if err != nil && !errors.Is(err, fs.ErrPermission) { // who may add a name may not always read them
			return nil, diskErr("open state", err)
		}
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, diskErr("open state", err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, diskErr("open state", err)
	}
	for _, d := range []string{"blobs", "blobs/tmp", "sites"} {
		if err := root.MkdirAll(d, 0o755); err != nil {
			root.Close()
			return nil, diskErr("open state", err)
		}
	}
	br, err := root.OpenRoot("blobs")
	if err != nil {
		root.Close()
		return nil, diskErr("open state", err)
	}
	bf, err := newFolder(br)
	if err != nil {
		root.Close()
		return nil, diskErr("open state", err)
	}
	return &State{Dir: abs, opt: opt, root: root, Blobs: &Blobs{dir: bf, durable: !opt.Volatile}}, nil
}

// Close lets go of the directory. Sites must have been closed before.
func (s *State) Close() error {
	return errors.Join(s.Blobs.close(), s.root.Close())
}

// Sites lists the names of the sites that exist, sorted.
func (s *State) Sites() ([]string, error) {
	d, err := s.root.Open("sites")
	if err != nil {
		return nil, diskErr("list sites", err)
	}
	defer d.Close()
	es, err := d.ReadDir(-1)
	if err != nil {
		return nil, diskErr("list sites", err)
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

// RemoveSite deletes everything of a site but the blobs, which other sites may share. A site that a process has open is ErrLocked,
// one that does not exist ErrNoSite. A crash leaves the whole site, or a remainder that is no site any more.
func (s *State) RemoveSite(name string) error {
	if !ValidName(name) {
		return fmt.Errorf("%q cannot name a site", name)
	}
	dir, aside := "sites/"+name, "sites/.removed-"+name
	if _, err := s.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove site %s: %w", name, ErrNoSite)
	}
	if _, err := s.root.Lstat(dir + "/site.db"); err == nil {
		db, err := bolt.Open(filepath.Join(s.Dir, dir, "site.db"), 0o640, &bolt.Options{Timeout: 1, NoSync: true})
		if errors.Is(err, berrors.ErrTimeout) {
			return fmt.Errorf("remove site %s: %w", name, ErrLocked)
		}
		if err == nil { // one that is damaged has no lock, and may be removed all the same
			defer db.Close()
		}
	}
	err := s.root.RemoveAll(aside)
	if err == nil {
		err = s.root.Rename(dir, aside)
	}
	if err == nil {
		err = s.root.RemoveAll(aside)
	}
	return diskErr("remove site "+name, err)
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

// stateDB is the database of a state: the run log and what is known of hosts. Nothing that a mirror is made of.
const stateDB = "mirror.db"

// withDB opens the state's database for the moment of f. Another process may hold it as briefly, so a wait is normal. One that cannot
// be read is put aside: a lost log must not stop a run.
func (s *State) withDB(f func(*bolt.DB) error) error {
	name := filepath.Join(s.Dir, stateDB)
	open := func() (*bolt.DB, error) {
		return openDB(name, 0o600, &bolt.Options{Timeout: 15 * time.Second, NoSync: s.opt.Volatile, FreelistType: bolt.FreelistMapType})
	}
	db, err := open()
	if errors.Is(err, ErrDamaged) {
		if err = s.root.Rename(stateDB, stateDB+".damaged"); err == nil {
			db, err = open()
		}
	}
	if errors.Is(err, ErrLocked) {
		return fmt.Errorf("%s: %w", name, ErrLocked)
	}
	if err != nil {
		return diskErr("open "+stateDB, err)
	}
	return errors.Join(guard(func() error { return f(db) }), db.Close())
}

// AddRun appends to the run log.
func (s *State) AddRun(r RunRecord) error {
	v, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("run log of %s: %w", r.Site, err)
	}
	return s.withDB(func(db *bolt.DB) error {
		return diskErr("write run log", db.Update(func(tx *bolt.Tx) error {
			all, err := tx.CreateBucketIfNotExists([]byte("runs"))
			if err != nil {
				return err
			}
			b, err := all.CreateBucketIfNotExists([]byte(r.Site))
			if err != nil {
				return err
			}
			n, err := b.NextSequence()
			if err != nil {
				return err
			}
			if n > keptRuns {
				if err := b.Delete(seqKey(n - keptRuns)); err != nil {
					return err
				}
			}
			return b.Put(seqKey(n), v)
		}))
	})
}

// Runs returns the last n runs of a site, newest first.
func (s *State) Runs(name string, n int) ([]RunRecord, error) {
	if _, err := s.root.Lstat(stateDB); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []RunRecord
	err := s.withDB(func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			all := tx.Bucket([]byte("runs"))
			if all == nil {
				return nil
			}
			b := all.Bucket([]byte(name))
			if b == nil {
				return nil
			}
			c := b.Cursor()
			for k, v := c.Last(); k != nil && len(out) < n; k, v = c.Prev() {
				var r RunRecord
				if err := json.Unmarshal(v, &r); err != nil {
					return fmt.Errorf("run log of %s: %w: %v", name, ErrDamaged, err)
				}
				out = append(out, r)
			}
			return nil
		})
	})
	return out, err
}

// HostFact is what outlives a run about one host: its robots.txt as it came.
type HostFact struct {
	Fetched time.Time `json:"fetched"`
	Status  int       `json:"status"`
	Body    []byte    `json:"body,omitempty"`
	ETag    string    `json:"etag,omitempty"`
}

// LoadHost returns what is known of an origin; ok is false when nothing is.
func (s *State) LoadHost(origin string) (f HostFact, ok bool, err error) {
	if _, err := s.root.Lstat(stateDB); errors.Is(err, fs.ErrNotExist) {
		return f, false, nil
	}
	err = s.withDB(func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("hosts"))
			if b == nil {
				return nil
			}
			if v := b.Get([]byte(origin)); v != nil {
				ok = true
				return json.Unmarshal(v, &f)
			}
			return nil
		})
	})
	return f, ok, err
}

// SaveHost keeps what is known of an origin.
func (s *State) SaveHost(origin string, f HostFact) error {
	v, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.withDB(func(db *bolt.DB) error {
		return diskErr("write host", db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("hosts"))
			if err != nil {
				return err
			}
			return b.Put([]byte(origin), v)
		}))
	})
}

func seqKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
