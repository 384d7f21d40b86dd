// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"bytes"
	"regexp"

	"github.com/zeebo/xxh3"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// The list of changes of a program, such as the recent changes of a wiki or the feed of a repository, shows
// every edit. While it is as it was, no page of the program was edited since. That a list of a site does so
// is learned: it is believed when it changed in every run that found changed pages.

const (
	leastEdits  = 3 // such runs before the list is believed
	editsMemory = 8 // runs from which on half of what was learned is forgotten
)

// edits are the lists of changes of a site, and the pages that they may tell of.
type edits struct {
	lists   []uint32
	origins map[string]bool
	since   int64    // when the last change of a list was found, Unix seconds
	looked  []uint32 // by URL: when a page was last looked at, Unix seconds; 0 for all else
}

// load takes a record.
func (x *edits) load(rec *record.Resource, first scope.Priorities) {
	read := rec.Body == record.PackBody || urls.IsSitemap(rec)
	if !first.HasEdits() || !rec.InSet || !read || rec.Outcome == site.Failed {
		return
	}
	if first.IsEdits(rec.URL) {
		if x.origins == nil {
			x.origins = map[string]bool{}
		}
		x.lists = append(x.lists, rec.ID)
		x.origins[rec.URL.Origin()] = true
		x.since = max(x.since, rec.Fetched)
	} else if IsPage(rec) && !rec.Listing {
		x.looked = append(x.looked, make([]uint32, max(0, int(rec.ID)+1-len(x.looked)))...)
		x.looked[rec.ID] = uint32(rec.Checked)
	}
}

// IsPage reports whether a resource is a page for readers.
func IsPage(rec *record.Resource) bool {
	return rec.Format == uint8(relocate.HTML) || rec.MIME == "application/xhtml+xml"
}

// upToDate reports whether a page was looked at since the lists changed: else it may show an old edit.
func (x *edits) upToDate(id uint32) bool {
	return int(id) < len(x.looked) && x.looked[id] > 0 && int64(x.looked[id]) >= x.since
}

// showsNone reports whether all lists were requested in this run, and show no edit.
func (x *edits) showsNone(t *urls.Table) bool {
	for _, id := range x.lists {
		if s := t.State(id); !s.Answered() || s.Outcome() != site.Unchanged || s.Seen()&urls.Asked == 0 {
			return false
		}
	}
	return len(x.lists) > 0
}

// OnlyAged reports whether a feed differs from one before it only in what stands before its entries, and in
// that its last entries have left it: a list of the changes of a week shows less after it, and no edit.
func OnlyAged(before, now []byte) bool {
	rest := entries(before)
	for _, e := range entries(now) {
		if len(rest) == 0 || rest[0] != e {
			return false
		}
		rest = rest[1:]
	}
	return true
}

// entries returns hashes of the entries of a feed, in their order, without comments and white space.
func entries(feed []byte) (all []uint64) {
	for start := nextBlock(feed, 0, true); start < len(feed); {
		end := nextBlock(feed, start, true)
		entry := feedComment.ReplaceAll(feed[start:end], nil)
		all = append(all, xxh3.Hash(bytes.Join(bytes.Fields(entry), nil)))
		start = end
	}
	return all
}

// feedComment is a comment in the markup of a feed, or in that of a page in it: MediaWiki says there whether
// a cache had the entry.
var feedComment = regexp.MustCompile(`(?s)(?:<|&lt;)!--.*?--(?:>|&gt;)`)
