// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/site"
)

// NotMirroredError says that a job does not mirror a URL.
type NotMirroredError struct {
	Ref string // as it was given
	Why string
}

func (e *NotMirroredError) Error() string { return fmt.Sprintf("%s is not mirrored: %s", e.Ref, e.Why) }

// Named returns the URLs of a job that references mean in its first entry point. The error is a
// *NotMirroredError for a reference that is no URL, or one that the job does not admit as a page.
func Named(j *job.Job, refs []string) ([]site.URL, error) {
	rules, err := scope.Compile(j)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	var out []site.URL
	for _, ref := range refs {
		u, _, err := rules.Seeds[0].Resolve(ref)
		if err != nil {
			return nil, &NotMirroredError{Ref: ref, Why: err.Error()}
		}
		if ok, why := rules.Allow(u, scope.Page); !ok {
			return nil, &NotMirroredError{Ref: ref, Why: why}
		}
		out = append(out, u)
	}
	return out, nil
}
