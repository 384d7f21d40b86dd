// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"fmt"
	"slices"
	"strings"

	"mirrord/job"
	"mirrord/phm"
	"mirrord/site"
)

// TypeRule is a job's rule about the types of files. What a URL is of is known when its answer has come, so
// that the rule does not refuse URLs, but what they turn out to be. A nil rule refuses nothing.
type TypeRule struct {
	want, not *phm.Types // nil: all; none
	pages     *phm.Types
	shown     *phm.Types // what a page needs to look as it should
	pictures  *phm.Types // what of that a job may leave out
	played    *phm.Types // films and sounds, without which it can be read
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
	shown, err := phm.NewTypes("images", "css", "js", "font/*", "woff", "ttf", "application/vnd.ms-fontobject")
	if err != nil {
		return nil, err
	}
	pictures, err := phm.NewTypes("images")
	if err != nil {
		return nil, err
	}
	played, err := phm.NewTypes("movies", "sounds")
	return &TypeRule{
		want:     want,
		not:      not,
		pages:    pages,
		shown:    shown,
		pictures: pictures,
		played:   played,
	}, err
}

// Refuses reports whether a file of a type does not belong to the mirror, and why. requisite says that a page
// needs it to be shown: then style sheets, scripts and fonts always belong to it, and so do images but for
// those that the job leaves out; of other types only films and sounds must be among those that are wanted.
func (r *TypeRule) Refuses(mime string, u site.URL, requisite bool) (reason string, refused bool) {
	if r == nil {
		return "", false
	}
	has := func(t *phm.Types) bool { return t != nil && t.Has(mime, u.Path()) }
	if requisite && has(r.shown) && !(has(r.pictures) && has(r.not)) {
		return "", false
	}
	name := mime
	if name == "" {
		name = "without a type"
	}
	wanted := r.want == nil || has(r.want) || has(r.pages) || (requisite && !has(r.played))
	switch {
	case has(r.not):
		return fmt.Sprintf("the file is %s, which scope.not_types leaves out", name), true
	case !wanted:
		return fmt.Sprintf("the file is %s, which is not in scope.types", name), true
	}
	return "", false
}

// IsPicture reports whether a file is a picture, by its type.
func (r *TypeRule) IsPicture(mime string, u site.URL) bool {
	return r != nil && r.pictures.Has(mime, u.Path())
}

// namesPictures reports whether one of the types of scope.not_types is of pictures.
func namesPictures(types []string) bool {
	return slices.ContainsFunc(types, func(w string) bool {
		w = strings.ToLower(strings.TrimSpace(w))
		return strings.HasPrefix(w, "image") || strings.HasPrefix(phm.TypeByExtension(w), "image/")
	})
}

// typeLooks is in how many runs a URL that the rule refused is requested once: it may have become another
// type.
const typeLooks = 8

// Rests reports whether a known URL that the rule refuses is not requested in a run.
func (r *TypeRule) Rests(id uint32, run int) bool { return r != nil && (int(id)+run)%typeLooks != 0 }
