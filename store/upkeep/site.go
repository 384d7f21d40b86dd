// SPDX-License-Identifier: Apache-2.0

// Package upkeep is the room of package store that looks after one open site: it verifies what the disk has,
// repairs bodies from good copies, makes records again of the published tree, and gives back the space of
// what nothing refers to. It opens nothing, and knows no other site.
package upkeep

import (
	"mirrord/store/away"
	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/trees"
)

// Site is an open site: its parts, as package store has opened them.
type Site struct {
	*home.Folder
	Records  *facts.Records
	Versions *facts.Versions
	Frames   *bodies.Frames
	Heads    *bodies.HeadFiles
	Trees    *trees.SiteTrees
	Kept     *blobs.Blobs // bodies that are published as they came
	Away     *away.Site   // what of it a check-out has left in a depot; nil for nothing
}
