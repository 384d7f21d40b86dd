// SPDX-License-Identifier: Apache-2.0

package mirror

import "mirrord/mirror/result"

// What a run comes to, as package result has it.
type (
	Summary = result.Summary
	Verdict = result.Verdict
	Note    = result.Note
	Failure = result.Failure
)

// The verdicts.
const (
	Complete   = result.Complete
	Partial    = result.Partial
	Suspicious = result.Suspicious
)

// Bytes writes a number of bytes for a person, in powers of 1000.
func Bytes(n int64) string { return result.Bytes(n) }
