// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"encoding/json"
	"fmt"
	"slices"

	"mirrord/store/record"
)

// LeavingFact is where a site keeps the numbers of the resources that the run which was held back left in the
// mirror, and that leave when it is accepted: record.IDs as JSON.
const LeavingFact = "leaving"

// EncodeLeaving returns the value of LeavingFact, nil for none.
func EncodeLeaving(numbers []uint32) ([]byte, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	var ids record.IDs
	for _, id := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		ids.Add(id)
	}
	return json.Marshal(ids)
}

// DecodeLeaving reads what EncodeLeaving wrote.
func DecodeLeaving(v []byte) (ids record.IDs, err error) {
	if len(v) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(v, &ids); err != nil {
		return nil, fmt.Errorf("what leaves the mirror when the run is accepted: %w", err)
	}
	return ids, nil
}
