// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/store"
)

// A run that is suspicious is held back until a user accepts it or the site answers otherwise. Requesting
// all of the site in every run would find the same again. So the next runs look at a few pages only.

// Held has the kept facts of a run that was held back.
type Held struct {
	Run     int      `json:"run"`
	Since   int64    `json:"since"` // Unix seconds at which the first run began that was held back
	Full    int64    `json:"full"`  // Unix seconds at which the last run began that requested everything
	Version int      `json:"version"`
	Job     string   `json:"job"` // digest of the job
	Known   int64    `json:"known"`
	Reasons []string `json:"reasons"`
	URLs    []string `json:"urls"`    // entry points, and some of the pages for which the run was held back
	Entries int      `json:"entries"` // how many of URLs are entry points
}

// What a look requests at most.
const (
	heldEntries = 3 // entry points, and the pages that they redirect to
	heldDropped = 5 // other pages
)

// fullAfter is after what time everything is requested again although nothing looks different: a day, less
// what a daily schedule may vary by.
const fullAfter = 23 * time.Hour

// ForgetHeld makes the next run one that looks at everything although the run before was held back.
func ForgetHeld(notes *store.SiteNotes) error { return notes.SetFact(heldFact, nil) }

// heldFact keeps a Held.
const heldFact = "held"

// jobDigest names what a job says.
func jobDigest(j *job.Job) string {
	d := sha256.Sum256(j.Effective())
	return hex.EncodeToString(d[:8])
}

// Held returns the facts of the run before, when that was held back and a look is enough now. The version
// that is published must be known.
func (s *Session) Held() (h Held, ok bool, err error) {
	chosen := s.Job.All || (len(s.Job.Only) > 0)
	if s.Options.NoFetch || s.Options.Accept || chosen || (s.Live == nil) {
		return h, false, nil
	}
	unfinished, err := s.Site.Notes.Run()
	if (err != nil) || (unfinished != nil) {
		return h, false, err
	}
	if h, ok, err = s.storedHeld(); (err != nil) || !ok {
		return h, false, err
	}
	age := s.Started.Sub(time.Unix(h.Full, 0))
	sameJob := (h.Job == jobDigest(s.Job)) && (h.Version == s.Live.Number)
	return h, sameJob && (age >= 0) && (age < fullAfter), nil
}

// storedHeld reads the fact. One that cannot be decoded counts as missing.
func (s *Session) storedHeld() (h Held, ok bool, err error) {
	return urls.ReadFact[Held](s.Site.Notes, heldFact)
}

// KeepHeld notes how a run ended that knew so many URLs. When it requested everything and was held back:
// which pages the next runs look at. When its result was published: that nothing is held back now.
func (s *Session) KeepHeld(j *verdict.Judgement, known int64, entries, dropped []string) error {
	before, ok, err := s.storedHeld()
	switch {
	case err != nil:
		return err
	case !j.Held() && !ok:
		return nil
	case !j.Held():
		return s.Site.Notes.SetFact(heldFact, nil)
	case (s.Live == nil), s.Options.NoFetch, s.Expired, len(s.Job.Only) > 0: // it did not request everything
		return nil
	}
	h := Held{
		Run:     s.Run.Number,
		Since:   s.Started.Unix(),
		Full:    s.Started.Unix(),
		Version: s.Live.Number,
		Job:     jobDigest(s.Job),
		Known:   known,
		Reasons: j.Reasons,
	}
	if ok && (before.Version == h.Version) {
		h.Since = before.Since
	}
	h.Entries = min(len(entries), heldEntries)
	h.URLs = append(h.URLs, entries[:h.Entries]...)
	n := min(len(dropped), heldDropped)
	for i := range n {
		h.URLs = append(h.URLs, dropped[i*len(dropped)/n])
	}
	return urls.WriteFact(s.Site.Notes, heldFact, h)
}
