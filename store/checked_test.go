// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A file that was found whole counts as whole for a while, unless it is another one or was changed since, or
// just before.
func TestChecked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fresh, settled := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	changed := fresh // when the kernel says that the file was changed
	stat := func() fs.FileInfo {
		t.Helper()
		fi, err := os.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		fi.Sys().(*syscall.Stat_t).Ctim = syscall.NsecToTimespec(changed.UnixNano())
		return fi
	}
	now := time.Now()
	c := &checked{now: func() time.Time { return now }}
	write("one")
	c.add(name, stat())
	if c.has(name, stat()) {
		t.Error("a file that may change again without a trace is remembered")
	}
	changed = settled
	c.add(name, stat())
	if !c.has(name, stat()) || c.has(name+"2", stat()) {
		t.Error("not remembered, or another name is")
	}
	now = now.Add(checkedFor - 1)
	if !c.has(name, stat()) {
		t.Error("forgotten too early")
	}
	now = now.Add(1)
	if c.has(name, stat()) {
		t.Error("remembered for too long")
	}
	c.add(name, stat())
	write("two")
	changed = fresh
	if c.has(name, stat()) {
		t.Error("a file that was written is remembered")
	}
	c.renew(name, stat())
	if c.has(name, stat()) {
		t.Error("our own write is remembered before it is settled")
	}
	changed = settled
	c.add(name, stat())
	c.renew(name, stat())
	if !c.has(name, stat()) {
		t.Error("forgotten when it was written and is settled")
	}
	c.forget(name)
	if c.has(name, stat()) {
		t.Error("remembered after it was forgotten")
	}
}
