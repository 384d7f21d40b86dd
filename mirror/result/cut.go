// SPDX-License-Identifier: Apache-2.0

package result

// Cut is a set of limits that cut short what a document says: what it links to behind them is unknown. The
// links that it had before stay in the mirror, and each limit is a gap that only accept makes known. The
// numbers are part of the on-disk format (record.Resource.Cut).
type Cut uint16

// The limits.
const (
	CutLinks     Cut = 1 << iota // limits.max_links
	CutDocument                  // limits.max_document
	CutText                      // relocate.MaxDecoded
	CutURLs                      // relocate.MaxURLBytes
	CutNesting                   // documents within documents
	CutEntries                   // entries of a sitemap, or its size
	CutSitemaps                  // sitemaps of a run
	CutHeader                    // Link fields of the header
	CutGenerated                 // files that a generator's index names
	CutRobots                    // size of a robots.txt
	CutNoFollow                  // robots nofollow; a gap of an entry point only
	cutEnd                       // behind the last one
)

// Marks of documents that the mirror has whole, and of which a reader may miss something. They are no limits,
// and no gaps: the summary notes them.
const (
	SaysNothing  Cut = 1 << 13 // a page that has no text of its own, and runs scripts
	LeadsNowhere Cut = 1 << 14 // an answer for programs without links
)

// IsCut reports whether a document was cut short.
func (c Cut) IsCut() bool { return c&^(SaysNothing|LeadsNowhere) != 0 }

// CutDamaged marks a document that ended before its end. It is no limit, and no gap: the links that the
// document had before stay until it comes whole.
const CutDamaged Cut = 1 << 15

// All yields the limits of the set one by one.
func (c Cut) All(yield func(Cut) bool) {
	for one := Cut(1); one < cutEnd; one <<= 1 {
		if (c&one != 0) && !yield(one) {
			return
		}
	}
}
