// SPDX-License-Identifier: Apache-2.0

package report

import (
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/store/record"
)

// mostCuts is how many documents that limits cut short are named for one URL.
const mostCuts = 5

// cuts reports which documents a limit cut short, as far as that concerns the URL: it is such a document, its
// link was in one, or one may link to it behind the limit. known says that rec is stored.
func (e *explainer) cuts(rec *record.Resource, known bool) error {
	if e.Site == nil {
		return nil
	}
	cuts, _, err := urls.ReadFact[urls.Cuts](e.Site.Notes, urls.CutsFact)
	if (err != nil) || (len(cuts) == 0) {
		return err
	}
	for by := range cuts.Of(e.u.String()).All {
		e.say("cut: it %s", e.limit(by))
	}
	if known && rec.InSet {
		return e.linkedBefore(rec, cuts)
	}
	if inScope, _ := e.View.rules.Scope.Admits(e.u); !inScope || (e.refused != "") {
		return nil
	}
	for i := range cuts[:min(len(cuts), mostCuts)] {
		d := &cuts[i]
		e.say("cut: %s %s: it may link to this URL", d.URL, e.limit(d.By))
	}
	if !known {
		e.x.Answer = "not mirrored: no link to it is known, but " + cuts[0].URL + " " + e.limit(cuts[0].By)
	}
	return nil
}

// linkedBefore says of a mirrored URL that its first link was in a document that is cut short now.
func (e *explainer) linkedBefore(rec *record.Resource, cuts urls.Cuts) error {
	if rec.Referrer == 0 {
		return nil
	}
	urls, err := e.urls(rec.Referrer - 1)
	if err != nil {
		return err
	}
	from := urls[rec.Referrer-1].String()
	for by := range cuts.Of(from).All {
		e.say("cut: %s, which linked to it, %s: it stays although that link may be there no longer",
			from, e.limit(by))
	}
	return nil
}

// limit says what a limit did to a document.
func (e *explainer) limit(by result.Cut) string { return urls.LimitOf(by, &e.Job.Limits).Why() }
