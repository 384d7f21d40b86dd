// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
)

// A mirror.db of an older version gets checksums when it is first written, with all that it has; from then on
// a value that is not what was written is found.
func TestStateDatabaseIsSealedInPlace(t *testing.T) {
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
