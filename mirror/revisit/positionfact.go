// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"

	"mirrord/internal/volatile"
)

// PositionFact says what was learned about a position. One pair of values, with its page and run, is for a
// person.
type PositionFact struct {
	Position volatile.Position `json:"position"`
	volatile.At
	Prose    bool   `json:"prose,omitempty"`
	Wide     bool   `json:"wide,omitempty"`
	Clock    bool   `json:"clock,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
	Counted  bool   `json:"counted,omitempty"`
	Pages    int    `json:"pages"` // whose two answers differed there
	Seen     int    `json:"seen"`  // times that it occurred on pages that were requested twice
	Differed int    `json:"differed"`
	Run      int    `json:"run"` // when it was last seen to differ
	Where    string `json:"where"`
	Old      string `json:"old"`
	New      string `json:"new"`
	URL      string `json:"url"`

	On []string `json:"on,omitempty"` // URLs of the pages, the last few, each twice at most
}

// hasTwice reports whether a page is named twice.
func hasTwice(on []string, u string) bool {
	i := slices.Index(on, u)
	return i >= 0 && slices.Contains(on[i+1:], u)
}

// mostOn is how many pages are remembered that differed at a position.
const mostOn = 4

// IsSure reports whether a difference at the position alone is no change.
func (f *PositionFact) IsSure() bool {
	pages := 1
	switch {
	case f.Kind == volatile.Gap: // its texts are of no element, and may stand on other pages by chance
		on := slices.Clone(f.On)
		slices.Sort(on)
		return 4*f.Differed >= 3*f.Seen && f.Pages > sureGap && len(slices.Compact(on)) >= sureGap
	case f.Hidden: // no reader sees it, and it may be the same for a while
		return true
	case f.Wide:
		pages = sureWide
	case f.Prose:
		pages = surePages
	}
	often := 2*f.Differed >= f.Seen || f.Counted || f.Kind == volatile.Order // these may be the same for a while
	return f.Pages >= pages && often
}
