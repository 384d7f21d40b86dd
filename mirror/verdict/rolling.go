// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// A list that shows the newest of something, such as the news of a site, is as long as ever while what it
// shows changes: what leaves it is no longer linked, still answers, and as many others came by it. That is no
// loss. What a list loses beyond what came by it is.

// maxRolled bounds how far what came by a list lies behind it.
const maxRolled = 64

// list is the place that a resource has on the list that linked to it, "" for none: the list is a page of the
// mirror that was there before and stays, or a sitemap. Pages on the list, what lies behind them and what
// pages need are kept apart, so that a list with fewer pages does not pass for one with more images.
func (f *comers) list(t urls.Settled, id uint32) string {
	s := t.State(id)
	if o := s.Outcome(); o != site.Fetched && o != site.Unchanged {
		return "" // it no longer answers
	}
	behind := "page on"
	for range maxRolled {
		if s.Referrer() == 0 || s.Referrer() > t.Len() {
			return ""
		}
		by := s.Referrer() - 1
		s = t.State(by)
		if f.isList(by, s) && (f.came[by] == 0 || f.came[by] != f.came[id]) {
			if t.State(id).Requisite() {
				behind = "needed by pages of"
			}
			return fmt.Sprintf("%s list %d", behind, by)
		}
		behind = "page behind"
	}
	return ""
}

// isList reports whether a resource is a document of the mirror that stays, or a sitemap that was read.
func (f *comers) isList(id uint32, s urls.State) bool {
	if f.sitemaps[id] {
		return s.Answered()
	}
	return s.InSet() && !s.Moved() && !f.leave[id]
}
