// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/intake"
	"mirrord/store"
)

func (r *reading) isGuess(id uint32) bool { return r.table.State(id).Guessed() }

// misled reports whether a guess of an image or the like was answered with a page: many a site has one for
// every path.
func (r *reading) misled(rec *store.Resource, mime string) bool {
	return !rec.InSet && intake.Misleads(rec.URL, mime) && r.isGuess(rec.ID)
}
