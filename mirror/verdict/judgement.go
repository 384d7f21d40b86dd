// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"mirrord/mirror/result"
)

// Judgement is a verdict in the making: the worst of what was concluded, and all reasons.
type Judgement struct {
	Verdict   result.Verdict
	Reasons   []string
	Left      int64 // URLs that are left for the next run
	Restart   bool  // see Ruling.Restart
	Gaps      result.GapReport
	Dropped   []uint32          // see Ruling.Dropped
	Stay      []uint32          // see Ruling.Stay
	Rejection *result.Rejection // nothing is published; see there
}

// Held reports whether what the run found waits for a user to accept it.
func (j *Judgement) Held() bool { return j.Verdict == result.Suspicious }

// Add takes in what rules concluded.
func (j *Judgement) Add(rulings ...Ruling) {
	for i := range rulings {
		r := &rulings[i]
		j.Verdict = max(j.Verdict, r.Verdict)
		j.Reasons = append(j.Reasons, r.Reasons...)
		j.Restart = j.Restart || r.Restart
		if r.Gaps != nil {
			j.Gaps = *r.Gaps
		}
		j.Dropped = append(j.Dropped, r.Dropped...)
		j.Stay = append(j.Stay, r.Stay...)
		if r.Rejection != nil {
			j.Rejection = r.Rejection
		}
	}
}

// Partial adds a reason why the run is not complete.
func (j *Judgement) Partial(format string, args ...any) {
	j.Verdict = max(j.Verdict, result.Partial)
	j.Reasons = append(j.Reasons, fmt.Sprintf(format, args...))
}

// Broke makes the judgement that of a run that an error of ours ended, such as one of the disk, and returns
// the error.
func (j *Judgement) Broke(err error) error {
	j.Verdict = result.Partial
	j.Reasons = append(j.Reasons, err.Error())
	return err
}

// StartsOver reports whether the next run does not resume this one and requests everything.
func (j *Judgement) StartsOver() bool {
	return (j.Verdict == result.Suspicious) || (j.Restart && j.Left == 0)
}
