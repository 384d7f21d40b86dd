// SPDX-License-Identifier: Apache-2.0

package result

import "fmt"

// Rejection says that a run found the site as it was when its mirror was rolled back.
type Rejection struct {
	RolledBackTo int `json:"rolled_back_to"` // the version that the rollback restored
	Rejected     int `json:"rejected"`       // the version that it replaced, and that the site still has
}

// Text describes it.
func (h *Rejection) Text() string {
	return fmt.Sprintf("rolled back to %d; the site is as it was when you rolled back (version %d)",
		h.RolledBackTo, h.Rejected)
}
