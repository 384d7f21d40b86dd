// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"

	"mirrord/mirror/scope"
	"mirrord/store"
)

// Programs names the programs that runs found to make a site, and whose profiles they used.
func Programs(s *store.Site) (names []string, err error) {
	fact, err := s.Notes.Fact(scope.ProfilesFact)
	var all []scope.ProgramOf
	if err == nil && json.Unmarshal(fact, &all) == nil { // else the next run learns them again
		for _, is := range all {
			names = append(names, is.Name)
		}
	}
	return names, err
}
