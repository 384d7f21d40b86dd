// SPDX-License-Identifier: Apache-2.0

package record

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
func ReadRun(note []byte) (*Run, error) { return readNote[Run]("unfinished run", note) }
