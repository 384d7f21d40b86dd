// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// Leaving says which files of a mirror leave in the next run because the rules of its job changed.
type Leaving struct {
	Files     int // of the mirror
	Refused   int // the rules refuse them
	Pictures  int // among those, pictures that scope.not_types leaves out
	Unreached int // only refused pages link to them
	Example   site.URL
}

// LeavingOnAccept returns the numbers of the resources that accept takes out of a mirror because nothing
// links to them now. Their records are as they were.
func LeavingOnAccept(s *store.Site) (record.IDs, error) {
	ids, _, err := urls.ReadFact[record.IDs](s.Notes, urls.LeavingFact)
	return ids, err
}

// LeavingOf compares the records of a site with the rules of its job. It is empty when the rules are those
// of the last run; otherwise it needs memory for the table of all URLs.
func LeavingOf(j *job.Job, s *store.Site) (l Leaving, err error) {
	switch stored, err := s.Notes.Fingerprint(); {
	case err != nil:
		return l, err
	case (stored == "") || (stored == scope.Fingerprint(j)):
		return l, nil
	}
	v, err := Load(j, s, time.Time{})
	if err != nil {
		return l, err
	}
	v.newRules = true
	t, roots := v.table, slices.Collect(maps.Keys(v.maps))
	for _, u := range v.rules.Seeds {
		if id, ok := t.FindURL(u); ok {
			roots = append(roots, id)
		}
	}
	reached, err := urls.Reach(t, urls.Links{
		Of:    s.Records.TargetsOf,
		Count: func(id uint32, s urls.State) bool { return v.maps[id] || (s.InSet() && !v.refused(id, s)) },
		May:   func(urls.State) bool { return false },
	}, roots)
	if err != nil {
		return l, err
	}
	for id, s := range t.All() {
		if !s.InSet() {
			continue
		}
		l.Files++
		switch {
		case v.refused(id, s):
			l.Refused++
			if v.rules.Types.IsPicture(t.MIME(id), t.URL(id)) {
				l.Pictures++
			}
		case !reached.Has(id):
			l.Unreached++
		default:
			continue
		}
		if l.Example.IsZero() {
			l.Example = t.URL(id)
		}
	}
	return l, nil
}

// String says it in words, "" when nothing leaves.
func (l Leaving) String() string {
	n := l.Refused + l.Unreached
	if n == 0 {
		return ""
	}
	const what = "%d of %d published files will leave the mirror in the next run, " +
		"because the rules of the job changed: "
	out := fmt.Sprintf(what, n, l.Files)
	switch {
	case l.Unreached == 0:
		out += "they are refused"
	case l.Refused == 0:
		out += "nothing that stays links to them"
	default:
		out += fmt.Sprintf("%d are refused, and nothing that stays links to the other %d", l.Refused, l.Unreached)
	}
	if l.Pictures > 0 {
		out += "; " + count.Of(l.Pictures, "picture") + " among them"
	}
	return fmt.Sprintf("%s; such as %s", out, l.Example)
}
