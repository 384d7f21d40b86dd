// SPDX-License-Identifier: Apache-2.0

package db

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mirrord/internal/dbpages"
)

// A file that was found whole counts as whole for a while, unless it is another one or was changed since.
func TestChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settled := time.Now().Add(-time.Hour)
	changed := settled // when the kernel says that the file was changed
	stat := func() fs.FileInfo {
		t.Helper()
		if err := os.Chtimes(name, settled, settled); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		fi.Sys().(*syscall.Stat_t).Ctim = syscall.NsecToTimespec(changed.UnixNano())
		return fi
	}
	first, second := dbpages.Commit{Tx: 1}, dbpages.Commit{Tx: 2}
	now := time.Now()
	c := &WholeFiles{Now: func() time.Time { return now }}
	write("one")
	c.renew(name, stat(), first)
	if c.has(name, stat(), first) {
		t.Error("a file that was not looked at is remembered")
	}
	c.add(name, stat(), first)
	if !c.has(name, stat(), first) || c.has(name+"2", stat(), first) {
		t.Error("not remembered, or another name is")
	}
	if c.has(name, stat(), second) {
		t.Error("a file that another process has written within a tick is remembered")
	}
	now = now.Add(checkedFor - 1)
	if !c.has(name, stat(), first) {
		t.Error("forgotten too early")
	}
	c.renew(name, stat(), second)
	if !c.has(name, stat(), second) || c.has(name, stat(), first) {
		t.Error("forgotten when we wrote it, or remembered as it was")
	}
	now = now.Add(1)
	if c.has(name, stat(), second) {
		t.Error("remembered for too long: writing is not looking")
	}
	c.add(name, stat(), second)
	changed = settled.Add(time.Nanosecond)
	if c.has(name, stat(), second) {
		t.Error("a file that was changed is remembered")
	}
	c.add(name, stat(), second)
	write("longer")
	if c.has(name, stat(), second) {
		t.Error("a file of another size is remembered")
	}
	c.add(name, stat(), second)
	c.forget(name)
	if c.has(name, stat(), second) {
		t.Error("remembered after it was forgotten")
	}
}
