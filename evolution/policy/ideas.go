// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// Idea is a part of adaptive that can be left out, to see what it is worth.
type Idea string

// The ideas.
const (
	Probing   Idea = "probes"   // a request for a group counts what a hit would open up
	Evidence  Idea = "evidence" // outcomes pass up and down the tree
	Past      Idea = "past"     // groups changed in the same runs; without, all of a kind in a directory is one
	Grouping  Idea = "groups"   // without, every unit is a group of its own
	KinGroups Idea = "kin"      // groups in different directories that changed in the same runs
	Clumps    Idea = "clumps"   // a first change tells as much of others as it did before
	Naming    Idea = "names"    // units of one name
	Hubs      Idea = "hubs"     // their silence
	Alone     Idea = "alone"    // changes by themselves; without, all units have the least rate
	Ruling    Idea = "rules"    // of silent directories
	Rising    Idea = "rising"   // the price rises with what was found
)

// Ideas returns all of them.
func Ideas() []Idea {
	return []Idea{Probing, Evidence, Past, Grouping, KinGroups, Clumps, Naming, Hubs, Alone, Ruling, Rising}
}

func (i Idea) isKnown() bool { return i == "" || slices.Contains(Ideas(), i) }
