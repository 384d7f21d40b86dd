// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"
	"time"

	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/record"
)

// mostFeeds is how many feeds are requested before all else. A site that has one for every article says
// nothing new in most of them; those come with the other known pages.
const mostFeeds = 32

// Sources are what the mirror has of sources of evidence, and of what they may say. They are filled while the
// table is loaded, and read afterwards.
type Sources struct {
	Listings urls.IDSet        // directory listings
	Covered  urls.IDSet        // URLs that a listing shows
	Answered []record.Resource // sources that this run requested before it was interrupted

	mapped urls.IDSet // URLs of which a sitemap said something when they were last looked at
	pages  []uint32   // known listings and sitemaps
	feeds  []uint32   // at most mostFeeds
	fresh  []uint32   // URLs whose lifetime is not over
	edits  edits
}

// Load takes a record. run is the number of the run, started its beginning.
func (s *Sources) Load(rec *record.Resource, ev job.Evidence, run int, started time.Time) {
	listing := rec.Listing && rec.InSet && ev.Listings
	s.Listings.Put(rec.ID, listing)
	s.Covered.Put(rec.ID, !rec.Listing && rec.InSet && ev.Listings && rec.Evidence[urls.ByListing] != 0)
	s.mapped.Put(rec.ID, rec.InSet && ev.Sitemaps && rec.Evidence[urls.BySitemap] != 0)
	if listing || (urls.IsSitemap(rec) && ev.Sitemaps) {
		s.pages = append(s.pages, rec.ID)
		// a status and no replica: the origin answered
		if rec.Run == run && rec.Outcome != site.Failed && rec.Status != 0 && rec.Source == "" {
			s.Answered = append(s.Answered, *rec)
		}
	}
	if rec.Format == uint8(relocate.Feed) && rec.InSet && len(s.feeds) < mostFeeds {
		s.feeds = append(s.feeds, rec.ID)
	}
	now, holds := started.Unix(), rec.InSet && rec.Body != record.NoBody && rec.Outcome != site.Failed
	if holds && ev.Expiry && rec.Expires > now && rec.Checked <= now { // else it was counted by a wrong clock
		s.fresh = append(s.fresh, rec.ID)
	}
}

// Any reports whether there are any.
func (s *Sources) Any() bool { return len(s.pages)+len(s.feeds)+len(s.fresh)+len(s.edits.lists) > 0 }

// First returns the sources that a run requests before all else: those that no rule of the plan skips, and on
// which it does not decide. seeds are the entry points. No worker may run.
func (s *Sources) First(p *Planner, seeds []site.URL) (ids []uint32) {
	for _, id := range slices.Concat(s.pages, s.feeds, s.edits.lists) {
		if !p.Skips(id) && !p.DecidesOn(id, seeds) {
			ids = append(ids, id)
		}
	}
	return ids
}
