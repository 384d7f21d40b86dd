// SPDX-License-Identifier: Apache-2.0

package publish

import (
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

// Where links are repaired, all files are made by the draft, in a tree that nobody else empties.
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
