// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPublicNames(t *testing.T) {
	dir := t.TempDir()
	open := func() *PublicNames { return &PublicNames{In: folder(t, dir, false)} }
	want := func(n *PublicNames, name string, public bool) {
		t.Helper()
		if got, err := n.WasPublic(name); err != nil || got != public {
			t.Errorf("%s: public %v, want %v: %v", name, got, public, err)
		}
	}
	one := open()
	two := open() // another process
	want(one, "a.example", false)
	for range 3 {
		if err := one.KeepPublic("a.example"); err != nil {
			t.Fatal(err)
		}
	}
	want(one, "a.example", true)
	want(two, "a.example", true)
	want(two, "b.example", false)
	if had, err := two.Forget("a.example"); err != nil || !had {
		t.Fatal(had, err)
	}
	if had, err := two.Forget("a.example"); err != nil || had {
		t.Fatal(had, err)
	}
	want(one, "a.example", false)
	if err := one.KeepPublic("a.example"); err != nil { // it is public again
		t.Fatal(err)
	}
	want(two, "a.example", true)

	// What a process writes itself it does not read again: thousands of names are no matter.
	if fi, err := os.Stat(filepath.Join(dir, "public-names")); err != nil || one.read != fi.Size() {
		t.Errorf("%d of %v bytes are known, %v", one.read, fi.Size(), err)
	}

	// A line that a crash has cut makes no name, and takes no other one with it.
	file := filepath.Join(dir, "public-names")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("\npublic c.exam"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := one.KeepPublic("d.example"); err != nil {
		t.Fatal(err)
	}
	three := open()
	want(three, "c.exam", false)
	want(three, "d.example", true)
	data, err := os.ReadFile(file)
	if err != nil || strings.Count(string(data), "a.example") != 3 {
		t.Errorf("%v: %s", err, data)
	}
	if fi, _ := os.Stat(file); fi.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", fi.Mode())
	}
	if err := one.KeepPublic("no name"); err == nil {
		t.Error("a name with a space is kept")
	}

	// Who removes the file starts again.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	want(three, "d.example", false)
}

// Times on the disk are those of the clock in the options.
func TestClock(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	state := folder(t, dir, false)
	state.Now = func() time.Time { return now }
	if err := (&PublicNames{In: state}).KeepPublic("a.example"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, publicNames)); !strings.Contains(string(b),
		" 2031-05-06T07:08:09Z") {
		t.Errorf("%q, %v", b, err)
	}
}
