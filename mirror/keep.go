// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"mirrord/job"
	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/mirror/result"
	"mirrord/mirror/spare"
	"mirrord/site"
	"mirrord/store"
)

// reserve counts a body in the place of what the mirror had, before its links are followed; apply does not
// count it a second time. When a cap is reached meanwhile, because others were faster, the URL is not part of
// the mirror, and full says so. An entry point always fits: without it there is no mirror.
func (r *reading) reserve(now, old *store.Resource, as *ledger.Account) (full *ledger.Finding) {
	room := as.Room
	if old.InSet {
		room = room.Add(ledger.RoomOf(old).Neg())
	}
	if now.InSet {
		room = room.Add(ledger.RoomOf(now))
	}
	r.stats.Hold(room)
	if now.InSet {
		reason := r.capped(1)
		isNew := !old.InSet && now.Referrer != 0
		if isNew && reason != "" {
			r.stats.Hold(room.Neg())
			old.Outcome, old.Reason = site.Trapped, reason
			as.Tally |= ledger.AsTrapped
			return &ledger.Finding{Done: store.Done{Resource: *old}, As: *as}
		}
	}
	as.Room, as.Reserved = room, true
	return nil
}

// keep makes the outcome of a stored body, and says in which version it changed.
func (r *reading) keep(now, old *store.Resource, targets []uint32, as ledger.Account) *ledger.Finding {
	sameType := old.MIME == now.MIME && old.Charset == now.Charset
	if old.Digest != now.Digest || !sameType || old.Body == store.NoBody || r.rescan {
		now.Changed = r.run.Version
	}
	if old.InSet != now.InSet {
		now.Moved = r.run.Version
	}
	newType := now.Path != "" && old.MIME != now.MIME
	if newType && r.layout.Preferred(now.URL, old.MIME) != r.layout.Preferred(now.URL, now.MIME) {
		now.Path, now.Moved = "", r.run.Version // its name must say the new type
	}
	now.ShapeNew = r.shapes.IsNew(now, old, r.run)
	as.Tally |= ledger.AsFetched
	return &ledger.Finding{Done: store.Done{Resource: *now, Targets: targets, Linked: true}, As: as}
}

// capped says which limit of the job is reached, "" for none. own is how many files are counted already that
// the question is about.
func (r *reading) capped(own int64) string {
	l := &r.job.Limits
	if n := r.stats.Files.Load() - own; l.MaxFiles > 0 && n >= l.MaxFiles {
		r.notes.Cap(fmt.Sprintf("limits.max_files = %d is reached", l.MaxFiles))
		return "limits.max_files"
	}
	if n := r.stats.Held.Load(); l.MaxSize > 0 && n >= int64(l.MaxSize) {
		r.notes.Cap(fmt.Sprintf("limits.max_size = %v is reached", l.MaxSize))
		return "limits.max_size"
	}
	return ""
}

// diskRoom says why nothing more may be stored: less than the job's limit is left on the disk of dir.
func diskRoom(dir string, least job.Size) error {
	if least <= 0 {
		return nil
	}
	free, err := store.FreeBytes(dir)
	if err != nil || free >= int64(least) {
		return nil
	}
	return result.LimitError{What: "less than limits.min_free = " + least.String() +
		" is left on the disk of the state directory; free some space and run again to go on"}
}

// unchanged makes an outcome of a body of an earlier run that is still right. Its links come from the store.
// rec says from now on that it is in the mirror; whether it was before is known to the table.
func (r *reading) unchanged(rec *store.Resource, as ledger.Account) (*ledger.Finding, error) {
	rec.Outcome, rec.Failures, rec.Gone = site.Unchanged, 0, 0
	rec.Observe(false)
	spare.Forgive(rec)
	if !rec.InSet {
		as.Room = as.Room.Add(ledger.RoomOf(rec))
		rec.InSet, rec.Moved = true, r.run.Version
	}
	as.Tally |= ledger.AsUnchanged
	switch {
	case r.rescan && rec.Body == store.PackBody:
		return r.rescanStored(rec, as)
	case r.rescan && intake.IsScript(rec):
		return r.rescanScript(rec, as), nil
	}
	targets, err := r.site.Records.TargetsOf(rec.ID)
	if err == nil && r.advice.Evidence.First() && !r.provenance.Hearsay(rec.ID) {
		err = r.hearStored(rec)
	}
	if err != nil {
		return nil, err
	}
	r.admission.Stored(targets)
	return &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}, nil
}

// leave takes a resource, or a redirect, out of the mirror, and returns how the room that the mirror takes
// changes. version is
// the one that the run works for. The body stays in the packs and in the history.
func leave(rec *store.Resource, version int) (room ledger.Room) {
	if rec.InSet {
		room = ledger.RoomOf(rec).Neg()
	}
	if rec.InSet || rec.Target != 0 {
		rec.InSet, rec.Target, rec.Moved = false, 0, version
	}
	return room
}

// notGiven makes an outcome of a URL that no source gave. What the mirror has of it stays, and the URL is not
// taken for broken because of this.
func (r *reading) notGiven(rec *store.Resource, reason string, as ledger.Account) *ledger.Finding {
	rec.Outcome, rec.Reason = site.Failed, reason
	if r.rules.Scope.Covers(rec.URL) && !r.isGuess(rec.ID) {
		as.Tally |= ledger.AsFailed
	} else {
		as.Tally |= ledger.AsRefused
	}
	as.Failed = reason
	return &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}
}
