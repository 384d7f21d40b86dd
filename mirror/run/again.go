// SPDX-License-Identifier: Apache-2.0

package run

import (
	"mirrord/site"
	"mirrord/store/record"
)

// lookAgain makes a run with Options.Again one for the URLs of the mirror whose last answer was a first 404
// or 410. When there are none it is one for the entry points.
func (s *Session) lookAgain() error {
	if !s.Options.Again {
		return nil
	}
	var only []site.URL
	err := s.Site.Records.Resources(func(r *record.Resource) error {
		if r.InSet && (r.Gone == 1) && (r.Outcome == site.Failed) {
			only = append(only, r.URL)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(only) == 0 {
		only = s.Rules.Seeds
	}
	j := *s.Job
	j.Only = only
	s.Job, s.Options.Job = &j, &j
	return nil
}
