// SPDX-License-Identifier: Apache-2.0

package look

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/upkeep"
)

// ScrubNote is what outlives the process about the scrub of one site. Fields may be added.
type ScrubNote struct {
	status.Scrub
	All     []FoundDamage `json:"all,omitempty"`    // damaged now: Found of Scrub is made of it
	Redone  time.Time     `json:"redone,omitzero"`  // when the database was last made again, as far as it was told
	Untold  []FoundDamage `json:"untold,omitempty"` // repaired since the last message
	Checked time.Time     `json:"checked,omitzero"` // when All was compared with the disk
	Size    int64         `json:"size,omitempty"`   // of the site, when the pass began
}

// FoundDamage is one damaged file.
type FoundDamage struct {
	status.Damage
	Kind upkeep.ProblemKind `json:"kind"`
	Told bool               `json:"told,omitempty"`
	Lost bool               `json:"lost,omitempty"` // only older versions have it: no run requests it
}

// MostDamage bounds the list of a ruined site: the next pass finds the rest.
const MostDamage = 1000

// scrubFile is the file of a site's folder with its note, which is read without its database.
const scrubFile = "scrub.json"

// LoadScrub reads the note of a site. One that cannot be read is begun again.
func LoadScrub(st *store.State, name string) *ScrubNote {
	n := new(ScrubNote)
	v, err := st.ReadBeside(name, scrubFile)
	if err == nil && v != nil && json.Unmarshal(v, n) != nil {
		n = new(ScrubNote)
	}
	return n
}

// Save keeps the note, unless the site has been removed. A crash leaves what was stored before, or this.
func (n *ScrubNote) Save(st *store.State, name string) error {
	n.Damaged, n.Found = len(n.All), nil
	v, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return st.KeepBeside(name, scrubFile, v, 0o644, !st.Volatile)
}

// Shown is what status shows of the note; nil when there is nothing.
func (n *ScrubNote) Shown() *status.Scrub {
	s := n.Scrub
	if s.Damaged, s.Found = len(n.All), nil; s.Last == nil && s.Damaged+s.Repaired == 0 {
		return nil
	}
	for i := range n.All[:min(len(n.All), status.MostDamage)] {
		s.Found = append(s.Found, n.All[i].Damage)
	}
	return &s
}

// Add keeps damage that was found, once.
func (n *ScrubNote) Add(d FoundDamage) {
	same := func(x FoundDamage) bool { return x.Kind == d.Kind && x.File == d.File }
	if len(n.All) < MostDamage && !slices.ContainsFunc(n.All, same) {
		n.All = append(n.All, d)
	}
}

// Repair records that damage is repaired.
func (n *ScrubNote) Repair(d FoundDamage, at time.Time, how string) {
	n.All = slices.DeleteFunc(n.All, func(x FoundDamage) bool { return x.Kind == d.Kind && x.File == d.File })
	d.Repaired, d.Do, d.Told = &at, how, false
	n.Repaired++
	n.LastRepaired = append(n.LastRepaired, d.Damage)
	if more := len(n.LastRepaired) - status.MostDamage; more > 0 {
		n.LastRepaired = slices.Delete(n.LastRepaired, 0, more)
	}
	if len(n.Untold) < MostDamage {
		n.Untold = append(n.Untold, d)
	}
}

// Parts of a pass: about one a day, and more of a site of which a day's share is more than partBytes, so that
// a restart of the daemon costs little.
const partBytes = 2 << 30

// Begin begins a pass over a site that takes size bytes.
func (n *ScrubNote) Begin(at time.Time, every time.Duration, size int64) {
	days := max(1, int64(every/(24*time.Hour)))
	n.Began, n.Done, n.Read, n.Size = &at, 0, 0, size
	n.Parts = int(days * max(1, (size/days+partBytes-1)/partBytes))
}

// Due is when the next part is to be read: the parts are spread over the time of a pass.
func (n *ScrubNote) Due(now time.Time, every time.Duration) time.Time {
	if n.Began == nil || n.Parts <= 0 || n.Began.After(now.Add(every)) { // or the clock went back
		return now
	}
	return n.Began.Add(every / time.Duration(n.Parts) * time.Duration(n.Done))
}

// Finish takes in that a part was read.
func (n *ScrubNote) Finish(now time.Time, every time.Duration, read int64, looked bool) {
	n.Last, n.Read = &now, n.Read+read
	if looked {
		n.Looked = &now
	}
	if n.Done++; n.Done < n.Parts {
		return
	}
	n.Whole = n.Began
	next := n.Began.Add(every)
	if next.Before(now) {
		next = now
	}
	n.Begin(next, every, n.Size)
}

// scrubOf is what status shows of the scrub of a site, and what to do about it. Damage that a run has
// repaired since is left out.
func scrubOf(st *store.State, name string) (*status.Scrub, string) {
	n := LoadScrub(st, name)
	if len(n.All) > 0 {
		if noted, err := NotedDamage(st, name); err == nil {
			n.All = slices.DeleteFunc(n.All, func(d FoundDamage) bool { return d.Noted() && !noted[d.File] })
		}
	}
	return n.Shown(), n.Fix(name)
}

// Noted reports whether damage is of a kind that is kept in the notes for the next run until it is repaired.
func (d *FoundDamage) Noted() bool {
	return d.Kind == upkeep.BadTree || slices.Contains(BodyKinds(), d.Kind)
}

// Has reports whether something of some kinds is damaged.
func (n *ScrubNote) Has(kinds ...upkeep.ProblemKind) bool {
	return slices.ContainsFunc(n.All, func(d FoundDamage) bool { return slices.Contains(kinds, d.Kind) })
}

// Fix is what to do about the damage.
func (n *ScrubNote) Fix(name string) string {
	waits := func(d FoundDamage) bool { return d.Noted() && !d.Lost }
	switch {
	case n.Has(upkeep.BadDatabase):
		return status.RebuildHint(name) + "; then: mirrord run-now " + name
	case slices.ContainsFunc(n.All, waits):
		return status.ScrubHint(name)
	case n.Has(BodyKinds()...):
		return status.DropHint(name)
	case n.Has(upkeep.BadHead):
		return "mirrord gc " + name
	}
	return "mirrord run-now " + name
}

// Lost takes in that there is no good copy of a body here.
func (n *ScrubNote) Lost(site string, l *upkeep.LostBody) {
	for i := range n.All {
		d := &n.All[i]
		if d.File != l.URL || !slices.Contains(BodyKinds(), d.Kind) {
			continue
		}
		if d.Lost = !l.Present; d.Lost {
			hint := status.DropHint(site)
			d.Do = fmt.Sprintf("only %d older versions have it; %s", len(l.Versions), hint)
		}
	}
}

// NoteIn adds the damage to the notes of a site for its next run.
func (n *ScrubNote) NoteIn(s *store.Site) error {
	urls, err := s.Notes.Damaged()
	if err != nil {
		return err
	}
	files, err := s.Notes.WrongFiles()
	if err != nil {
		return err
	}
	for i := range n.All {
		switch d := &n.All[i]; {
		case d.Kind == upkeep.BadTree:
			files = append(files, d.File)
		case d.Noted():
			urls = append(urls, d.File)
		}
	}
	if err := s.Notes.NoteDamaged(urls); err != nil {
		return err
	}
	return s.Notes.NoteWrongFiles(files)
}

func BodyKinds() []upkeep.ProblemKind { return []upkeep.ProblemKind{upkeep.BadFrame, upkeep.BadBlob} }

// NotedDamage is what the next run of a site is to heal, by URL and path.
func NotedDamage(st *store.State, name string) (map[string]bool, error) {
	urls, files, err := store.NotedDamage(st, name)
	noted := map[string]bool{}
	for _, x := range slices.Concat(urls, files) {
		noted[x] = true
	}
	return noted, err
}
