// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"fmt"
)

// Run is the unfinished run of a site.
type Run struct {
	Number      int    `json:"number"`            // from 1
	Started     int64  `json:"started"`           // Unix seconds
	Fingerprint string `json:"fingerprint"`       // of the job's rules; a change rescans the documents
	Retrieved   bool   `json:"retrieved"`         // nothing is left to ask
	Requests    int    `json:"requests"`          // made before a resume
	Planned     bool   `json:"planned,omitempty"` // it asks what a plan wants, not everything
}

// ReadRun reads the unfinished run from its note; nil without one.
func ReadRun(note []byte) (*Run, error) {
	if note == nil {
		return nil, nil
	}
	r := new(Run)
	if err := json.Unmarshal(note, r); err != nil {
		return nil, fmt.Errorf("unfinished run: %w: %v", ErrValue, err)
	}
	return r, nil
}
