// SPDX-License-Identifier: Apache-2.0

package retrieve

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"

	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/session"
	"mirrord/site"
	"mirrord/store"
)

// lasting are the troubles of URLs and origins that outlive a run. Without what earlier runs knew more is
// requested, and nothing is lost.
type lasting struct {
	waits   ledger.Waits
	origins ledger.SilentOrigins
}

// load reads what earlier runs knew.
func (l *lasting) load(notes *store.SiteNotes, log *slog.Logger) error {
	for _, f := range []struct {
		name   string
		decode func([]byte) error
	}{
		{ledger.WaitsFact, l.waits.Decode},
		{ledger.OriginsFact, l.origins.Decode},
	} {
		v, err := notes.Fact(f.name)
		if err != nil {
			return err
		}
		if err := f.decode(v); err != nil {
			log.Warn("starting without what earlier runs knew of troubles", "err", err)
		}
	}
	return nil
}

// owed returns what reports whether a known URL is requested whatever the plan says.
func (l *lasting) owed(s *session.Session) func(id uint32) bool {
	now, probes := s.Now(), l.origins.AnyProbed(s.Run.Number)
	return func(id uint32) bool {
		if s.Provenance.Owed(id) || l.waits.Due(id, now) {
			return true
		}
		if !probes {
			return false
		}
		turn, _ := l.origins.Turn(s.Table.URL(id).Origin(), s.Run.Number)
		return turn == ledger.OriginProbed
	}
}

// save keeps the troubles for the next run. whole says that the run was not cut short; when an entry point
// does not answer either, the network may be down, and no origin is to blame.
func (l *lasting) save(s *session.Session, t *crawl.Troubles, whole bool) error {
	if whole && len(t.DownEntries()) == 0 {
		l.origins.EndRun(s.Run.Number, s.Now().Unix(), t.MuteOrigins(), t.HasAnswered)
	}
	const what = "servers without an answer in %d runs or more: only every %dth run requests them"
	for _, origin := range l.origins.WrittenOff() {
		if u, _, err := site.Parse(origin + "/"); err == nil {
			s.Notes.Add(fmt.Sprintf(what, ledger.WrittenOffAfter, ledger.WrittenOffRuns), u)
		}
	}
	origins, err := l.origins.Encode()
	if err != nil {
		return err
	}
	known, err := s.Site.Notes.Fact(ledger.OriginsFact)
	if (err == nil) && !bytes.Equal(origins, known) {
		err = s.Site.Notes.SetFact(ledger.OriginsFact, origins)
	}
	if waits, changed := l.waits.Encode(); changed {
		err = errors.Join(err, s.Site.Notes.SetFact(ledger.WaitsFact, waits))
	}
	return err
}
