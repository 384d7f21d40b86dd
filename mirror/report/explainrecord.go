// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"mirrord/fetch/heads"
	"mirrord/internal/volatile"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// unsent is why a validator is not sent.
const unsent = "it once stayed the same when the content changed, or the server answered 412 to it"

// history says what was learned of a resource.
func (e *explainer) history(rec *record.Resource) {
	if rec.Body == record.PackBody {
		if fr, err := e.Site.Frames.ReadFrame(bodies.NewFrameReader(), rec.At); err == nil {
			e.noise(rec.URL, fr.Body)
			if e.skipPlan.Noise.HasNewTags(rec.URL, fr.Body) {
				e.say("validators: its ETag is not sent, because each answer of its template has another one")
			}
		}
	}
	if rec.Volatile.Holds() && rec.Body == record.PackBody {
		what := "its stored body cannot be read"
		if fr, err := e.Site.Frames.ReadFrame(bodies.NewFrameReader(), rec.At); err == nil {
			what = volatile.Examples(rec.Volatile.Find(fr.Body))
		}
		e.say("volatile: a change of this alone does not count: %s; "+
			"after %d answers in a row that were unchanged so it is requested twice, and %d were",
			what, volatile.MaxHeld, rec.Volatile.Held)
	}
	if rec.NoETag {
		e.say("validators: its ETag is not sent, because " + unsent)
	}
	if rec.NoDate {
		e.say("validators: its Last-Modified is not sent, because " + unsent)
	}
	if until, ok := e.skipPlan.Validators.Until(rec.URL); ok {
		e.say("validators: none are sent in its directory before run %d, "+
			"because one of them hid a change", until)
	}
	if n := min(rec.Observed, 16); n > 0 {
		changes := bits.OnesCount16(rec.Recent)
		e.say("history: changed at %d of the last %d times it was looked at again", changes, n)
	}
}

// noise says at which positions of a page each answer differs, with a pair of values of each.
func (e *explainer) noise(u site.URL, body []byte) {
	hits := e.skipPlan.Noise.Known(u).Masked(body).Hits
	if len(hits) == 0 {
		return
	}
	said := map[volatile.Position]int{}
	for i := range hits {
		said[hits[i].Position]++
	}
	for _, n := range e.skipPlan.First.Noise() {
		if at, _ := volatile.Between(n.Before, n.After); said[at] > 0 {
			e.say("noise: its profile says that %s#%s says nothing: a change of this alone does not count",
				n.Before, n.After)
		}
	}
	for _, f := range e.skipPlan.Noise.All() {
		if n := said[f.Position]; n > 0 {
			e.say("noise: each answer differs at %s (a %v, %d here): a change of this alone does not count; "+
				"run %d saw %q and %q at one moment in %s", f.Where, f.Kind, n, f.Run, f.Old, f.New, f.URL)
		}
	}
}

// reused is the job whose mirror is reused, and for what; with reuse = "auto" that which was found.
func (v *View) reused() (name, from, at string) {
	if !v.Job.FindsReuse() {
		from, at = v.Job.ReusePrefixes()
		return v.Job.Reuse.Job, from, at
	}
	if v.Site == nil {
		return "", "", ""
	}
	found, err := urls.LastFoundReuse(v.Site.Notes)
	if err != nil {
		return "", "", "" // the run says so
	}
	return found.Job, found.From, found.At
}

// isReused reports whether the body of a resource was taken from the mirror of another job.
func (v *View) isReused(rec *record.Resource) bool {
	_, from, at := v.reused()
	return (from != "") && rec.InSet && urls.TakenFrom(rec, from, at)
}

// base is the URL that each replica of the job stands for. A site that is named without https or www has
// its pages where the first entry point leads.
func (v *View) base() (string, error) {
	seed := v.rules.Seeds[0]
	rec, known, err := v.record(seed)
	if err == nil && known {
		rec, err = v.final(rec)
	}
	if err != nil {
		return "", err
	}
	leads := rec.InSet && rec.URL.Origin() != seed.Origin()
	if leads && v.rules.Scope.Covers(rec.URL) && strings.HasPrefix(rec.URL.Path(), seed.Dir()) {
		return rec.URL.Origin() + seed.Dir(), nil
	}
	return v.Job.Base(), nil
}

// record reports the record.
func (e *explainer) record(rec *record.Resource) error {
	v, x := e.View, e.x
	x.Last = rec.Outcome.String()
	status, reason := fmt.Sprintf(", status %d", rec.Status), ": "+rec.Reason
	if strings.HasPrefix(reason[2:], status[2:]) {
		reason = ", " + rec.Reason
	} else if rec.Status > 0 {
		x.Last += status
	}
	x.Last += strings.TrimSuffix(reason, ": ")
	if rec.Checked > 0 {
		x.Checked = time.Unix(rec.Checked, 0).UTC().Format(time.RFC3339)
	}
	x.Mirrored, x.Path, x.Source = rec.InSet, rec.Path, ""
	if rec.InSet {
		x.Source = rec.Source
	}
	if rec.InSet && rec.Like > 0 {
		urls, err := v.urls(rec.Like - 1)
		if err != nil {
			return err
		}
		like, known, err := v.record(urls[rec.Like-1])
		if err != nil {
			return err
		}
		const late = 60 // seconds that a page may wait until it is compared
		// else it was forgotten, or has changed since
		if known && like.InSet && like.Fetched <= rec.Fetched+late {
			x.Like, x.SameText = like.URL.String(), rec.SameText
		}
	}
	switch name, _, _ := e.reused(); {
	case e.isReused(rec):
		x.Answer = "mirrored, taken from the mirror of job " + name
	case rec.InSet && rec.Source != "":
		x.Answer = "mirrored, from a replica"
	case rec.InSet && rec.Outcome == site.Failed:
		x.Answer = "mirrored, from an earlier run: the last request failed"
	case rec.InSet && rec.Path == "":
		x.Answer = "mirrored"
		owner, err := v.twin(rec)
		if err != nil {
			return err
		}
		if owner.Path != "" {
			x.Answer = "mirrored: it has the same bytes as " + owner.URL.String() + " and shares its file"
			x.Path = owner.Path
		}
	case rec.InSet:
		x.Answer = "mirrored"
	case rec.Outcome == site.Redirected && rec.Target > 0:
		f, err := v.final(*rec)
		if err != nil {
			return err
		}
		if f.InSet {
			x.Answer = "links to it lead to where it redirects"
			x.Redirect, x.Path = f.URL.String(), f.Path
		} else {
			x.Answer = "not mirrored: it redirects to " + f.URL.String() + ", which is not mirrored"
		}
	case rec.Outcome == site.Pending:
		x.Answer = "not yet: it waits to be asked"
	case e.refused != "":
		x.Answer = "not mirrored: " + e.refused
	default:
		x.Answer = "not mirrored: " + x.Last
	}
	if err := e.stays(rec); err != nil {
		return err
	}
	var err error
	if x.Found, err = v.trail(rec); err != nil || len(x.Found) == 0 {
		return err
	}
	linked, err := e.linked(rec, x.Found[0])
	if err == nil && !linked {
		x.Answer += fmt.Sprintf("; %s, where it was found, no longer links to it", x.Found[0])
		x.Found = nil
	}
	return err
}

// linked reports whether the document that a resource was found by still named it when the last run ended, as
// far as that is known: not of a document that left the mirror, nor of a resource that is found by now.
func (e *explainer) linked(rec *record.Resource, by string) (bool, error) {
	_, stored, err := e.Site.Records.Get(rec.URL)
	if err != nil || !stored {
		return true, err
	}
	doc, _, err := e.View.record(site.Canonical(by))
	if err != nil || !doc.InSet {
		return true, err
	}
	targets, err := e.Site.Records.TargetsOf(doc.ID)
	linked := false
	record.Targets(targets, func(to uint32) bool {
		linked = to&^(record.Mention|record.Guess) == rec.ID
		return !linked
	})
	return linked, err
}

// stays adds to the answer about a resource that left that the published version has it, as while a run is
// held for review.
func (e *explainer) stays(rec *record.Resource) error {
	if rec.InSet || rec.Path == "" || e.live == nil {
		return nil
	}
	dated, err := e.Site.Versions.History(rec.URL)
	if err != nil {
		return err
	}
	for _, was := range dated {
		if was.Version.Number == e.live.Number && was.Known && was.Record.InSet {
			e.x.Answer += fmt.Sprintf("; version %d, which stays published, has it", was.Version.Number)
		}
	}
	return nil
}

// Heads adds the heads of the answers that are stored. A head that is damaged is said to be so; one that
// may only have been moved since a view was opened is an error.
func (x *Explanation) Heads(s *store.Site) error {
	if s == nil || x.rec == nil {
		x.NoHead = "no answer is stored"
		return nil
	}
	var lost error
	read := func(at record.HeadPlace) *heads.Head {
		if at.IsZero() {
			return nil
		}
		h, err := s.Records.ReadHead(x.rec.URL, at)
		if err != nil {
			lost, x.NoHead = err, err.Error()
		}
		return h
	}
	if x.rec.InSet {
		x.Head = read(x.rec.Head)
	}
	x.LastHead = read(x.rec.LastHead)
	if (lost != nil) && s.DB.Stale() {
		return lost
	}
	switch {
	case (x.Head != nil) || x.LastHead != nil || x.NoHead != "":
	case !x.rec.InSet:
		x.NoHead = "no answer is stored"
	default:
		x.NoHead = "none is stored: the body came before heads were kept, or from elsewhere; " +
			"the next run that fetches it keeps its head"
	}
	return nil
}
