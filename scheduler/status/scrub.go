// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"time"

	"mirrord/internal/count"
)

// Scrub is what the daemon's reading of all stored bytes has come to for one mirror.
type Scrub struct {
	Last   *time.Time `json:"last,omitempty"`   // when a part was read
	Looked *time.Time `json:"looked,omitempty"` // when all published files were looked at
	Whole  *time.Time `json:"whole,omitempty"`  // all of it was read at or after this
	Began  *time.Time `json:"began,omitempty"`  // of the pass under way
	Parts  int        `json:"parts,omitempty"`  // of that pass
	Done   int        `json:"done,omitempty"`   // of them
	Read   int64      `json:"read,omitempty"`   // bytes, in that pass

	Damaged      int      `json:"damaged"`          // files that are damaged now
	Repaired     int      `json:"healed"`           // files that were damaged and are good again, ever
	Found        []Damage `json:"found,omitempty"`  // those that are damaged now, some of many
	LastRepaired []Damage `json:"mended,omitempty"` // the last ones that are good again
}

// Damage is one file that was found damaged.
type Damage struct {
	File     string     `json:"file"` // URL of a stored body, path of a published file, or name in the state
	What     string     `json:"what"` // is wrong
	Do       string     `json:"do"`   // what happens to it, or was done
	Found    time.Time  `json:"found"`
	Repaired *time.Time `json:"healed,omitempty"`
}

// MostDamage is how many damaged files are listed.
const MostDamage = 20

// DatabaseFile is the database of a mirror among damaged files.
const DatabaseFile = "site.db"

// WithScrub adds what the scrub has found to a job that was judged, and what to do about damage.
func (j *Job) WithScrub(s *Scrub, fix string) {
	if j.Scrub = s; s == nil || s.Damaged == 0 {
		return
	}
	if Damaged.Worse(j.Health) {
		j.Health = Damaged
	}
	j.Fix = fix
	for i := range s.Found {
		if i == mostProblems {
			j.Problems = append(j.Problems, "and "+count.Of(s.Damaged-i, "more damaged file"))
			break
		}
		j.Problems = append(j.Problems, s.Found[i].Say())
	}
}

// mostProblems is how many damaged files stand among the problems of a job.
const mostProblems = 3

// ScrubHint is what to do about files that are damaged.
func ScrubHint(name string) string {
	return "nothing, the next run requests damaged bodies again; at once: mirrord run-now " + name
}

// DropHint is what to do about damaged bodies that only older versions have.
func DropHint(name string) string {
	return "mirrord repair --drop-lost " + name + " removes lost files from the versions that have them"
}

// Say describes one damaged file: "damaged: FILE: the problem; the consequence".
func (d *Damage) Say() string {
	head := "damaged"
	if d.Repaired != nil {
		head = "repaired"
	}
	return fmt.Sprintf("%s: %s: %s; %s", head, d.File, d.What, d.Do)
}

// Lines describe the scrub of a mirror for people, at a time.
func (s *Scrub) Lines(now time.Time) (lines []string) {
	if s == nil || (s.Last == nil && s.Damaged+s.Repaired == 0) {
		return nil
	}
	var parts []string
	if s.Last != nil {
		parts = append(parts, "last read "+count.Ago(now.Sub(*s.Last))+" ago")
	}
	if s.Whole != nil {
		parts = append(parts, "all of it within the last "+count.Ago(now.Sub(*s.Whole)))
	}
	if s.Looked != nil {
		parts = append(parts, "published files looked at "+count.Ago(now.Sub(*s.Looked))+" ago")
	}
	parts = append(parts, fmt.Sprintf("%d damaged, %d repaired", s.Damaged, s.Repaired))
	lines = append(lines, "scrub: "+strings.Join(parts, ", "))
	for i := max(0, len(s.LastRepaired)-mostProblems); i < len(s.LastRepaired); i++ {
		lines = append(lines, s.LastRepaired[i].Say())
	}
	return lines
}

// told words what a message is about: the files of Found.
func (s *Scrub) told(one, many string) string {
	found := s.OrNone().Found
	if len(found) == 1 {
		return one + ": " + found[0].File
	}
	return fmt.Sprintf(many, len(found))
}

// OrNone returns s, or an empty one.
func (s *Scrub) OrNone() Scrub {
	if s == nil {
		return Scrub{}
	}
	return *s
}
