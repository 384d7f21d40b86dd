// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"slices"

	"mirrord/mirror/frontier"
	"mirrord/mirror/parse"
	"mirrord/mirror/result"
	"mirrord/mirror/revisit"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// reserve counts a body instead of the one that the mirror had, before its links are followed; apply does not
// count it a second time. When a cap is reached meanwhile, because others were faster, the URL is not part of
// the mirror, and full says so. An entry point always fits: without it there is no mirror.
func (r *reading) reserve(now, old *record.Resource, as *urls.Account) (full *urls.Finding) {
	room := as.Room
	if old.InSet {
		room = room.Add(urls.RoomOf(old).Neg())
	}
	if now.InSet {
		room = room.Add(urls.RoomOf(now))
	}
	r.Counts.Hold(room)
	if now.InSet {
		reason := r.capped(1)
		isNew := !old.InSet && now.Referrer != 0
		if isNew && reason != "" {
			r.Counts.Hold(room.Neg())
			old.Outcome, old.Reason = site.Trapped, reason
			as.Tally |= urls.AsTrapped
			return urls.FindingOf(old, *as)
		}
	}
	as.Room, as.Reserved = room, true
	return nil
}

// keep makes the finding of a stored body, whose record it has, and says in which version it changed. Of a
// document that was cut short, and of an entry point whose links are not followed, those that it had before
// stay.
func (r *reading) keep(
	f *urls.Finding, old *record.Resource, targets []uint32, as urls.Account,
) (*urls.Finding, error) {
	now := &f.Resource
	entry := (now.Referrer == 0) || r.Traits.Is(now.ID, urls.IsLead)
	if result.Cut(now.Cut).IsCut() || (entry && now.NoFollow) {
		before, err := r.Records.TargetsOf(old.ID)
		if err != nil {
			return nil, err
		}
		targets = withBefore(targets, before)
	}
	sameType := old.MIME == now.MIME && old.Charset == now.Charset
	if old.Digest != now.Digest || !sameType || old.Body == record.NoBody || r.Rescan {
		now.Changed = r.Version
	}
	if old.InSet != now.InSet {
		now.Moved = r.Version
	}
	newType := now.Path != "" && old.MIME != now.MIME
	if newType && r.Layout.Preferred(now.URL, old.MIME) != r.Layout.Preferred(now.URL, now.MIME) {
		now.Path, now.Moved = "", r.Version // its name must say the new type
	}
	now.ShapeNew = r.Shapes.IsNew(now, old, r.Recording())
	const stored = urls.AsUnchanged | urls.AsRefused | urls.AsFailed | urls.AsFirstGone
	if as.Tally&stored == 0 { // it came now
		as.Tally |= urls.AsFetched
		r.news.Store(true)
	}
	f.Targets, f.Linked, f.As = targets, true, as
	return f, nil
}

// withBefore returns the links of a document, sorted, with those that it had before. What it only mentions
// now, because it was cut, and linked to before, is a link.
func withBefore(targets []uint32, before []byte) []uint32 {
	links := map[uint32]bool{}
	for _, id := range targets {
		if id < record.Mention {
			links[id&^record.Guess] = true
		}
	}
	var had []uint32
	record.Targets(before, func(id uint32) bool {
		if n := id &^ record.Guess; (id < record.Mention) && !links[n] {
			links[n] = true
			had = append(had, id)
		}
		return true
	})
	targets = slices.DeleteFunc(targets, func(id uint32) bool {
		return (id >= record.Mention) && (id != record.Unnumbered) && links[id&^record.Mention]
	})
	targets = append(targets, had...)
	slices.Sort(targets)
	return targets
}

// capped says which limit of the job is reached, "" for none. own is how many files are counted already that
// the question is about.
func (r *reading) capped(own int64) string {
	l := &r.Job.Limits
	if n := r.Counts.Files.Load() - own; l.MaxFiles > 0 && n >= l.MaxFiles {
		r.Notes.Cap(fmt.Sprintf("limits.max_files = %d is reached", l.MaxFiles))
		return "limits.max_files"
	}
	if n := r.Counts.Held.Load(); l.MaxSize > 0 && n >= int64(l.MaxSize) {
		r.Notes.Cap(fmt.Sprintf("limits.max_size = %v is reached", l.MaxSize))
		return "limits.max_size"
	}
	return ""
}

// unchanged makes an outcome of a body of an earlier run that is still right. Its links come from the store.
// rec says from now on that it is in the mirror; whether it was before is known to the table.
func (r *reading) unchanged(rec *record.Resource, as urls.Account) (*urls.Finding, error) {
	rec.Outcome, rec.Failures, rec.Gone = site.Unchanged, 0, 0
	rec.Observe(false)
	revisit.Forgive(rec)
	if rec.InSet {
		r.Admission.Recall(rec)
	} else {
		if rec.Reason == frontier.ChainReason {
			r.Admission.Chains.Learn(r.chainPage(rec)) // it left the mirror as part of a trap
		}
		as.Room = as.Room.Add(urls.RoomOf(rec))
		rec.InSet, rec.Moved = true, r.Version
	}
	as.Tally |= urls.AsUnchanged
	switch {
	case r.Rescan && rec.Body == record.PackBody:
		return r.rescanStored(rec, as)
	case r.Rescan && parse.IsScript(rec):
		return r.rescanScript(rec, as), nil
	}
	targets, err := r.Records.TargetsOf(rec.ID)
	if err == nil && r.SkipPlan.Evidence.First() && !r.Provenance.Hearsay(rec.ID) {
		err = r.hearStored(rec)
	}
	if err != nil {
		return nil, err
	}
	r.Admission.Vouch(rec, led(targets))
	r.Admission.Stored(targets)
	return urls.FindingOf(rec, as), nil
}

// notGiven makes an outcome of a URL that no source gave. What the mirror has of it stays, and the URL does
// not count as broken because of this.
func (r *reading) notGiven(rec *record.Resource, reason string, as urls.Account) *urls.Finding {
	rec.Outcome, rec.Reason = site.Failed, reason
	if r.Rules.Scope.Covers(rec.URL) && !r.isGuess(rec.ID) {
		as.Tally |= urls.AsFailed
	} else {
		as.Tally |= urls.AsRefused
	}
	as.Failed = reason
	return urls.FindingOf(rec, as)
}

// observe notes in the record of a body whether it is another one than before, and reports whether it is, by
// more than only says: that the body differs in nothing but what may change by itself, which now knows then,
// or in a content coding that is kept.
func observe(now, old *record.Resource, only bool) (changed bool) {
	if !old.InSet || old.Body == record.NoBody || old.Digest == [32]byte{} || old.Fetched == 0 {
		return false
	}
	changed = old.Digest != now.Digest
	now.Observe(changed)
	if !changed || only {
		return false
	}
	now.Volatile = old.Volatile.Same()
	return true
}

// blame judges the validators of a body by those of another body before it.
func blame(now, old *record.Resource, as *urls.Account) {
	if as.Stale = revisit.StaleValidators(now, old); as.Stale {
		const what = "validators that stayed the same when the content changed are no longer sent"
		as.Notes = append(as.Notes, what)
	}
}
