// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// A room of mirror of more than smallRoom lines has tests of its own of at least a part in roomTests of its
// size: what a room does is tested there, and not by whole runs.
const (
	smallRoom = 500
	roomTests = 5
)

func TestRoomsHaveTests(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(top, "mirror", "*"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string][2]int{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		var n [2]int
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			kind := 0
			if strings.HasSuffix(file, "_test.go") {
				kind = 1
			}
			n[kind] += bytes.Count(src, []byte("\n"))
		}
		lines[path.Join("mirror", filepath.Base(folder))] = n
	}
	for _, why := range withoutTests(lines) {
		t.Error(why)
	}
}

// withoutTests reports the rooms that lack test lines. lines are those of the product and of tests.
func withoutTests(lines map[string][2]int) (out []string) {
	for room, n := range lines {
		if missing := n[0]/roomTests - n[1]; n[0] > smallRoom && missing > 0 {
			out = append(out, fmt.Sprintf("%s: %d test lines for %d lines, %d are missing", room, n[1], n[0], missing))
		}
	}
	return out
}

func TestWithoutTests(t *testing.T) {
	for _, c := range []struct {
		lines, tests int
		reported     bool
	}{
		{400, 0, false},
		{1000, 200, false},
		{1000, 190, true},
	} {
		got := withoutTests(map[string][2]int{"a": {c.lines, c.tests}})
		if (len(got) > 0) != c.reported {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
