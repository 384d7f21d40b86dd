// SPDX-License-Identifier: Apache-2.0

package control

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A socket at which a process answers is not removed: it may be the daemon of another state directory.
func TestListenWhereSomebodyLives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	a, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(path, 0o600); err == nil {
		l.Close()
		t.Error("taken")
	} else if !strings.Contains(err.Error(), "another") {
		t.Error(err)
	}
	conn, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	a.Close() // as by kill -9: the file stays
	b, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

// A socket is never open to more than its mode says, with any umask, also not before it has its mode.
func TestSocketMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	defer syscall.Umask(syscall.Umask(0))
	l, err := bind(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := fi.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %v before chmod", got)
	}
}
