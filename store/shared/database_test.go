// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/db"
	"mirrord/store/disk"
)

// A damaged mirror.db is set aside, made again from what the sites know, and said once, however many
// processes come upon it.
func TestStateDBDamaged(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	rec := RunRecord{
		Site:    "x",
		Started: at(5).UTC(),
		Verdict: "complete",
		Version: 3,
		Summary: json.RawMessage(`{"a":1}`),
	}
	for range 3 {
		if err := st.AddRun(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := keepRun(st, rec); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveJobRecords(map[string][]byte{
		"x":       []byte(`"record of x"`),
		"no site": []byte("1"),
		"../x":    []byte("1"),
	}); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(filepath.Join(dir, "sites/x", jobRecord)); err != nil ||
		fi.Mode().Perm() != 0o600 {
		t.Errorf("the record of a job, which may hold secrets: %v, %v", fi, err)
	}
	for _, name := range []string{"bad", "bare"} { // one that is damaged, one without files
		if err := os.Mkdir(filepath.Join(dir, "sites", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sites/bad", LastRun), random(20_000, 2), 0o640); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, FileName)
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, random(40_000, 1), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(p)
	}), nil))
	state := folder(t, dir, true)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o := Open(state, logger)
			if rs, err := o.Runs("x", 5); err != nil || len(rs) != 1 || rs[0].Version != 3 ||
				rs[0].Verdict != "complete" {
				t.Errorf("%v, %v", rs, err)
			}
			if jobs, err := o.JobRecords(); err != nil || string(jobs["x"]) != `"record of x"` || len(jobs) != 1 {
				t.Errorf("%q, %v", jobs, err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(log.String(), "mirror.db was damaged"); n != 1 ||
		!strings.Contains(log.String(), "neither meta page is valid") {
		t.Errorf("said %d times: %s", n, &log)
	}
	aside, err := filepath.Glob(name + ".damaged-*")
	if err != nil || len(aside) != 1 {
		t.Fatalf("%q, %v", aside, err)
	}
	if fi, err := os.Stat(aside[0]); err != nil || !os.SameFile(fi, before) {
		t.Errorf("what was set aside is not what was there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "."+FileName+".new")); !os.IsNotExist(err) {
		t.Errorf("a file is left: %v", err)
	}
	if err := st.AddRun(rec); err != nil {
		t.Error(err)
	}
	if rs, err := st.Runs("x", 5); err != nil || len(rs) != 2 {
		t.Errorf("%v, %v", rs, err)
	}
	if err := st.SaveJobRecords(map[string][]byte{"x": nil}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "sites/x", jobRecord)); !os.IsNotExist(err) {
		t.Errorf("a record that was removed: %v", err)
	}
}

// A value of mirror.db that is not what was written makes a new one, too: of pages that are good.
func TestStateDBWrongValue(t *testing.T) {
	for name, damage := range map[string]func(tx *bolt.Tx) error{
		"value": func(tx *bolt.Tx) error { return tx.Bucket(bJobs).Put([]byte("x"), []byte(`"record of y"1234`)) },
		"value of an inner bucket": func(tx *bolt.Tx) error {
			runs := tx.Bucket(bRuns).Bucket([]byte("x"))
			k, _ := runs.Cursor().First()
			return runs.Put(bytes.Clone(k), []byte(`{"site":"x","version":4}1234`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st := open(t, dir, false)
			rec := RunRecord{Site: "x", Verdict: "complete", Version: 3}
			if err := errors.Join(keepRun(st, rec), st.AddRun(rec),
				st.SaveJobRecords(map[string][]byte{"x": []byte(`"record of x"`)})); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(dir, FileName)
			spoil(t, st, damage)
			for range 2 {
				if runs, err := st.Runs("x", 5); (err != nil) || (len(runs) == 0) || (runs[0].Version != 3) {
					t.Errorf("%+v, %v", runs, err)
				}
				if jobs, err := st.JobRecords(); err != nil || string(jobs["x"]) != `"record of x"` || len(jobs) != 1 {
					t.Errorf("%q, %v", jobs, err)
				}
			}
			if aside, _ := filepath.Glob(name + ".damaged-*"); len(aside) != 1 {
				t.Errorf("set aside: %q", aside)
			}
		})
	}
}

// A mirror.db that is missing or was cut to nothing is made again too, and a record is saved where its copy
// cannot be.
func TestStateDBMissing(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := keepRun(st, RunRecord{Site: "x", Verdict: "complete", Version: 3}); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveJobRecords(map[string][]byte{"x": []byte("1")}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, FileName)
	for _, damage := range []func() error{
		func() error { return os.Remove(name) }, func() error { return os.Truncate(name, 0) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		if rs, err := st.Runs("x", 5); err != nil || len(rs) != 1 || rs[0].Version != 3 {
			t.Errorf("%v, %v", rs, err)
		}
		if jobs, err := st.JobRecords(); err != nil || string(jobs["x"]) != "1" {
			t.Errorf("%q, %v", jobs, err)
		}
	}
	if aside, err := filepath.Glob(name + ".damaged-*"); err != nil || len(aside) != 0 {
		t.Errorf("nothing was there, and this was kept of it: %q, %v", aside, err)
	}
	spare := filepath.Join(dir, "sites/x", jobRecord)
	if err := errors.Join(os.Remove(spare), os.MkdirAll(spare+"/in/the/way", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveJobRecords(map[string][]byte{"x": []byte("2")}); err != nil {
		t.Error(err)
	}
	if jobs, err := st.JobRecords(); err != nil || string(jobs["x"]) != "2" {
		t.Errorf("%q, %v", jobs, err)
	}
}

// A site whose folder came from another machine has its last run and the record of its job, once it is
// recalled; what mirror.db has already stays.
func TestRecallSite(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := keepRun(st, RunRecord{Site: "x", Verdict: "complete", Version: 3}); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveJobRecords(map[string][]byte{"x": []byte("1")}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, FileName)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	spare := filepath.Join(dir, "sites/x")
	if err := os.Rename(spare, dir+"/came"); err != nil {
		t.Fatal(err)
	}
	if err := st.SaveJobRecords(map[string][]byte{"y": []byte("5")}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+"/came", spare); err != nil {
		t.Fatal(err)
	}
	if rs, err := st.Runs("x", 5); err != nil || len(rs) != 0 {
		t.Fatalf("before: %v, %v", rs, err)
	}
	for _, record := range []string{"1", "7"} {
		if err := st.Recall("x"); err != nil {
			t.Fatal(err)
		}
		if rs, err := st.Runs("x", 5); err != nil || len(rs) != 1 || rs[0].Version != 3 {
			t.Errorf("%v, %v", rs, err)
		}
		if jobs, err := st.JobRecords(); err != nil || string(jobs["x"]) != record || string(jobs["y"]) != "5" {
			t.Errorf("%q, %v", jobs, err)
		}
		if err := st.SaveJobRecords(map[string][]byte{"x": []byte("7")}); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(spare, jobRecord), []byte("8"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// One that root makes again belongs to the owner of the state, who is to write it.
func TestStateDBKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root only")
	}
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := keepRun(st, RunRecord{Site: "x", Verdict: "complete", Version: 3}); err != nil {
		t.Fatal(err)
	}
	const uid, gid = 65534, 65533
	name := filepath.Join(dir, FileName)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Runs("x", 5); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if sys := fi.Sys().(*syscall.Stat_t); sys.Uid != uid || sys.Gid != gid {
		t.Errorf("%s belongs to %d:%d", FileName, sys.Uid, sys.Gid)
	}
}

// A mirror.db that cannot be set aside is an error that names it.
func TestStateDBStays(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := os.WriteFile(filepath.Join(dir, FileName), random(9000, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "."+FileName+".next/in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Runs("x", 1); err == nil || !strings.Contains(err.Error(), "mirror.db is damaged") {
		t.Errorf("%v", err)
	}
}

// Values of mirror.db that cannot be decoded are left out; all else works.
func TestStateDBValues(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := st.AddRun(RunRecord{Site: "x", Version: 1}); err != nil {
		t.Fatal(err)
	}
	err := st.update("spoil", func(tx *db.Tx) error {
		bad := []byte("{bad")
		runs := tx.Bucket(bRuns)
		if err := runs.Bucket([]byte("x")).Put(db.NumberKey(2), bad); err != nil {
			return err
		}
		if err := runs.Put([]byte("y"), bad); err != nil { // no bucket
			return err
		}
		for _, name := range [][]byte{[]byte(kindHosts), []byte(kindPairs), bJobs} {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			if err := b.Put([]byte("http://a"), bad); err != nil {
				return err
			}
			if err := b.Put([]byte(pairKey("http://a/", "http://b/")), bad); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rs, err := st.Runs("x", 9); err != nil || len(rs) != 1 {
		t.Errorf("%v, %v", rs, err)
	}
	if all, err := st.LastRuns(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	if f, ok, err := st.LoadHost("http://a"); ok || err != nil || f.Status != 0 {
		t.Errorf("%v, %v, %v", f, ok, err)
	}
	if p, ok, err := st.LoadPair("http://a/", "http://b/"); ok || err != nil || p.Base1 != "" {
		t.Errorf("%v, %v, %v", p, ok, err)
	}
	if ps, err := st.Pairs(); err != nil || len(ps) != 0 {
		t.Errorf("%v, %v", ps, err)
	}
	for _, name := range []string{"x", "y"} {
		if err := st.AddRun(RunRecord{Site: name, Version: 7}); err != nil {
			t.Error(err)
		}
		if rs, err := st.Runs(name, 1); err != nil || len(rs) != 1 || rs[0].Version != 7 {
			t.Errorf("%s: %v, %v", name, rs, err)
		}
	}
	if aside, _ := filepath.Glob(filepath.Join(dir, FileName+".damaged*")); len(aside) > 0 {
		t.Errorf("%q", aside)
	}
}

// mirror.db can be read also while a stopped process holds it: as of its last commit.
func TestRunsBesideAHeldStateDB(t *testing.T) {
	dir := t.TempDir()
	st := open(t, dir, true)
	if err := st.AddRun(RunRecord{Site: "x", Verdict: "complete"}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, FileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := disk.Flock(f, true, false); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if runs, err := st.Runs("x", 10); err != nil || len(runs) != 1 || runs[0].Verdict != "complete" {
		t.Errorf("%+v, %v", runs, err)
	}
}
