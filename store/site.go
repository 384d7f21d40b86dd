// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/site"
)

// Buckets of site.db.
var (
	bMeta      = []byte("meta")      // small facts, by name
	bResources = []byte("resources") // site.URL.Key -> Resource
	bLinks     = []byte("links")     // number of a document, big endian -> AppendTargets
	bJournal   = []byte("journal")   // sequence -> batch of an unfinished run
	bHistory   = []byte("history")   // version, big endian, then resource key -> the record before that version; empty: there was none
	bVersions  = []byte("versions")  // number -> Version as JSON
	bObserved  = []byte("observed")  // number of a run -> Observation
	bScripts   = []byte("scripts")   // number -> zstd of the edit script against the version before
)

// Keys of the meta bucket.
var (
	kFormat  = []byte("format")
	kPack    = []byte("pack")    // number, committed bytes
	kRun     = []byte("run")     // Run as JSON, while a run is unfinished
	kPublish = []byte("publish") // pending as JSON, while the link is moved
	kBuild   = []byte("build")   // letter of the tree that is being changed
	kLive    = []byte("live")    // number of the published version
	kKnown   = []byte("known")   // number of URLs that have an ID
	kRuns    = []byte("runs")    // number of runs begun
	kHeads   = []byte("heads")   // uvarint number of the last file of heads, its committed bytes, then the places of its models
	kRebuilt = []byte("rebuilt") // Unix seconds, big endian: when Rebuild made this database; 0 while it has not finished
	kRules   = []byte("rules")   // fingerprint of the rules under which all stored documents were scanned
	kToken   = []byte("token")   // of the last lease; absent when only older versions have opened the site
)

// siteDB is the database of a site.
const siteDB = "site.db"

// Site is the folder of one site, open for one process. Its methods may be called from several goroutines; Commit, Fold and
// the publishing methods want one caller at a time.
type Site struct {
	Name  string
	Blobs *Blobs

	kept      Bodies
	now       func() time.Time
	dir       string
	volatile  bool
	readOnly  bool
	holds     bool // Blobs
	lease     *siteLock
	root      *os.Root
	db        *database
	packs     *packs
	heads     *headFiles
	headZip   headZip // of Commit and Fold
	parts     parts
	gets      atomic.Uint32
	broken    atomic.Pointer[error]
	batch     []byte // memory of the last batch
	commits   int
	foldItems int
	moveItems int
	step      func(string) // called between two changes of the disk; tests stop the world there
}

// at tells tests how far the work on the disk has come.
func (s *Site) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// Run is the unfinished run of a site.
type Run struct {
	Number      int    `json:"number"`            // from 1
	Started     int64  `json:"started"`           // Unix seconds
	Fingerprint string `json:"fingerprint"`       // of the job's rules; another one rescans what is stored
	Retrieved   bool   `json:"retrieved"`         // nothing is left to ask
	Requests    int    `json:"requests"`          // made before a resume
	Planned     bool   `json:"planned,omitempty"` // it asks what a plan wants, not everything
}

// Close lets go of the site.
func (s *Site) Close() error {
	if s.db == nil {
		return ErrClosed
	}
	s.parts.dir.close()
	err := errors.Join(s.packs.close(), s.heads.close(), s.letGo())
	s.db = nil
	if s.holds {
		s.Blobs.unhold()
		s.holds = false
	}
	return err
}

// Volatile reports whether the site lives as long as its one run.
func (s *Site) Volatile() bool { return s.volatile }

// Dir is the site's folder.
func (s *Site) Dir() string { return s.dir }

// Run returns the unfinished run, nil when there is none.
func (s *Site) Run() (*Run, error) {
	var r *Run
	err := s.db.View(func(tx *bolt.Tx) error {
		if v := tx.Bucket(bMeta).Get(kRun); v != nil {
			r = new(Run)
			if err := json.Unmarshal(v, r); err != nil {
				return fmt.Errorf("unfinished run: %w: %v", errValue, err)
			}
		}
		return nil
	})
	return r, err
}

// BeginRun gives a run that begins its number and keeps it as the unfinished one.
func (s *Site) BeginRun(r *Run) error {
	return s.update("begin run", func(tx *bolt.Tx) error {
		m := tx.Bucket(bMeta)
		if v := m.Get(kRuns); len(v) == 8 {
			r.Number = int(binary.BigEndian.Uint64(v))
		}
		r.Number++
		if err := m.Put(kRuns, seqKey(uint64(r.Number))); err != nil {
			return err
		}
		return putRun(m, r)
	})
}

// SetRun keeps what is known of the unfinished run; nil ends it.
func (s *Site) SetRun(r *Run) error {
	return s.update("write run", func(tx *bolt.Tx) error { return putRun(tx.Bucket(bMeta), r) })
}

func putRun(m *bolt.Bucket, r *Run) error {
	if r == nil {
		return m.Delete(kRun)
	}
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return m.Put(kRun, v)
}

// Fingerprint returns the fingerprint of the rules under which all stored documents were scanned, "" on a new site.
func (s *Site) Fingerprint() (fp string, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		fp = string(tx.Bucket(bMeta).Get(kRules))
		return nil
	})
	return fp, err
}

// SetFingerprint keeps it.
func (s *Site) SetFingerprint(fp string) error {
	return s.update("write rules", func(tx *bolt.Tx) error { return tx.Bucket(bMeta).Put(kRules, []byte(fp)) })
}

// Fact returns what SetFact kept under a name, nil when there is nothing.
func (s *Site) Fact(name string) (v []byte, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		v = slices.Clone(tx.Bucket(bMeta).Get([]byte("fact/" + name)))
		return nil
	})
	return v, err
}

// SetFact keeps a small fact about the site for whoever knows what it means; nil forgets it.
func (s *Site) SetFact(name string, v []byte) error {
	return s.update("write fact", func(tx *bolt.Tx) error {
		k := []byte("fact/" + name)
		if v == nil {
			return tx.Bucket(bMeta).Delete(k)
		}
		return tx.Bucket(bMeta).Put(k, v)
	})
}

// Get returns the record of a URL; ok is false when the site does not know it. It does not see the journal.
func (s *Site) Get(u site.URL) (r Resource, ok bool, err error) {
	err = s.db.View(func(tx *bolt.Tx) error {
		v := tx.Bucket(bResources).Get(u.Key(nil))
		if v == nil {
			return nil
		}
		ok = true
		return r.decode(u, v)
	})
	if s.gets.Add(1)%getsPerDrop == 0 {
		s.dropPages()
	}
	return r, ok, err
}

// getsPerDrop is how many single look-ups may pass before the pages that they touched are given back.
const getsPerDrop = 2048

// viewChunk is how many records one read transaction covers: a long one would keep old pages alive and memory mapped.
const viewChunk = 4096

// Resources calls f for every record in key order. f must not keep r.
func (s *Site) Resources(f func(r *Resource) error) error {
	return s.each(bResources, decoded(f))
}

// decoded makes a function of records one of keys and values.
func decoded(f func(r *Resource) error) func(k, v []byte) error {
	var r Resource
	return func(k, v []byte) error {
		u, err := urlOfKey(k)
		if err != nil {
			return fmt.Errorf("resources: %w", err)
		}
		if err := r.decode(u, v); err != nil {
			return err
		}
		return f(&r)
	}
}

// ResourcesUnder is Resources for what lies below a directory; it looks at nothing else.
func (s *Site) ResourcesUnder(dir site.URL, f func(r *Resource) error) error {
	prefix, record := dir.Key(nil), decoded(f)
	err := s.eachFrom(bResources, prefix, func(k, v []byte) error {
		if !bytes.HasPrefix(k, prefix) {
			return errPassed
		}
		return record(k, v)
	})
	if err == errPassed {
		return nil
	}
	return err
}

var errPassed = errors.New("behind the range")

// Links calls f for every document with the numbers of the URLs it links to, as AppendTargets wrote them.
func (s *Site) Links(f func(id uint32, targets []byte) error) error {
	return s.each(bLinks, func(k, v []byte) error {
		if len(k) != 4 {
			return fmt.Errorf("links: %w: key %q", errValue, k)
		}
		return f(binary.BigEndian.Uint32(k), v)
	})
}

// TargetsOf returns the numbers of the URLs that a document links to.
func (s *Site) TargetsOf(id uint32) ([]byte, error) {
	var out []byte
	err := s.db.View(func(tx *bolt.Tx) error {
		out = append(out, tx.Bucket(bLinks).Get(binary.BigEndian.AppendUint32(nil, id))...)
		return nil
	})
	return out, err
}

// ReadFrame decodes a document of the packs.
func (s *Site) ReadFrame(r *FrameReader, at Place) (Frame, error) { return s.packs.read(r, at) }

// ValidName reports whether name can be a site's folder.
func ValidName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsAny(name, "/\\\x00") && name[0] != '.'
}
