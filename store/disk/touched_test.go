// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"mirrord/internal/regular"
)

// The files and folders that changed are synced one by one, with the folders above it; more than a few
// names are synced by one call.
func TestTouched(t *testing.T) {
	var c Touched
	c.File("a/b/c.html")
	c.File("a/b/c.html")
	c.Gone("a/old.html")
	want := []string{".", "a", "a/b", "a/b/c.html"}
	if got := slices.Sorted(maps.Keys(c.names)); !slices.Equal(got, want) || c.many {
		t.Errorf("%q, want %q", got, want)
	}
	root, err := regular.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := c.Sync(root, nil); err != nil || len(c.names) > 0 { // removed files do no harm
		t.Errorf("%q are left, %v", c.names, err)
	}
	for i := range manyTouched {
		c.File(fmt.Sprint(i))
	}
	if !c.many || c.names != nil {
		t.Errorf("%d names, many: %v", len(c.names), c.many)
	}
	if err := c.Sync(root, nil); err != nil || c.many {
		t.Errorf("many: %v, %v", c.many, err)
	}
}
