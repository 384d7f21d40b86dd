// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"encoding/json"
	"fmt"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// TrustFact is where a site keeps how far kinds of evidence are believed.
const TrustFact = "trust"

// trust is how far a kind of evidence is believed on a site.
type trust struct {
	Wrong int `json:"wrong"` // how often it hid a change
	Until int `json:"until"` // not believed before this run

	// Of the changes that were found of what a sitemap names, or of the runs that found some beside a list of
	// changes: how many there were, and how many it hid.
	Changes int `json:"changes,omitzero"`
	Hidden  int `json:"hidden,omitzero"`
}

// recallMemory is from how many changes on half of what was learned of a sitemap is forgotten.
const recallMemory = 64

// found takes a change, and whether the source showed it. From so many on half of them are forgotten.
func (t *trust) found(shown bool, memory int) {
	if t.Changes >= memory {
		t.Changes, t.Hidden = t.Changes/2, t.Hidden/2
	}
	if t.Changes++; !shown {
		t.Hidden++
	}
}

// hides is what share of all changes a source hides, by those that were found: 0 as long as it has shown them
// all.
func (t *trust) hides() float64 {
	if t.Hidden == 0 {
		return 0
	}
	return (float64(t.Hidden) + 0.5) / (float64(t.Changes) + 1)
}

// trusts are those of all kinds.
type trusts [urls.EvidenceKinds]trust

// read takes what fact returned in an earlier run. After an error everything is believed.
func (t *trusts) read(fact []byte) error {
	if len(fact) == 0 {
		return nil
	}
	err := json.Unmarshal(fact, t)
	if err != nil {
		clear(t[:])
	}
	return err
}

// distrust takes note that a kind of evidence hid a change. It is believed again after 4, 8, 16 … runs. The
// answer says so of the URL that changed.
func (t *trusts) distrust(k urls.EvidenceKind, run int) (note string) {
	t[k].Wrong++
	t[k].Until = run + 2<<min(t[k].Wrong, 8)
	source := [...]string{"listing", "sitemap", "lifetime", "list of changes"}[k]
	return fmt.Sprintf(caughtNote, source, t[k].Until)
}

// doubtedNote is for a sitemap beside a plan: what it does not show is expected less, but its silence is
// not proof.
const doubtedNote = "changed although the sitemap said nothing of it: its silence counts for less from now on"

// caughtNote has the source and the run until which it is not believed.
const caughtNote = "changed although the %s said nothing of it: it is not believed until run %d"

// Caught is a URL that changed although a kind of evidence said that it did not.
type Caught struct {
	Kind urls.EvidenceKind
	URL  site.URL
	Note string // what the summary says of it
}
