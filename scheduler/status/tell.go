// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"mirrord/internal/count"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Kind is what a message is about.
type Kind string

// The kinds of messages.
const (
	TellFailed     Kind = "failed"     // a run ended in an error, or left something to ask
	TellSuspicious Kind = "suspicious" // a run is held for review
	TellGaps       Kind = "gaps"       // a gap appeared or grew; the rest is published
	TellStale      Kind = "stale"      // the bound of staleness has passed
	TellRoom       Kind = "room"       // jobs wait for room on the disk
	TellRecovered  Kind = "recovered"  // a run was complete again after one of these was told
	TellDamaged    Kind = "damaged"    // the scrub found damaged files
	TellRepaired   Kind = "healed"     // damaged files are good again
	TellTest       Kind = "test"       // mirrord daemon notify
)

// Told is the last message about a job; it outlives the process.
type Told struct {
	Kind Kind      `json:"kind,omitempty"` // "" or recovered: nothing is open
	At   time.Time `json:"at,omitzero"`
	// what was told is lasting, and this is the text that names it: it is not told again
	Lasting string `json:"lasting,omitempty"`
}

// Open reports whether a problem was told and no recovery.
func (t Told) Open() bool { return t.Kind != "" && t.Kind != TellRecovered && t.Kind != TellTest }

// Quiet reports whether something was told so short a time ago that another problem can wait.
func (t Told) Quiet(now time.Time) bool {
	since := now.Sub(t.At)
	return t.Kind != "" && since >= 0 && since < QuietFor
}

// Between two messages about the same problem, and between two of any kind that are no recovery.
const (
	RepeatAfter = 24 * time.Hour
	QuietFor    = time.Hour
)

// Tell decides whether something is to be told about a job that was judged, "" when not. It is called
// after each run and from time to time.
//
// A run that was ended by a user, by the window or by a full disk that is taken care of is reported only
// when the
// mirror gets stale by it. One and the same problem is reported again after RepeatAfter, but a run that
// waits for
// a user to accept it only once. Another problem is reported at once but no more than one an hour, so that a
// site that comes and goes does not fill mailboxes. A full disk concerns all jobs alike; the job that stopped
// for it says so once. Gaps are reported once, by the run in which they appeared or grew. So is what another
// run
// would only meet again, such as a secret that cannot be read, but for that the mirror gets stale by it.
// TellRoom is decided elsewhere: it is about all jobs that wait.
func (t Told) Tell(j *Job, now time.Time) Kind {
	var kind Kind
	switch {
	case j.Health == Damaged, j.Health == Failed && j.Last.Cause != Busy:
		kind = TellFailed
	case j.Health == Suspicious:
		kind = TellSuspicious
	case j.Stale:
		kind = TellStale
	case j.Health == Partial && slices.Contains([]Cause{ByItself, DiskFull, StateFull}, j.Last.Cause):
		kind = TellFailed
	case j.Health == Gaps:
		if !j.Last.GapsGrew || (t.Kind == TellGaps && !t.At.Before(j.Last.Ended)) {
			return "" // it is known, or was told
		}
		kind = TellGaps
	case j.Last.Complete() && t.Open() && (t.Kind != TellRoom || j.Last.Ended.After(t.At)):
		return TellRecovered
	}
	if (kind == TellFailed) && (j.LastingTrouble() != "") && t.Open() && (t.Lasting == j.LastingTrouble()) {
		if kind = TellStale; !j.Stale {
			return ""
		}
	}
	since := now.Sub(t.At)
	switch {
	case kind == "":
		return ""
	case since < 0: // the clock went back: as if nothing had been told
		return kind
	case t.Kind == kind && kind == TellSuspicious,
		t.Kind == kind && since < RepeatAfter && kind != TellGaps:
		return ""
	case t.Quiet(now) && kind != TellSuspicious:
		return ""
	}
	return kind
}

// LastingTrouble is the text of what the last run met and another one would meet again, "" for all others.
func (j *Job) LastingTrouble() string {
	if (j.Last == nil) || !j.Last.Lasting {
		return ""
	}
	t, _ := TroubleOf(j.why())
	return cmp.Or(t.Cause, j.why())
}

// Message is one message. Its JSON form is a contract with its receivers.
type Message struct {
	Kind    Kind      `json:"kind"`
	Host    string    `json:"host"` // name of the mirror's machine
	Time    time.Time `json:"time"`
	Subject string    `json:"subject"` // one line
	Text    string    `json:"text"`    // a few lines, for people
	Job     Job       `json:"job"`
	// messages before this one that were held back, because there were too many
	Dropped int `json:"dropped,omitempty"`
}

// NewMessage words a message about a job.
func NewMessage(kind Kind, host string, j Job, now time.Time) Message {
	j.Progress = nil
	m := Message{
		Kind: kind,
		Host: host,
		Time: now,
		Job:  j,
	}
	var what string
	switch kind {
	case TellFailed:
		what = "did not end well"
		if j.Failures > 1 {
			what = fmt.Sprintf("did not end well, %d times in a row", j.Failures)
		}
	case TellSuspicious:
		what = "is held for review"
	case TellGaps:
		what = "has newly missing resources; the rest is published"
	case TellStale:
		what = "is stale"
		if j.Staleness > 0 {
			what += ": not verified for " + count.Ago(time.Duration(j.Staleness)*time.Second)
		}
	case TellRoom:
		what, j.Fix = "waits for room on the disk", (&Job{Activity: NoRoom}).fix()
	case TellRecovered:
		if what = "is well again"; j.Last.GapsText() != "" {
			what += " but for " + j.Last.GapsText()
		}
	case TellDamaged:
		what = j.Scrub.told("is damaged", "has %d damaged files")
	case TellRepaired:
		what = j.Scrub.told("was damaged and is good again", "had %d damaged files, which are good again")
	case TellTest:
		what = "sends a test message"
	}
	m.Subject = oneLine(fmt.Sprintf("mirrord on %s: %s %s", host, j.Name, what))
	text, err := textOf("message", struct {
		Kind    Kind
		Job     *Job
		OfFiles bool
	}{kind, &j, kind == TellDamaged || kind == TellRepaired}, template.FuncMap{"line": oneLine, "shown": Shown})
	if err != nil { // a fault of ours: the message is sent all the same
		text = err.Error()
	}
	m.Text = text + "\n"
	return m
}

// oneLine keeps what came from a site from adding lines of its own.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 500 {
		s = string(r[:499]) + "…"
	}
	return strings.TrimSpace(s)
}
