// SPDX-License-Identifier: Apache-2.0

package closing

import (
	"encoding/json"
	"fmt"
	"slices"

	"mirrord/store"
)

// leavingFact keeps what leaves the mirror when the run that was held back is accepted: store.IDs as JSON.
const leavingFact = "leaving"

// keepLeaving notes the numbers of what leaves the mirror when a run is accepted, nil for nothing.
func keepLeaving(notes *store.SiteNotes, numbers []uint32) error {
	before, err := notes.Fact(leavingFact)
	if (err != nil) || ((len(numbers) == 0) && (len(before) == 0)) {
		return err
	}
	if len(numbers) == 0 {
		return notes.SetFact(leavingFact, nil)
	}
	var ids store.IDs
	for _, id := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		ids.Add(id)
	}
	v, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return notes.SetFact(leavingFact, v)
}

// Leaving returns the numbers of the resources of a mirror that the run which was held back left in it, and
// that leave when it is accepted.
func Leaving(s *store.Site) (ids store.IDs, err error) {
	v, err := s.Notes.Fact(leavingFact)
	if (err != nil) || (len(v) == 0) {
		return nil, err
	}
	if err := json.Unmarshal(v, &ids); err != nil {
		return nil, fmt.Errorf("what leaves the mirror when the run is accepted: %w", err)
	}
	return ids, nil
}
