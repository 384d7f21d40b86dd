// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"mirrord/fetch/robots"
	"mirrord/store/db"
	"mirrord/store/home"
)

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

func (s *Database) AddRun(r RunRecord) error {
	v, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("run log of %s: %w", r.Site, err)
	}
	return s.update("write run log", func(tx *db.Tx) error { return addRun(tx, r.Site, v) })
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
func (s *Database) Runs(name string, n int) (out []RunRecord, err error) {
	err = s.view(func(tx *db.Tx) error {
		out = lastFacts[RunRecord](runsOf(tx, name), n)
		return nil
	})
	return out, err
}

// LoadHost returns the record of an origin; ok is false when it is missing or cannot be read.
func (s *Database) LoadHost(origin string) (f robots.FileCopy, ok bool, err error) {
	return factOf[robots.FileCopy](s, kindHosts, origin)
}

func (s *Database) SaveHost(origin string, f robots.FileCopy) error {
	return saveFact(s, kindHosts, origin, &f)
}

// PairRecord is what testing two base URLs for being replicas came to. A base URL ends with a slash; what
// lies under one lies under the other at the same relative path.
type PairRecord struct {
	Base1     string    `json:"base1"`
	Base2     string    `json:"base2"`
	Tested    time.Time `json:"tested"`
	Level     string    `json:"level"`           // "1" to "5", "mismatch" and so on: hosts.Level
	Mirrors   bool      `json:"mirrors"`         // the level is one of 1 to 5
	Confident bool      `json:"confident"`       // enough tests had an answer
	Equal     bool      `json:"interchangeable"` // levels 1 to 3, and confident: one may stand for the other
	// share of the answered tests in which both had the same, or nearly
	Good     float64 `json:"good"`
	Answered int     `json:"answered"`         // tests whose source was had
	Tests    int     `json:"tests"`            // tests that robots rules allowed
	Named    bool    `json:"named,omitempty"`  // a job names base2 as an alternate of base1
	Stored   bool    `json:"stored,omitempty"` // the side of base1 was what a mirror holds of it
	// answers that were like the answer to a path that no host has
	SoftPages int `json:"soft_pages,omitempty"`
	// one redirects to the other: one host by two names
	Alias    bool `json:"alias,omitempty"`
	RootOnly bool `json:"root_only,omitempty"` // nothing but the front page is alike
	// paths of the tests whose pages have the same bytes or words
	SamePaths []string `json:"equal,omitempty"`
}

func pairKey(base1, base2 string) string { return base1 + "\x00" + base2 }

// SavePair stores the result of a test of a pair, and replaces an earlier one.
func (s *Database) SavePair(p PairRecord) error {
	return saveFact(s, kindPairs, pairKey(p.Base1, p.Base2), &p)
}

// Pairs lists the pairs that were tested, by base URLs. A record that cannot be read is left out.
func (s *Database) Pairs() ([]PairRecord, error) {
	all, err := factsOf[PairRecord](s, kindPairs)
	var out []PairRecord
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out, err
}

// LoadPair returns what the test of two base URLs, in this order, came to; ok is false when there was none,
// or its record cannot be read.
func (s *Database) LoadPair(base1, base2 string) (p PairRecord, ok bool, err error) {
	return factOf[PairRecord](s, kindPairs, pairKey(base1, base2))
}

// JobRecords returns what the scheduler keeps about jobs, by name; the store does not look into it.
func (s *Database) JobRecords() (map[string][]byte, error) {
	return s.All(string(bJobs))
}

// SaveJobRecords writes records of jobs, all of them or none; nil removes one. The copies in the folders of
// the sites are a spare: one that cannot be written is logged.
func (s *Database) SaveJobRecords(records map[string][]byte) error {
	defer s.keepJobRecords(records)
	return s.update("write job records", func(tx *db.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bJobs)
		if err != nil {
			return err
		}
		for name, v := range records {
			if v == nil {
				err = b.Delete([]byte(name))
			} else {
				err = b.Put([]byte(name), v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// LastRuns returns the last run of every site that the run log knows. A record that cannot be read is left
// out.
func (s *Database) LastRuns() (map[string]RunRecord, error) {
	out := map[string]RunRecord{}
	err := s.view(func(tx *db.Tx) error {
		all := tx.Bucket(bRuns)
		if all == nil {
			return nil
		}
		for name := range all.From(nil) {
			if b := all.Bucket(name); b != nil {
				_, v := b.Cursor().Last()
				var r RunRecord
				if json.Unmarshal(v, &r) == nil {
					out[string(name)] = r
				}
			}
		}
		return nil
	})
	return out, err
}

// keepJobRecords writes records of jobs into the folders of their sites, for a mirror.db that is made again.
// A job without a site has none.
func (s *Database) keepJobRecords(records map[string][]byte) {
	for name, v := range records {
		if !home.ValidName(name) {
			continue
		}
		if err := s.state.KeepBeside(name, jobRecord, v, 0o600, false); err != nil {
			s.log.Warn("the spare copy of a job's record was not written", "site", name, "file", jobRecord,
				"err", err)
		}
	}
}

// CopyRecords copies the records of a job, its run log and the scheduler's record, to another name, and
// replaces those of that name.
func (s *Database) CopyRecords(from, to string) error {
	return s.update("copy records", func(tx *db.Tx) error {
		if jobs := tx.Bucket(bJobs); jobs != nil {
			if v := jobs.Get([]byte(from)); v != nil {
				if err := jobs.Put([]byte(to), append([]byte{}, v...)); err != nil {
					return err
				}
			}
		}
		runs := runsOf(tx, from)
		if runs == nil {
			return nil
		}
		if err := dropRuns(tx, to); err != nil {
			return err
		}
		for _, v := range runs.From(nil) {
			if err := addRun(tx, to, append([]byte{}, v...)); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropRecords removes the records of a job: its run log and the scheduler's record.
func (s *Database) DropRecords(name string) error {
	return s.update("remove records", func(tx *db.Tx) error {
		if jobs := tx.Bucket(bJobs); jobs != nil {
			if err := jobs.Delete([]byte(name)); err != nil {
				return err
			}
		}
		return dropRuns(tx, name)
	})
}

func dropRuns(tx *db.Tx, name string) error {
	if runsOf(tx, name) == nil {
		return nil
	}
	return tx.Bucket(bRuns).DeleteBucket([]byte(name))
}

func runsOf(tx *db.Tx, name string) *db.Bucket {
	if all := tx.Bucket(bRuns); all != nil {
		return all.Bucket([]byte(name))
	}
	return nil
}

// ReplaceRecords puts what another machine noted of a job, its run log, the oldest run first, and the
// scheduler's record, instead of the local ones.
func (s *Database) ReplaceRecords(name string, runs [][]byte, job []byte) error {
	return s.update("take records", func(tx *db.Tx) error {
		if err := dropRuns(tx, name); err != nil {
			return err
		}
		for _, v := range runs {
			if err := addRun(tx, name, v); err != nil {
				return err
			}
		}
		jobs, err := tx.CreateBucketIfNotExists(bJobs)
		if err == nil && job != nil {
			err = jobs.Put([]byte(name), job)
		}
		return err
	})
}

// Recall adds to mirror.db what it lacks of a mirror that came from another machine: last run, pause.
func (s *Database) Recall(name string) error {
	return s.update("write "+FileName, func(tx *db.Tx) error { return s.recallInto(tx, name, new(int)) })
}

func (s *Database) recallInto(tx *db.Tx, name string, added *int) error {
	jobs, err := tx.CreateBucketIfNotExists(bJobs)
	run, job := s.recall(name)
	if err == nil && run != nil && runsOf(tx, name) == nil {
		*added++
		err = addRun(tx, name, run)
	}
	if err == nil && job != nil && jobs.Get([]byte(name)) == nil {
		err = jobs.Put([]byte(name), job)
	}
	return err
}

// recall returns what a site keeps for mirror.db, nil for what cannot be read.
func (s *Database) recall(name string) (run, job []byte) {
	read := func(file string) []byte {
		if v, err := s.state.ReadBeside(name, file); err == nil && json.Valid(v) {
			return v
		}
		return nil
	}
	return read(LastRun), read(jobRecord)
}
