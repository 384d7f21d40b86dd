// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The measures of app: it has no package of its own name, only rooms, and a room uses few others.
const (
	leastRooms = 16 // that app has
	mostRooms  = 7  // of app that one imports
	doorRooms  = 8  // that the command imports at least, because it has no other way to app
)

// manyRooms lists the rooms that import more rooms of app, and how many. The numbers only go down.
func manyRooms() map[string]int {
	return map[string]int{"app/daemon": 11}
}

// TestRooms holds that app is entered by its rooms.
func TestRooms(t *testing.T) {
	srcs := sources(t)
	for _, src := range srcs {
		if src.pkg == "app" {
			t.Errorf("%s: app has rooms and no files of its own", src.name)
		}
		if slices.Contains(ours(src), "app") {
			t.Errorf("%s imports app, not a room of it", src.name)
		}
	}
	rooms := roomsOfApp(srcs)
	for _, why := range wrongImports(rooms, manyRooms()) {
		t.Error(why)
	}
	if len(rooms) < leastRooms {
		t.Errorf("app has %d rooms, fewer than %d", len(rooms), leastRooms)
	}
	var entered []string
	for _, src := range srcs {
		if src.pkg == "cmd/mirrord" || isRoomOf(src.pkg, "cmd/mirrord") {
			entered = append(entered, ours(src)...)
		}
	}
	entered = slices.DeleteFunc(entered, func(pkg string) bool { return !isRoomOf(pkg, "app") })
	slices.Sort(entered)
	if entered = slices.Compact(entered); len(entered) < doorRooms {
		t.Errorf("cmd/mirrord imports %s: too few rooms", strings.Join(entered, " "))
	}
}

// roomsOfApp returns the rooms of app, and the names of those that each imports, from the lowest row.
func roomsOfApp(srcs []source) map[string][]string {
	out, table := map[string][]string{}, rows()
	for _, src := range srcs {
		if !isRoomOf(src.pkg, "app") {
			continue
		}
		out[src.pkg] = append(out[src.pkg], ours(src)...)
	}
	for room, imports := range out {
		imports = slices.DeleteFunc(imports, func(pkg string) bool { return !isRoomOf(pkg, "app") })
		slices.SortFunc(imports, func(a, b string) int {
			return cmp.Or(cmp.Compare(table[a], table[b]), cmp.Compare(a, b))
		})
		imports = slices.Compact(imports)
		for i, pkg := range imports {
			imports[i] = strings.TrimPrefix(pkg, "app/")
		}
		out[room] = imports
	}
	return out
}

// wrongImports reports the rooms that import too many rooms of app.
func wrongImports(rooms map[string][]string, listed map[string]int) (out []string) {
	now := map[string]int{}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		n := len(rooms[room])
		if slices.Contains(rooms[room], "access") { // which knows nothing of app
			n--
		}
		if n > mostRooms {
			now[room] = n
		}
		if n > max(mostRooms, listed[room]) {
			out = append(out, fmt.Sprintf("%s imports %d rooms of app, more than %d: %s", room, n,
				max(mostRooms, listed[room]), strings.Join(rooms[room], " ")))
		}
	}
	return append(out, lower(now, listed)...)
}

// A room that imports too much is found.
func TestWrongImports(t *testing.T) {
	rooms := func(n int) map[string][]string { return map[string][]string{"app/x": make([]string, n)} }
	for n, want := range map[int]int{mostRooms: 0, mostRooms + 1: 1} {
		if got := wrongImports(rooms(n), nil); len(got) != want {
			t.Errorf("%d rooms: %q", n, got)
		}
	}
	for n, want := range map[int]int{mostRooms: 1, 8: 1, 9: 0, 10: 1} {
		if got := wrongImports(rooms(n), map[string]int{"app/x": 9}); len(got) != want {
			t.Errorf("%d rooms, 9 listed: %q", n, got)
		}
	}
}
