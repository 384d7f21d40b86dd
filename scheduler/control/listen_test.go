// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path, 0o600); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(path); string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	a, err := Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	b, err := Listen(path, 0o600) // as after kill -9
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	conn, err := dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := b.(*net.UnixListener).SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if c, err := b.Accept(); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	if _, err := Listen(filepath.Join(dir, "none", "s"), 0o600); err == nil {
		t.Error("no folder")
	}
}
