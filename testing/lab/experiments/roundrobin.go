// SPDX-License-Identifier: Apache-2.0

package experiments

import (
	"cmp"
	"slices"

	"mirrord/evolution/policy"
	"mirrord/replay"
)

// RoundRobin is the baseline that requests the directories that it has longest not requested, each whole,
// until the budget is used.
const RoundRobin policy.Name = "roundrobin"

// InTurn makes what acts as RoundRobin does. The budget is a share of the known pages and directories.
func InTurn(budget float64) func(*replay.History) replay.Actor {
	return func(h *replay.History) replay.Actor {
		last := make([]int, h.Dirs()) // by directory: the version at which it was requested
		return func(w *replay.World) error {
			inTurn(h, w, budget, last)
			return nil
		}
	}
}

func inTurn(h *replay.History, w *replay.World, budget float64, last []int) {
	var turns []replay.Dir
	for d := range replay.Dir(h.Dirs()) {
		if w.Known(d) {
			turns = append(turns, d)
		}
	}
	known := len(turns)
	for p := range replay.Page(h.Pages()) {
		if w.Holds(p) {
			known++
		}
	}
	slices.SortFunc(turns, func(a, b replay.Dir) int {
		return cmp.Or(cmp.Compare(last[a], last[b]), cmp.Compare(h.DirPath(a), h.DirPath(b)))
	})
	for _, d := range turns {
		if float64(w.Requests()) >= budget*float64(known) {
			break
		}
		if w.Known(d) { // else a listing above has shown that it is gone
			w.Visit(d)
		}
		last[d] = w.Now()
	}
}
