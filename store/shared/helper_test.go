// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"os"
	"reflect"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/db"
	"mirrord/store/home"
)

// folder makes the folder of a state in which there is a site x.
func folder(t *testing.T, dir string, volatile bool) *home.StateFolder {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = root.MkdirAll("sites/x", 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &home.StateFolder{
		Dir:      dir,
		Root:     root,
		Volatile: volatile,
		Now:      time.Now,
	}
}

// open is the database of a state in a folder, as another process opens it.
func open(t *testing.T, dir string, volatile bool) *Database {
	t.Helper()
	return Open(folder(t, dir, volatile), slog.New(slog.DiscardHandler))
}

// keepRun keeps the last run of a site in its folder, as the run does.
func keepRun(d *Database, r RunRecord) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return d.state.KeepBeside(r.Site, LastRun, v, 0o600, false)
}

// spoil changes mirror.db behind its checksums.
func spoil(t *testing.T, d *Database, change func(*bolt.Tx) error) {
	t.Helper()
	if err := d.update("spoil", func(tx *db.Tx) error { return change(behind(tx)) }); err != nil {
		t.Fatal(err)
	}
}

// behind is the transaction of bbolt below one of the door.
func behind(tx *db.Tx) *bolt.Tx {
	return *(**bolt.Tx)(reflect.ValueOf(tx).Elem().FieldByName("tx").Addr().UnsafePointer())
}

func at(s int64) time.Time { return time.Unix(s, 0) }

// random is n bytes that are no database.
func random(n int, seed byte) []byte {
	d := sha256.Sum256([]byte{seed})
	return bytes.Repeat(d[:], n/len(d)+1)[:n]
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
