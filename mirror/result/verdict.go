// SPDX-License-Identifier: Apache-2.0

package result

import (
	"errors"
	"fmt"
)

// Verdict is how a run ended. A larger one is worse.
type Verdict uint8

// The verdicts.
const (
	Complete   Verdict = iota // everything in scope was requested or skipped with a reason; see Summary.Gaps
	Gaps                      // published, but some part could not be had, which is new
	Partial                   // something is left to request; the next run resumes
	Suspicious                // the site looks wrong; nothing is published until a user accepts it
)

func (v Verdict) String() string { return [...]string{"complete", "gaps", "partial", "suspicious"}[v] }

// Words returns the verdict as people read it.
func (v Verdict) Words() string {
	switch v {
	case Gaps:
		return "some resources are missing"
	case Suspicious:
		return "held for review"
	}
	return v.String()
}

// Finished reports whether the run got what could be had, so that its result is published.
func (v Verdict) Finished() bool { return v <= Gaps }

// MarshalText makes a Verdict a word in JSON.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads the word.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i := Complete; i <= Suspicious; i++ {
		if i.String() == string(b) {
			*v = i
			return nil
		}
	}
	return fmt.Errorf("verdict %q: none of complete, gaps, partial, suspicious", b)
}

// ErrInterrupted is why a run ended that was told to end.
var ErrInterrupted = errors.New("interrupted")

// LimitError is a limit of the job that ended a run.
type LimitError struct {
	What string // the limit, and what to do
}

func (e LimitError) Error() string { return e.What }
