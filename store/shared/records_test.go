// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/fetch/robots"
)

func TestRunLog(t *testing.T) {
	st := open(t, t.TempDir(), true)
	if rs, err := st.Runs("x", 5); rs != nil || err != nil {
		t.Errorf("%v, %v", rs, err)
	}
	for i := range 12 {
		err := st.AddRun(RunRecord{
			Site:    []string{"x", "y"}[i%2],
			Started: at(int64(i)).UTC(),
			Verdict: "complete",
			Version: i,
			Summary: json.RawMessage(`{"a":1}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rs, err := st.Runs("x", 3)
	if err != nil || len(rs) != 3 || rs[0].Version != 10 || rs[2].Version != 6 ||
		string(rs[0].Summary) != `{"a":1}` || !rs[0].Started.Equal(at(10)) {
		t.Errorf("%+v, %v", rs, err)
	}
	if rs, err := st.Runs("z", 3); len(rs) != 0 || err != nil {
		t.Errorf("%v, %v", rs, err)
	}
	// The log of a site does not grow for ever.
	spoil(t, st, func(tx *bolt.Tx) error {
		return tx.Bucket(bRuns).Bucket([]byte("x")).SetSequence(keptRuns + 5)
	})
	if err := st.AddRun(RunRecord{Site: "x", Version: 99}); err != nil {
		t.Fatal(err)
	}
	if rs, err := st.Runs("x", 100); err != nil || len(rs) != 6 || rs[0].Version != 99 {
		t.Errorf("%d runs, %v", len(rs), err)
	}
}

func TestHosts(t *testing.T) {
	st := open(t, t.TempDir(), true)
	if _, ok, err := st.LoadHost("http://a"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	want := robots.FileCopy{
		Fetched: at(5).UTC(),
		Status:  200,
		Body:    []byte("User-agent: *\xff"),
		ETag:    `"e"`,
	}
	if err := st.SaveHost("http://a", want); err != nil {
		t.Fatal(err)
	}
	got, ok, err := st.LoadHost("http://a")
	if !ok || err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v, %v", got, ok, err)
	}
	if _, ok, err := st.LoadHost("http://b"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
}

func TestLastRuns(t *testing.T) {
	st := open(t, t.TempDir(), false)
	if got, err := st.LastRuns(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for i, name := range []string{"a", "b", "a"} {
		if err := st.AddRun(RunRecord{Site: name, Ended: time.Unix(int64(i), 0), Verdict: "complete"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := st.LastRuns()
	if err != nil || len(got) != 2 || got["a"].Ended.Unix() != 2 || got["b"].Ended.Unix() != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

// The database of the state keeps the texts of job files, and with them their secrets: only its owner
// may read it, also when an older version made it.
func TestStateDBIsPrivate(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	name := filepath.Join(dir, FileName)
	for range 2 {
		if err := st.SaveJobRecords(map[string][]byte{"x": []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != 0o600 {
			t.Errorf("mode %o", got)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
