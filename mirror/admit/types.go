// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"fmt"

	"mirrord/job"
	"mirrord/phm"
	"mirrord/site"
)

// TypeRule is a job's rule about the types of files. What a URL is of is known when its answer has come, so
// that the rule does not refuse URLs, but what they turn out to be. A nil rule refuses nothing.
type TypeRule struct {
	want, not *phm.Types // nil: all; none
	pages     *phm.Types
	played    *phm.Types // films and sounds, without which a page can be read
}

// newTypeRule returns the rule of a job, nil when it has none.
func newTypeRule(j *job.Job) (*TypeRule, error) {
	want, not, err := j.TypeSets()
	if err != nil || (want == nil && not == nil) {
		return nil, err
	}
	pages, err := phm.NewTypes("html", "xhtml")
	if err != nil {
		return nil, err
	}
	played, err := phm.NewTypes("movies", "sounds")
	return &TypeRule{
		want:   want,
		not:    not,
		pages:  pages,
		played: played,
	}, err
}

// Refuses reports whether a file of a type does not belong to the mirror, and why. requisite says that a page
// needs it to be shown: then only films and sounds are refused.
func (r *TypeRule) Refuses(mime string, u site.URL, requisite bool) (reason string, refused bool) {
	if r == nil || (requisite && !r.played.Has(mime, u.Path())) {
		return "", false
	}
	name := mime
	if name == "" {
		name = "without a type"
	}
	switch {
	case r.not != nil && r.not.Has(mime, u.Path()):
		return fmt.Sprintf("the file is %s, which scope.not_types leaves out", name), true
	case r.want != nil && !r.want.Has(mime, u.Path()) && !r.pages.Has(mime, u.Path()):
		return fmt.Sprintf("the file is %s, which is not in scope.types", name), true
	}
	return "", false
}

// typeLooks is in how many runs a URL that the rule refused is requested once: it may have become another
// type.
const typeLooks = 8

// Rests reports whether a known URL that the rule refuses is not requested in a run.
func (r *TypeRule) Rests(id uint32, run int) bool { return r != nil && (int(id)+run)%typeLooks != 0 }
