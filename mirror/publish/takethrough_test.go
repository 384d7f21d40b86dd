// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"io/fs"
	"testing"

	"mirrord/mirror/render"
)

// What no draft takes is not left on the disk of a kept mirror. Documents of a one-off mirror are read by it.
func TestThroughDiscarded(t *testing.T) {
	for _, kind := range kinds {
		c := newCame(t, kind.oneOff)
		c.admit("")
		c.answer(found(""), entryPage)
		root, err := c.through.tree.Root.OpenRoot(".")
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := c.through.Discard(); err != nil {
			t.Error(err)
		}
		if left, err := fs.ReadDir(root.FS(), "."); (err == nil && len(left) > 0) != kind.oneOff {
			t.Errorf("%s: %v %v", kind.name, left, err)
		}
	}
}

// Where links are repaired, all files are made by the draft, in a tree that no other process empties.
func TestThroughBesideRepairs(t *testing.T) {
	for _, kind := range kinds {
		c := newCame(t, kind.oneOff)
		c.cures = map[string]render.Cure{"http://x.example/": {}}
		for _, name := range []string{"", "a.html", "b.html"} {
			c.admit(name)
		}
		c.answer(found(""), entryPage)
		c.answer(found("a.html"), `<a href="/">start</a>`)
		c.answer(found("b.html"), `b`)
		c.named = 3
		c.finish()
	}
}

// Documents of large numbers are written through as others are, and statements on numbers are bounded only
// where they differ from what the names say.
func TestThroughOfManyNumbers(t *testing.T) {
	for _, kind := range kinds {
		c := newCame(t, kind.oneOff)
		c.admit("")
		c.answer(found(""), entryPage)
		const last = 2*mostForeseen + 1
		for i := range last {
			c.admit(fmt.Sprintf("p/%d", i))
		}
		c.answer(gone(fmt.Sprintf("p/%d", last-2)), "")
		c.answer(found(fmt.Sprintf("p/%d", last-1)), fmt.Sprintf(`<a href="%d">p</a> <a href="0">p</a>`, last-2))
		c.answer(gone("p/0"), "")
		c.admit("p/a")
		c.answer(found("p/a"), fmt.Sprintf(`<a href="0">p</a> <a href="%d">p</a>`, last-1))
		if n := len(c.through.outlook.more); n > 0 {
			t.Errorf("%s: more than their names is said of %d numbers", kind.name, n)
		}
		if stay := c.finish(); stay != 2 {
			t.Errorf("%s: %d files stay, want the first and the last", kind.name, stay)
		}
	}
}
