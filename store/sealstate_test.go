// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// A mirror.db of an older version gets checksums when it is first written, with all that it has; from then on
// a value that is not what was written is found.
func TestStateDatabaseIsSealed(t *testing.T) {
	dir := t.TempDir()
	write := func(o Options, n int) *State {
		st, err := OpenState(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			r := RunRecord{Site: fmt.Sprintf("site%d", i%2), Verdict: fmt.Sprint("verdict ", n)}
			if err := st.AddRun(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := st.SaveHost(fmt.Sprint("https://h", n), HostFact{Body: []byte("robots")}); err != nil {
			t.Fatal(err)
		}
		return st
	}
	isSealed := func(st *State) (is bool) {
		t.Helper()
		err := st.withDB(updateWait, func(db *database) error {
			return db.View(func(tx *transaction) error {
				is = tx.sealed
				return tx.checkSums()
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	old := write(Options{Volatile: true}, 1) // which seals nothing, like older versions
	if isSealed(old) {
		t.Fatal("it is sealed already")
	}
	if _, err := old.Runs("site0", 9); err != nil || isSealed(old) {
		t.Errorf("reading seals it: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, stateDB)
	before := content(t, name)
	for n := 2; n < 4; n++ {
		st := write(Options{}, n)
		if !isSealed(st) {
			t.Error("it is not sealed")
		}
		runs, err := st.Runs("site0", 9)
		if err != nil || len(runs) != 2*n || runs[len(runs)-1].Verdict != "verdict 1" {
			t.Errorf("runs %+v, %v", runs, err)
		}
		f, ok, err := st.LoadHost("https://h1")
		if err != nil || !ok || string(f.Body) != "robots" {
			t.Errorf("%+v, %v, %v", f, ok, err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if kept := content(t, name+".format-7"); !maps.Equal(kept, before) {
		t.Errorf("the copy for going back has %q, want %q", kept, before)
	}
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	v, err := json.Marshal(HostFact{Body: []byte("other")})
	if err != nil {
		t.Fatal(err)
	}
	err = st.withDB(updateWait, func(db *database) error {
		return db.Update(func(tx *transaction) error { // behind the door
			return tx.Bucket(bHosts).b.Put([]byte("https://h1"), v)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := st.LoadHost("https://h1"); err != nil || ok {
		t.Errorf("a value that was not written is read: %v, %v", ok, err)
	}
}

// A mirror.db of an older version is sealed regardless of its size, beside the files of a killed process,
// and one that cannot be copied stays in use.
func TestLargeStateDatabaseIsSealed(t *testing.T) {
	dir := t.TempDir()
	st, err := OpenState(dir, Options{Volatile: true}) // which seals nothing, like older versions
	if err != nil {
		t.Fatal(err)
	}
	const hosts = 20
	body := random(1<<20, 3)
	err = st.updateDB("test", func(tx *transaction) error {
		b, err := tx.CreateBucketIfNotExists(bHosts)
		for i := range hosts {
			err = errors.Join(err, b.Put(fmt.Appendf(nil, "https://h%02d", i), body))
		}
		return errors.Join(err, addRun(tx, "x", []byte(`{"site":"x","verdict":"complete"}`)))
	})
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "."+stateDB+".sealed")
	if err := os.MkdirAll(filepath.Join(left, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	for n, sealed := range []bool{false, true} {
		if n == 1 {
			if err := errors.Join(os.RemoveAll(left), os.WriteFile(left, body, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if st, err = OpenState(dir, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := st.AddRun(RunRecord{Site: "x"}); err != nil {
			t.Fatal(err)
		}
		err := st.withDB(updateWait, func(db *database) error {
			return db.View(func(tx *transaction) error {
				count := 0
				err := tx.Bucket(bHosts).ForEach(func(_, v []byte) error {
					if count++; !bytes.Equal(v, body) {
						t.Error("a value is another one")
					}
					return nil
				})
				if (tx.sealed != sealed) || count != hosts {
					t.Errorf("sealed %v, want %v, %d values", tx.sealed, sealed, count)
				}
				return errors.Join(err, tx.checkSums())
			})
		})
		runs, rerr := st.Runs("x", 9)
		if len(runs) != n+2 {
			t.Errorf("%d runs", len(runs))
		}
		if err := errors.Join(err, rerr, st.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the killed process left is still there: %v", err)
	}
}

// BenchmarkSealState measures the sealing of a mirror.db of an older version of 100 MB, for docs/design.md.
func BenchmarkSealState(b *testing.B) {
	value := random(1000, 3)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		st, err := OpenState(dir, Options{Volatile: true})
		if err != nil {
			b.Fatal(err)
		}
		err = st.updateDB("test", func(tx *transaction) error {
			for site := range 100 {
				for range keptRuns {
					if err := addRun(tx, fmt.Sprint("site", site), value); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err := errors.Join(err, st.Close()); err != nil {
			b.Fatal(err)
		}
		if st, err = OpenState(dir, Options{}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := st.SaveHost("https://h", HostFact{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if fi, err := os.Stat(filepath.Join(dir, stateDB+".format-7")); err == nil {
			b.ReportMetric(float64(fi.Size())/1e6, "MB")
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
