// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"mirrord/store/record"
)

// Missing are the URLs that the mirror should have and could not get, as one run leaves them for the next
// one.
type Missing struct {
	Run  int  // that wrote it down
	Open bool // its verdict was gaps
	// Untold says that a gap appeared or grew and that no run has ended yet whose message says so: the run ended
	// otherwise.
	Untold bool
	URLs   map[uint32]Absence
}

// Absence describes one of them.
type Absence struct {
	Since    int64 // Unix seconds of the first failure
	Runs     int   // that failed, in a row
	Accepted bool
	Kept     bool // the site no longer has it, and it stays until a user accepts that it goes
}

// storedMissing is the stored form.
type storedMissing struct {
	Run    int             `json:"run"`
	Open   bool            `json:"open,omitempty"`
	Untold bool            `json:"untold,omitempty"`
	Groups []storedAbsence `json:"groups"`
}

// storedAbsence are URLs of which the same is known.
type storedAbsence struct {
	Since    int64      `json:"since"`
	Runs     int        `json:"runs"`
	Accepted bool       `json:"accepted,omitempty"`
	Kept     bool       `json:"kept,omitempty"`
	IDs      record.IDs `json:"ids"`
}

// DecodeMissing reads what Encode wrote, as far as it concerns the numbers below n. No data are nil.
func DecodeMissing(data []byte, n uint32) (*Missing, error) {
	if data == nil {
		return nil, nil
	}
	var stored storedMissing
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	m := &Missing{
		Run:    stored.Run,
		Open:   stored.Open,
		Untold: stored.Untold,
		URLs:   map[uint32]Absence{},
	}
	for _, g := range stored.Groups {
		for id := range g.IDs.All() {
			if id >= n {
				break
			}
			m.URLs[id] = Absence{
				Since:    g.Since,
				Runs:     g.Runs,
				Accepted: g.Accepted,
				Kept:     g.Kept,
			}
		}
	}
	return m, nil
}

// Encode writes it in a form that is stored.
func (m *Missing) Encode() ([]byte, error) {
	stored := storedMissing{Run: m.Run, Open: m.Open, Untold: m.Untold}
	for a, ids := range grouped(m.URLs) {
		stored.Groups = append(stored.Groups, storedAbsence{
			Since:    a.Since,
			Runs:     a.Runs,
			Accepted: a.Accepted,
			Kept:     a.Kept,
			IDs:      *ids,
		})
	}
	slices.SortFunc(stored.Groups, func(a, b storedAbsence) int {
		return cmp.Compare(a.IDs[0].First, b.IDs[0].First)
	})
	return json.Marshal(stored)
}

// grouped returns the numbers of which the same is known, by that.
func grouped[K comparable](of map[uint32]K) map[K]*record.IDs {
	out := map[K]*record.IDs{}
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if out[of[id]] == nil {
			out[of[id]] = new(record.IDs)
		}
		out[of[id]].Add(id)
	}
	return out
}

// Kept returns the numbers of those that are kept, ascending; it may be called on nil.
func (m *Missing) Kept() (ids []uint32) {
	if m == nil {
		return nil
	}
	for id, a := range m.URLs {
		if a.Kept {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// GapsFact is the name of the fact of a site under which it is stored.
const GapsFact = "gaps"

// Since returns since when a URL is missing, in Unix seconds; ok is false when it is not. It may be called on
// nil.
func (m *Missing) Since(id uint32) (at int64, ok bool) {
	a, ok := m.of(id)
	return a.Since, ok
}

// of returns the absence of a URL; it may be called on nil.
func (m *Missing) of(id uint32) (a Absence, ok bool) {
	if m == nil {
		return a, false
	}
	a, ok = m.URLs[id]
	return a, ok
}
