// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"mirrord/evolution/policy"
	"mirrord/store/record"
)

// answerHead is how many bytes an answer has beside its body, roughly; the answer 304 has no others.
const answerHead = 400

// weights say what answers transfer, for a job that has a price of bytes: by URL, the bytes of its body, or
// less than 0 when they come though nothing has changed. Bodies are as they are without compression.
type weights []float32

// load takes a record.
func (w *weights) load(rec *record.Resource) {
	for int(rec.ID) >= len(*w) {
		*w = append(*w, 0)
	}
	size := float32(rec.Size)
	if rec.ComesWhole() {
		size = -size
	}
	(*w)[rec.ID] = size
}

// Bytes returns how many bytes the answer for a unit has when it is as it was, and when it changed.
func (w weights) Bytes(u policy.ID) (same, changed float64) {
	if int(u) >= len(w) {
		return answerHead, answerHead
	}
	size := float64(w[u])
	if size < 0 {
		return answerHead - size, answerHead - size
	}
	return answerHead, answerHead + size
}
