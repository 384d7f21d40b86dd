// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
)

// check announces that a run converts a mirror of an older format, how much space that needs, and where the
// copy for going back is; the run does so; then check says nothing of it. With the copy instead of the
// database, as docs/operations.md says, the mirror is as before, and is converted again.
func TestFormatStep(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.Handler(demosite.New()))
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/about/"), t.TempDir()
	do := func(args ...string) string {
		t.Helper()
		code, out, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if code != cli.ExitOK {
			t.Fatalf("%v: %d: %s%s", args, code, out, errs)
		}
		return out + errs
	}
	do("run-now", "demo")
	db := filepath.Join(state, "sites", "demo", "site.db")
	asOfFormat7(t, db)
	kept := db + ".format-7"
	announced := func() {
		t.Helper()
		said := do("check")
		for _, want := range []string{"is of format 7", "the next run converts it", "B of free disk space", kept} {
			if !strings.Contains(said, want) {
				t.Errorf("check does not say %q: %s", want, said)
			}
		}
		if strings.Contains(said, " 0 B ") {
			t.Errorf("check: %s", said)
		}
	}
	announced()
	old, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	do("status", "demo")
	if now, err := os.ReadFile(db); err != nil || !bytes.Equal(now, old) {
		t.Errorf("looking has changed the database: %v", err)
	}
	for range 2 {
		do("run-now", "demo")
		if said := do("check"); strings.Contains(said, "format") {
			t.Errorf("after the run check says: %s", said)
		}
		do("verify", "demo")
		was, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(db, was, 0o640); err != nil {
			t.Fatal(err)
		}
		announced()
		if err := os.WriteFile(kept, []byte("of an earlier time"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// asOfFormat7 makes a database one of format 7: without the checksum at the end of each value, and without
// the bucket of their tallies.
func asOfFormat7(t *testing.T, path string) {
	t.Helper()
	const checksum = 4
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bolt.Tx) error {
		if err := tx.DeleteBucket([]byte("sums")); err != nil {
			return err
		}
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			values := map[string][]byte{}
			if err := b.ForEach(func(k, v []byte) error {
				values[string(k)] = slices.Clone(v[:len(v)-checksum])
				return nil
			}); err != nil {
				return err
			}
			if string(name) == "meta" {
				values["format"] = binary.BigEndian.AppendUint32(nil, 7)
			}
			for k, v := range values {
				if err := b.Put([]byte(k), v); err != nil {
					return err
				}
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
}
