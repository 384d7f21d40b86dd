// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"mirrord/internal/volatile"
	"mirrord/mirror/result"
)

// Report writes the counts into a summary. What evidence spared counts as unchanged.
func (s *Counts) Report(sum *result.Summary) {
	sum.Requests, sum.Fetched, sum.Unchanged = s.Requests.Load(), s.Fetched.Load(), s.Unchanged.Load()
	sum.Redirected, sum.Gone, sum.Failed = s.Redirected.Load(), s.Gone.Load(), s.Failed.Load()
	sum.Disallowed, sum.Trapped, sum.Refused = s.Disallowed.Load(), s.Trapped.Load(), s.Refused.Load()
	sum.FirstGone, sum.Other = s.FirstGone.Load(), s.Other.Load()
	sum.Bytes, sum.Wire, sum.Relocated = s.Bytes.Load(), s.Wire.Load(), s.Relocated.Load()
	sum.SameText, sum.NearText = s.SameText.Load(), s.NearText.Load()
	for k := range s.Noise {
		if n := s.Noise[k].Load(); n > 0 {
			if sum.Noise == nil {
				sum.Noise = map[string]int64{}
			}
			sum.Noise[volatile.Kind(k).String()] = n
		}
	}
	for k := range EvidenceKinds {
		n := s.Spared[k].Load()
		if n == 0 {
			continue
		}
		if sum.Spared == nil {
			sum.Spared = map[string]int64{}
		}
		sum.Spared[k.String()] = n
		sum.Unchanged += n
	}
}
