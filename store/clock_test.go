// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Times on the disk are those of the clock in the options.
func TestClock(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	st, err := OpenState(dir, Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.PublicNames().KeepPublic("a.example"); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, publicNames)); !strings.Contains(string(b),
		" 2031-05-06T07:08:09Z") {
		t.Errorf("%q, %v", b, err)
	}
}
