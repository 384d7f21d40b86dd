// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"math"
	"time"

	"mirrord/mirror/urls"
	"mirrord/store"
	"mirrord/store/record"
)

// VerifiedSince returns since when everything in the mirror has been looked at, or vouched for by evidence;
// zero when nothing is in it. A URL that failed often enough to count as broken does not make the whole
// mirror stale: reports name those.
func VerifiedSince(s *store.Site) (since time.Time, err error) {
	oldest := int64(math.MaxInt64)
	err = s.Records.Resources(func(r *record.Resource) error {
		if r.InSet && (r.Failures < urls.LastingFailures) && (r.Checked > 0) {
			oldest = min(oldest, r.Checked)
		}
		return nil
	})
	if err != nil || oldest == math.MaxInt64 {
		return time.Time{}, err
	}
	return time.Unix(oldest, 0), nil
}
