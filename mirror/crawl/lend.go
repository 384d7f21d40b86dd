// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/store/record"
)

// lending is what replicas gave in this run that spread the load of the origin. When one is found to differ,
// all that is taken back: new URLs are written as not yet requested before they are requested, so that a
// run that resumes after a kill requests them, too.
type lending struct {
	*run.Session
	r *crawling // whose answers they are

	mu    sync.Mutex // held while an answer of a replica is written, and while all of them are taken back
	given map[string]map[uint32]lent
}

// lent is one answer of a replica that was written.
type lent struct {
	isNew bool
	tally urls.Tally
	room  urls.Room
}

func (l *lending) note(base string, id uint32, x lent) {
	if l.given == nil {
		l.given = map[string]map[uint32]lent{}
	}
	if l.given[base] == nil {
		l.given[base] = map[uint32]lent{}
	}
	l.given[base][id] = x
}

// recall notes what replicas gave before an interruption of the run.
func (l *lending) recall(rec *record.Resource, run int, by *source.Spread) {
	if !rec.InSet || rec.Run != run {
		return
	}
	if base, ok := by.BaseOf(rec.Source); ok {
		l.note(base, rec.ID, lent{isNew: true, room: urls.RoomOf(rec)})
	}
}

// spread lets replicas answer for the origin, if the job wants that.
func (l *lending) spread(ctx context.Context, r *crawling, workers *frontier.Workers) error {
	l.Session, l.r = r.Session, r
	if r.chain.Spread == nil || r.Rescan {
		return nil
	}
	of, lenders, err := r.chain.Spread.Prepare(l.mayLend)
	if err != nil {
		return err
	}
	helpers := make([]frontier.Helper, 0, len(lenders))
	for _, from := range lenders {
		if from.Differs() { // it was found out before an interruption
			l.takeBack(from)
		}
		helpers = append(helpers, from)
	}
	workers.Lent = l.lend
	workers.Lend(ctx, of, helpers)
	return nil
}

// mayLend reports whether a replica may be requested for a URL, by what the table knows. It is called with
// the lock of the frontier held.
func (l *lending) mayLend(id uint32) bool {
	own := l.Provenance.FromReplica(id) || l.Traits.Is(id, urls.NamedSitemap) || l.Traits.Is(id, urls.IsReopened)
	return !own && !l.Table.State(id).Guessed()
}

// lend does what the turn of a replica is for.
func (l *lending) lend(ctx context.Context, turn frontier.Lent, release func(fetch.Observation)) error {
	from := turn.Helper.(*source.Lender)
	var err error
	if turn.Wish == urls.WishCheck {
		var differs bool
		if differs, err = l.r.chain.Spread.Check(ctx, from, release); differs {
			l.takeBack(from)
		}
	} else {
		err = l.lendOne(ctx, turn, from, release)
	}
	if errors.Is(err, fetch.ErrCanceled) || ctx.Err() != nil {
		return nil
	}
	return err
}

// lendOne requests one URL of a replica. What it does not give goes back to the origin.
func (l *lending) lendOne(
	ctx context.Context, turn frontier.Lent, from *source.Lender, release func(fetch.Observation),
) error {
	rec, err := l.r.process.Record(turn.ID, l.Table.URL(turn.ID))
	if err != nil {
		return err
	}
	wasNew := !rec.InSet
	f, err := l.r.process.Lent(ctx, &rec, from, release)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f == nil || from.Differs() {
		if f != nil && f.As.Reserved {
			l.Counts.Hold(f.As.Room.Neg())
		}
		l.r.dispatcher.Front.Keep(turn.Of, turn.ID)
		return nil
	}
	l.note(from.Base(), turn.ID, lent{isNew: wasNew, tally: f.As.Tally, room: f.As.Room})
	from.Gave(1)
	l.r.conclude(turn.ID, f.URL, process.Found{Finding: f})
	return nil
}

// takeBack requests everything again that a replica gave in this run.
func (l *lending) takeBack(from *source.Lender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, x := range l.given[from.Base()] {
		if !l.Table.Reopen(id) {
			continue
		}
		u, _ := l.Table.Queue(id)
		l.Counts.TakeBack(x.tally)
		if x.isNew {
			l.Counts.Hold(x.room.Neg())
			l.Traits.Note(id, urls.IsReopened)
			l.r.needed.forget(id)
		}
		l.r.dispatcher.Front.Add(u.Origin(), id, frontier.PrioNew)
		if x.tally != 0 {
			from.Gave(-1)
		}
		const what = "requested again, because the replica that gave it differs from the origin"
		l.Notes.Add(what, u)
	}
	delete(l.given, from.Base())
}
