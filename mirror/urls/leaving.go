// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"slices"

	"mirrord/store/record"
)

// LeavingFact is where a site keeps the numbers of the resources that the run which was held back left in the
// mirror, or an earlier accept kept, and that leave when it is accepted: record.IDs as JSON.
const LeavingFact = "leaving"

// KeepLeaving stores the value of LeavingFact.
func KeepLeaving(f Facts, numbers []uint32) error {
	var ids record.IDs
	for _, id := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		ids.Add(id)
	}
	return WriteFact(f, LeavingFact, ids)
}
