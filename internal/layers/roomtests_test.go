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

// untestedRooms lists the rooms that have fewer test lines, with the lines that are missing. The numbers only
// go down.
func untestedRooms() map[string]int {
	return map[string]int{
		"mirror/finish": 395,
	}
}

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
	for _, why := range withoutTests(lines, untestedRooms()) {
		t.Error(why)
	}
}

// withoutTests reports the rooms that lack more test lines than listed, or much fewer. lines are those of the
// product and of tests.
func withoutTests(lines map[string][2]int, listed map[string]int) (out []string) {
	for room, n := range lines {
		missing := 0
		if n[0] > smallRoom {
			missing = max(0, n[0]/roomTests-n[1])
		}
		switch most := listed[room]; {
		case missing > most:
			out = append(out, fmt.Sprintf("%s: %d test lines for %d lines, %d are missing, listed are %d", room,
				n[1], n[0], missing, most))
		case missing+20 < most:
			out = append(out, fmt.Sprintf("%s lacks %d test lines; list no more", room, missing))
		}
	}
	return out
}

func TestWithoutTests(t *testing.T) {
	for _, c := range []struct {
		lines, tests, listed int
		reported             bool
	}{
		{400, 0, 0, false},
		{1000, 200, 0, false},
		{1000, 190, 0, true},
		{1000, 190, 10, false},
		{1000, 200, 30, true},
	} {
		got := withoutTests(map[string][2]int{"a": {c.lines, c.tests}}, map[string]int{"a": c.listed})
		if (len(got) > 0) != c.reported {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
