// SPDX-License-Identifier: Apache-2.0

package report

import (
	"mirrord/mirror/revisit"
	"mirrord/store"
)

// MaskedPosition is a position of pages at which answers to one request differ, with a pair of values of two
// answers at one moment.
type MaskedPosition struct {
	Where string `json:"where"`
	Kind  string `json:"kind"` // number, token, region, order or part
	Old   string `json:"old"`
	New   string `json:"new"`
	URL   string `json:"url"`   // the page that had them
	Run   int    `json:"run"`   // in which it did
	Pages int    `json:"pages"` // that differed there
	// a difference there is a change all the same: it was not seen often enough
	Unsure bool `json:"unsure,omitempty"`
}

// Masked returns the positions of the pages of a site at which answers differ, in the order of where they
// are: those of the last 64 runs, at most 256.
func Masked(s *store.Site) (out []MaskedPosition, err error) {
	fact, err := s.Notes.Fact(revisit.NoiseFact)
	if err != nil {
		return nil, err
	}
	noise := revisit.NewNoise(0)
	if err := noise.Read(fact); err != nil {
		return nil, nil // the next run says so, and learns them again
	}
	for _, f := range noise.All() {
		out = append(out, MaskedPosition{
			Where:  f.Where,
			Kind:   f.Kind.String(),
			Old:    f.Old,
			New:    f.New,
			URL:    f.URL,
			Run:    f.Run,
			Pages:  f.Pages,
			Unsure: !f.IsSure(),
		})
	}
	return out, nil
}
