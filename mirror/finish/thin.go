// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"time"

	"mirrord/job"
	"mirrord/store"
)

// Thin drops the versions of a site that its job's keep rule does not want, and returns their numbers. With
// dry they stay. What they alone held is still on the disk: store.Site.Compact and store.State.CollectBlobs
// give it back. No run may be under way.
func Thin(j *job.Job, s *store.Site, now time.Time, dry bool) ([]int, error) {
	rule, err := job.ParseKeep(j.Publish.Keep)
	if err != nil {
		return nil, fmt.Errorf("publish.keep: %w", err)
	}
	place, err := j.Location(time.Local)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	vs, err := s.Versions.List()
	if err != nil {
		return nil, err
	}
	dated := make([]job.Dated, len(vs))
	for i, v := range vs {
		dated[i] = job.Dated{Number: v.Number, Time: v.Time}
	}
	drop := rule.Drop(dated, now.In(place))
	if dry {
		return drop, nil
	}
	for i, n := range drop {
		if err := s.Versions.Drop(n); err != nil {
			return drop[:i], err
		}
	}
	return drop, nil
}
