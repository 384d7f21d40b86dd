// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	"mirrord/internal/count"
)

// WaitFor is what a job waits for.
type WaitFor string

// What jobs wait for.
const (
	ForTurn   WaitFor = "turn"   // all turns are taken
	ForHost   WaitFor = "host"   // a gap of politeness, or a host that asks to wait
	ForSlow   WaitFor = "slow"   // answers of a host that hardly sends anything
	ForWindow WaitFor = "window" // the job's window is closed
	ForRoom   WaitFor = "room"   // limits.min_free is not left on the disk
	ForTree   WaitFor = "tree"   // all trees of older versions are in their grace
	ForDepot  WaitFor = "depot"  // its mirror does not come from the depot of a cluster
)

// WaitsFor returns all that jobs wait for.
func WaitsFor() []WaitFor {
	return []WaitFor{ForTurn, ForHost, ForSlow, ForWindow, ForRoom, ForTree, ForDepot}
}

// HeldFor is why a host is waited for, beyond the job's own delay.
type HeldFor string

// Why hosts are waited for.
const (
	HeldBusy   HeldFor = "busy"   // other jobs make requests of it
	HeldWish   HeldFor = "wish"   // other jobs want a longer gap between requests
	HeldAsked  HeldFor = "asked"  // it asked to wait
	HeldFails  HeldFor = "fails"  // its requests fail, and each lets the next one wait longer
	HeldRobots HeldFor = "robots" // its robots.txt wants a longer gap
)

// Wait is what a job, or its run, waits for.
type Wait struct {
	For   WaitFor    `json:"for"`
	Host  string     `json:"host,omitempty"`  // with host and slow
	Since *time.Time `json:"since,omitempty"` // nil: not known
	Until *time.Time `json:"until,omitempty"` // nil: not known
	// with turn: the jobs that have or get one before; with busy and wish: those that hold the host
	Behind []string      `json:"behind,omitempty"`
	Held   HeldFor       `json:"held,omitempty"` // with host: why; "" for the job's own delay
	Gap    time.Duration `json:"gap,omitempty"`  // with host: nanoseconds between two requests
}

// behindMost is how many jobs Say names.
const behindMost = 3

// Say describes a wait: "waits for host example.org until 12:30 UTC". Times are in the zone of w.
func (w *Wait) Say() string {
	switch w.For {
	case ForTurn:
		if len(w.Behind) > 0 {
			return "waits for a turn behind " + w.behind()
		}
		return "waits for a turn"
	case ForHost:
		s := "waits for host " + w.Host
		if w.Until != nil {
			s += " until " + w.until()
		}
		return s + w.held()
	case ForSlow:
		return "waits for answers of host " + w.Host + ", which is slow"
	case ForWindow:
		if w.Until != nil {
			return "waits for its window, which opens at " + w.until()
		}
		return "waits for its window"
	case ForRoom:
		return "waits for room on the disk"
	case ForDepot:
		return "waits for its mirror, which does not come from the depot"
	case ForTree:
		const what = "waits to publish, because the trees of older versions are in their grace"
		if w.Until != nil {
			return what + ", until " + w.until()
		}
		return what
	}
	return "waits"
}

// behind names jobs, and counts the rest.
func (w *Wait) behind() string {
	if n := len(w.Behind); n > behindMost {
		return fmt.Sprintf("%s and %d more", strings.Join(w.Behind[:behindMost], ", "), n-behindMost)
	}
	return strings.Join(w.Behind, ", ")
}

// held says why a host is waited for.
func (w *Wait) held() string {
	switch w.Held {
	case HeldBusy:
		return ", which is requested by " + w.behind()
	case HeldWish:
		return fmt.Sprintf(", because %s wants %s between requests", w.behind(), count.Span(w.Gap))
	case HeldAsked:
		return ", which asked to wait"
	case HeldFails:
		return ", whose requests fail"
	case HeldRobots:
		return fmt.Sprintf(", whose robots.txt wants %s between requests", count.Span(w.Gap))
	}
	return ""
}

// Held is the wait of a run that works, but whose busiest host is held to a longer gap by other jobs; nil for
// none.
func (p *Progress) Held() *Wait {
	if p == nil || p.Phase != Retrieving || len(p.Busy) == 0 || len(p.Busy[0].GapBy) == 0 {
		return nil
	}
	return &Wait{
		For:    ForHost,
		Host:   p.Busy[0].Host,
		Behind: p.Busy[0].GapBy,
		Held:   HeldWish,
		Gap:    p.Busy[0].Gap,
	}
}

// until writes the end of a wait, with the date when it is not soon.
func (w *Wait) until() string {
	form := "15:04"
	if w.Since == nil || w.Until.Sub(*w.Since) > 18*time.Hour {
		form = "2006-01-02 15:04"
	} else if w.Until.Sub(*w.Since) < 10*time.Minute {
		form = "15:04:05"
	}
	if _, offset := w.Until.Zone(); offset == 0 {
		return w.Until.UTC().Format(form + " MST")
	}
	return w.Until.Format(form + " -07:00")
}

// Waiting says what a run waits for, "" when for nothing or for the ordinary gap between requests.
func (p *Progress) Waiting() string {
	wait := count.Span(p.WaitFor.Round(time.Second))
	switch {
	case p.WaitWhy == ForTree:
		return fmt.Sprintf("waiting %s to publish", wait)
	case p.WaitWhy == ForTurn:
		return "waiting for a turn"
	case p.WaitWhy == ForSlow:
		return "waiting for answers of " + p.WaitHost
	case p.WaitHost == "" || p.InFlight > 0 || p.WaitFor < time.Second:
		return ""
	case p.WaitWhy == ForWindow:
		return fmt.Sprintf("waiting %s for the window", wait)
	}
	return fmt.Sprintf("waiting %s for %s", wait, p.WaitHost)
}

// TurnHeld is a turn of the daemon and who has it.
type TurnHeld struct {
	Job   string    `json:"job"`
	Since time.Time `json:"since"`
	// it is held for some seconds, beside the max_runs turns, by a run that hardly does anything but wait
	Short bool `json:"short,omitempty"`
}

// HostHeld is a host with requests under way, and the jobs that make them.
type HostHeld struct {
	Host     string    `json:"host"`
	Jobs     []string  `json:"jobs"`
	Waiting  []string  `json:"waiting,omitempty"` // jobs that asked for the host in vain just now
	Requests int       `json:"requests"`          // under way
	Next     time.Time `json:"next,omitzero"`     // earliest start of the next one
}

// Holders says in a few lines who has the turns and the hosts; none when no run works.
func (d *Daemon) Holders() (lines []string) {
	var turns []string
	for _, t := range d.Turns {
		turns = append(turns, t.Job)
	}
	if len(turns) > 0 {
		lines = append(lines, fmt.Sprintf("run slots, of %d: %s", d.MaxRuns, strings.Join(turns, ", ")))
	}
	if d.Parked > 0 {
		lines = append(lines, fmt.Sprintf("queued runs: %d", d.Parked))
	}
	for _, h := range d.Hosts {
		line := "host " + h.Host + ": " + strings.Join(h.Jobs, ", ")
		if len(h.Waiting) > 0 {
			line += "; next " + strings.Join(h.Waiting, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}
