// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/result"
	"mirrord/mirror/run"
)

// Options is what a run works with.
type Options = run.Options

// The results of a run, as package result has them.
type (
	Summary = result.Summary
	Verdict = result.Verdict
	Note    = result.Note
)

// The verdicts.
const (
	Complete   = result.Complete
	Gaps       = result.Gaps
	Partial    = result.Partial
	Suspicious = result.Suspicious
)
