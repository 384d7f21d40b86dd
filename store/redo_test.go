// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mirrord/phm"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// segmentsOf returns the paths of the segments of the log beside a database.
func segmentsOf(t *testing.T, db string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(db), log.Folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tornLog stands for the note that the power cost the end of the log, which is no problem.
const tornLog upkeep.ProblemKind = "torn"

// foundIn returns the kinds of problems that Verify finds in a view of a site.
func foundIn(t *testing.T, dir string) (kinds []upkeep.ProblemKind) {
	t.Helper()
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite("x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stats, err := s.Verify(t.Context(), func(p upkeep.Problem) { kinds = append(kinds, p.Kind) })
	if err != nil {
		t.Fatal(err)
	}
	if stats.TornLog != "" {
		kinds = append(kinds, tornLog)
	}
	return kinds
}

// TestLogDamaged damages the log of a site whose database is good: the next run begins it again, and then it
// serves.
func TestLogDamaged(t *testing.T) {
	bad := []upkeep.ProblemKind{upkeep.BadLog}
	torn := []upkeep.ProblemKind{tornLog}
	finds := map[string][]upkeep.ProblemKind{
		"empty": bad, "cut": torn, "lost": torn, "header": bad, "payload": bad,
	}
	for name, damage := range map[string]func(t *testing.T, path string, data []byte) error{
		"missing": func(_ *testing.T, path string, _ []byte) error { return os.RemoveAll(filepath.Dir(path)) },
		"empty":   func(_ *testing.T, path string, _ []byte) error { return os.Truncate(path, 0) },
		"cut": func(t *testing.T, path string, _ []byte) error {
			return os.Truncate(path, laterEntry(t, path)+9)
		},
		"lost": func(t *testing.T, path string, data []byte) error { // blocks that were never written
			clear(data[laterEntry(t, path)/512*512+512:])
			return os.WriteFile(path, data, 0o600)
		},
		"half": func(_ *testing.T, path string, data []byte) error {
			return os.WriteFile(filepath.Join(filepath.Dir(path), "new"), data[:len(data)/2], 0o600)
		},
		"header": func(_ *testing.T, path string, data []byte) error {
			data[17] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
		"payload": func(t *testing.T, path string, data []byte) error {
			data[laterEntry(t, path)+redoHeader+7] ^= 8
			return os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := sealedSite(t)
			segments := segmentsOf(t, path)
			if len(segments) != 1 {
				t.Fatalf("segments %q", segments)
			}
			data, err := os.ReadFile(segments[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(t, segments[0], data); err != nil {
				t.Fatal(err)
			}
			if found := foundIn(t, dir); !slices.Equal(found, finds[name]) {
				t.Errorf("verify finds %q, want %q", found, finds[name])
			}
			if run, verify := opened(t, dir); errors.Join(run, verify) != nil {
				t.Fatalf("a run begins with %v, a check finds %v", run, verify)
			}
			want := content(t, path)
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if run, _ := opened(t, dir); run != nil {
				t.Fatal(run)
			}
			if got := content(t, path); !maps.Equal(got, want) {
				t.Errorf("the database holds %q, want %q", got, want)
			}
			if segments := segmentsOf(t, path); len(segments) != 1 {
				t.Errorf("segments %q", segments)
			}
		})
	}
}

// laterEntry returns the place of an entry in the second half of a log that has entries behind it.
func laterEntry(t *testing.T, path string) (at int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var places []int64
	segment, err := log.Read(f)
	for _, e := range segment.Entries {
		if e.Kind == log.Transaction {
			places = append(places, e.Off)
		}
	}
	if (err != nil) || (len(places) < 4) {
		t.Fatalf("%d transactions, %v", len(places), err)
	}
	return places[len(places)-3]
}

// TestLogLeadsToThePast damages the database, and the log in its middle, or cuts it between two entries: the
// run does not begin with an older state, and nothing is changed.
func TestLogLeadsToThePast(t *testing.T) {
	for name, damage := range map[string]func(data []byte, at int64) []byte{
		"bit": func(data []byte, at int64) []byte { data[at+redoHeader+7] ^= 8; return data },
		"cut": func(data []byte, at int64) []byte { return data[:at] },
	} {
		for _, db := range []string{"page", "empty", "missing"} {
			t.Run(name+" "+db, func(t *testing.T) {
				dir, path := sealedSite(t)
				segment := segmentsOf(t, path)[0]
				data, err := os.ReadFile(segment)
				if err != nil {
					t.Fatal(err)
				}
				data = damage(data, laterEntry(t, segment))
				if err := os.WriteFile(segment, data, 0o600); err != nil {
					t.Fatal(err)
				}
				switch db {
				case "page":
					raw(t, path, func(tx *bolt.Tx) error { return tx.DeleteBucket(home.History) })
				case "empty":
					err = os.Truncate(path, 0)
				default:
					err = os.Remove(path)
				}
				// Where the database has no record, the published tree does.
				meta := filepath.Join(filepath.Dir(path), trees.CurrentLink, phm.MetaName)
				err = errors.Join(err, os.WriteFile(meta,
					[]byte(`{"phm": 1, "entry": "index.html", "version": 9}`), 0o644))
				if err != nil {
					t.Fatal(err)
				}
				if run, _ := opened(t, dir); !errors.Is(run, disk.ErrDamaged) {
					t.Errorf("a run begins with %v", run)
				}
				if after, err := os.ReadFile(segment); (err != nil) || !bytes.Equal(after, data) {
					t.Errorf("the log was changed: %v", err)
				}
			})
		}
	}
}

// TestLogCannotServe damages database and log: the run does not begin, and nothing is changed.
func TestLogCannotServe(t *testing.T) {
	for _, at := range []float64{0.3, 0.5, 0.9} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			dir, path := sealedSite(t)
			segment := segmentsOf(t, path)[0]
			// The log as one checkpoint: a wrong bit in it spoils it as a whole.
			if err := os.Remove(segment); err != nil {
				t.Fatal(err)
			}
			if run, _ := opened(t, dir); run != nil {
				t.Fatal(run)
			}
			segment = segmentsOf(t, path)[0]
			data, err := os.ReadFile(segment)
			if err != nil {
				t.Fatal(err)
			}
			data[int(at*float64(len(data)))] ^= 4
			raw(t, path, func(tx *bolt.Tx) error { return tx.DeleteBucket(home.History) })
			if err := os.WriteFile(segment, data, 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if run, verify := opened(t, dir); !errors.Is(run, disk.ErrDamaged) || (verify == nil) {
				t.Errorf("a run begins with %v, a check finds %v", run, verify)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the damaged database was changed: %v", err)
			}
		})
	}
}

// TestLogBegunAgain writes until the log is long: it is begun again when the site is closed, and serves.
func TestLogBegunAgain(t *testing.T) {
	dir, path := sealedSite(t)
	before := segmentsOf(t, path)
	st, s := openTest(t, dir, Options{})
	for n := range 4 {
		if err := s.Notes.SetFact("noise", random(redoLeast/2, byte(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Notes.SetFact("noise", []byte("quiet")); err != nil {
		t.Fatal(err)
	}
	closeTest(t, st, s)
	after := segmentsOf(t, path)
	if len(after) != 1 || after[0] == before[0] {
		t.Fatalf("segments %q, before %q", after, before)
	}
	if fi, err := os.Stat(after[0]); err != nil || fi.Size() > redoLeast/2 {
		t.Fatalf("%d bytes, %v", fi.Size(), err)
	}
	want := content(t, path)
	if err := os.WriteFile(path, random(5000, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if run, verify := opened(t, dir); (run != nil) || (verify == nil) {
		t.Fatalf("a run begins with %v, a check finds %v", run, verify)
	}
	if got := content(t, path); !maps.Equal(got, want) {
		t.Errorf("the database holds %q, want %q", got, want)
	}
}

// TestLogTakesBack has transactions that fail: the log has none of them.
func TestLogTakesBack(t *testing.T) {
	dir, path := sealedSite(t)
	st, s := openTest(t, dir, Options{})
	for n := range 6 {
		fact := []byte(fmt.Sprint("fact ", n))
		err := s.DB.Update(func(tx *db.Tx) error {
			if err := tx.Bucket(db.Meta).Put([]byte("fact/x"), fact); err != nil || n%2 == 0 {
				return err
			}
			return record.ErrValue
		})
		if (err != nil) != (n%2 == 1) {
			t.Fatal(err)
		}
	}
	closeTest(t, st, s)
	want := content(t, path)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if run, _ := opened(t, dir); run != nil {
		t.Fatal(run)
	}
	if got := content(t, path); !maps.Equal(got, want) {
		t.Errorf("the database holds %q, want %q", got, want)
	}
}
