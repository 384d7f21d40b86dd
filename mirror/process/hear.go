// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io"
	"slices"

	"mirrord/mirror/parse"
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/listing"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// news returns the URLs of which a document that has changed says something new: they may have changed, too.
// A stored document that cannot be read says nothing, which verify reports.
func (p *documentReader) news(r *reading, now, old *record.Resource, body []byte, x *parse.Extract) []uint32 {
	format := relocate.Format(old.Format)
	isPage := revisit.IsPage(now) || format == relocate.Feed
	if r.SkipPlan.Plan == nil || !isPage || format != x.Format || !old.InSet || old.Body != record.PackBody ||
		old.Digest == now.Digest || now.Source != "" {
		return nil
	}
	fr, err := r.Frames.ReadFrame(p.r, old.At)
	if err != nil {
		return nil
	}
	var links render.StoredLinks
	if links.Decode(fr.Links) != nil {
		return nil
	}
	var was, is []revisit.Mention
	for i, t := range links.Targets {
		if t.Literal == nil {
			was = append(was, revisit.Mention{At: links.Links[i].Start, ID: t.ID})
		}
	}
	of := x.Spread()
	for i := range x.Doc.Links {
		if id, ok := of(i); ok {
			is = append(is, revisit.Mention{At: x.Doc.Links[i].Start, ID: id})
		}
	}
	feed := format == relocate.Feed
	ids := revisit.News(revisit.Sayings(fr.Body, feed, was), revisit.Sayings(body, feed, is))
	return slices.DeleteFunc(ids, func(id uint32) bool {
		s := r.Table.State(id)
		return id == now.ID || !s.InSet() || !s.Governed() || s.Queued()
	})
}

// hearStored takes the stored body of a source that has not changed as evidence.
func (r *reading) hearStored(rec *record.Resource) error {
	switch {
	case rec.Listing:
		p := <-r.procs
		defer p.giveTo(r.procs)
		fr, err := r.Frames.ReadFrame(p.r, rec.At)
		if err != nil {
			return nil // verify reports it; without evidence everything is requested
		}
		if l, ok := listing.Parse(fr.Body, rec.URL); ok {
			return r.SkipPlan.Evidence.HearListing(l, rec.URL)
		}
	case urls.IsSitemap(rec):
		return r.hearStoredSitemap(rec)
	}
	return nil
}

func (r *reading) hearStoredSitemap(rec *record.Resource) error {
	list, err := r.storedSitemap(rec)
	if err != nil || list.Index {
		return err
	}
	return hearSitemap(r, list, rec.URL)
}

// hearSitemap takes a sitemap, or a list of changes, as evidence.
func hearSitemap(r *reading, list relocate.SitemapList, u site.URL) error {
	if r.Rules.ListAt(u) != nil {
		return r.SkipPlan.Evidence.HearChanges(list, u)
	}
	return r.SkipPlan.Evidence.HearSitemap(list, u)
}

// storedSitemap reads a stored sitemap, which is empty when its body cannot be read: verify reports that.
// What an index of sitemaps names is known as sitemaps from now on.
func (r *reading) storedSitemap(rec *record.Resource) (list relocate.SitemapList, err error) {
	body, err := storedBody(r, rec)
	if errors.Is(disk.Unreadable(err), disk.ErrDamaged) {
		return list, nil
	}
	if err != nil {
		return list, &disk.DiskError{Op: "read sitemap", Err: err}
	}
	list = r.readSitemap(rec.URL, body)
	if list.Index {
		for u := range parse.Locations(rec.URL, list) {
			_, _ = r.Admission.Sitemap(u) // its record says that the index is cut
		}
	}
	return list, nil
}

// storedBody reads the stored body of a sitemap; nothing when it cannot be opened.
func storedBody(r *reading, rec *record.Resource) ([]byte, error) {
	f, err := r.Bodies.Open(rec.Digest, urls.MaxSitemap)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	return io.ReadAll(f)
}

// readSitemap reads a stored sitemap again.
func (r *reading) readSitemap(u site.URL, body []byte) relocate.SitemapList {
	list, _, notes := parse.ReadSitemap(r.Rules, u, body)
	for _, what := range notes {
		r.Notes.Add(what, u)
	}
	return list
}
