// SPDX-License-Identifier: Apache-2.0

package db

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/log"
)

// FuzzLog reads entries of any bytes: it ends, and a database that comes of them is whole.
func FuzzLog(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		o := Options{
			Path:  filepath.Join(t.TempDir(), "site.db"),
			Mode:  0o600,
			Depth: 1,
			Fresh: true,
		}
		segment, err := log.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.fill(func(d *DB) error { return RedoAll(d, segment) }); err != nil {
			return
		}
		o.Fresh = false
		d, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.View((*Tx).CheckSums); err != nil {
			t.Error(err)
		}
	})
}
