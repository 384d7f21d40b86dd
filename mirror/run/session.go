// SPDX-License-Identifier: Apache-2.0

// Package run is what the phases of one run share: what the run works with, the version that it works
// for, and what it knows of URLs. It makes no request and publishes nothing. Of the site it writes which run
// is under way, and by which rules.
package run

import (
	"errors"
	"fmt"
	"time"

	"mirrord/internal/texts"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Session is one run as its phases see it. KnownURLs are safe for
// concurrent use; all else changes while no worker runs.
type Session struct {
	Options Options // with defaults
	Terms
	Site    *store.Site
	Started time.Time

	Live        *record.Version // that is published; nil before the first one
	Resumed     bool            // Run is of an earlier process
	Expired     bool            // Resumed, and too old to continue: it makes no more requests
	Fingerprint string          // of the rules

	Taken int64 // bytes that the site took when the run began; 0: not measured
	Full  error // why nothing more may be stored from the start; nil: something may

	urls.KnownURLs
}

// textsInMemory is how many bytes of URLs and paths of a run are in memory, at most: of 200,000 URLs that are
// new, or 500,000 that are known. Below that, reading a file takes as much as it saves.
const textsInMemory = 4 << 20

// New returns a session that has read nothing of the site. The error is a job that cannot be compiled.
func New(o Options) (*Session, error) {
	o = o.withDefaults()
	rules, _, err := scope.CompileFor(o.Job, o.Site.Notes)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", o.Site.Name, err)
	}
	if o.Imports { // an archive ends, and a user wanted to keep all of it
		rules.Profiles.Off()
	}
	if o.Job, err = urls.WithFoundReuse(o.Job, o.Site, o.State); err != nil {
		return nil, err
	}
	table := urls.New()
	table.UseFile(textsInMemory, func() (texts.File, error) { return disk.Scratch(o.Site.Dir) })
	s := &Session{
		Options: o,
		Terms: Terms{
			Job:     o.Job,
			Rules:   rules,
			Layout:  phm.Layout{Primary: rules.Seeds[0].Origin()},
			Run:     new(record.Run),
			Confirm: o.Confirm,
			Log:     o.Log.With("job", o.Site.Name),
			Now:     o.Now,
		},
		Site:      o.Site,
		Started:   o.Now(),
		KnownURLs: urls.KnownURLs{Table: table},
	}
	if err := s.lookAgain(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the session.
func (s *Session) Close() error { return s.Table.Close() }

// MostState returns how many bytes the site may take, and which limit says so; 0 without a limit.
func (s *Session) MostState() (bytes int64, limit string) {
	bytes = int64(s.Job.Limits.MaxState)
	limit = "limits.max_state = " + s.Job.Limits.MaxState.String()
	if most := s.Options.MostState; most > 0 && (bytes == 0 || most < bytes) {
		return most, s.Options.MostStateOf
	}
	return bytes, limit
}

// FindLive finds out which version is published, and which one the run works for.
func (s *Session) FindLive() error {
	live, err := s.Site.Versions.Last()
	if s.Version = live.Number + 1; live.Number > 0 {
		s.Live = &live
	}
	return err
}

// Begin finds out whether an unfinished run is resumed, or is too old for that, and makes a new one
// otherwise.
func (s *Session) Begin() error {
	unfinished, err := s.Site.Notes.Run()
	if err != nil {
		return err
	}
	s.Fingerprint = scope.Fingerprint(s.Job)
	stored, err := s.Site.Notes.Fingerprint()
	if err != nil {
		return err
	}
	now := s.Fingerprint
	if stored != "" && (stored != now || s.Rules.Profiles.Changed()) {
		now = scope.MixedRules
	}
	if now != stored {
		if err := s.Site.Notes.SetFingerprint(now); err != nil {
			return err
		}
	}
	s.Rescan = now == scope.MixedRules
	if unfinished != nil && unfinished.Fingerprint == s.Fingerprint {
		s.Run, s.Resumed = unfinished, true
		age := s.Started.Sub(time.Unix(s.Run.Started, 0))
		s.Expired = (age > job.ResumeFor(s.Job)) && !s.Options.NoFetch
		s.Log.Info("resume", "run", s.Run.Number, "started", time.Unix(s.Run.Started, 0), "expired", s.Expired)
		return nil
	}
	s.Run = &record.Run{Started: s.Started.Unix(), Fingerprint: s.Fingerprint}
	if s.Options.Restores != 0 {
		return s.Site.Notes.CountRun(s.Run)
	}
	return s.Site.Notes.BeginRun(s.Run)
}

// Missing is what earlier runs could not get, or did not get to; nil when that is not known.
func (s *Session) Missing() (*verdict.Missing, error) {
	v, err := s.Site.Notes.Fact(verdict.GapsFact)
	if err != nil {
		return nil, err
	}
	m, err := verdict.DecodeMissing(v, s.Table.Settled().Len())
	if err != nil {
		s.Log.Warn("the list of gaps cannot be decoded; starting with an empty one", "err", err)
	}
	return m, nil
}

// StateFull says that the site takes as much as a limit allows. Status knows the cause by the text.
func StateFull(limit string) error {
	return result.LimitError{What: "the mirror takes more than " + limit + ": nothing more is stored"}
}
