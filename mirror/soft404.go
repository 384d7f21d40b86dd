// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/source"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store"
)

// A site that is in trouble may answer its error page with status 200. What that page looks like, the site says itself when it is asked for
// a path that cannot exist: the answer is its soft-404 fingerprint. Pages of the mirror that have become like it are error pages. This
// finds a part of a site that went wrong, where judgeShapes needs half of it. (Bar-Yossef, Broder, Kumar, Tomkins, "Sic transit
// gloria telae", WWW 2004, find dead pages by the same question.)
//
// It costs one request for each origin, and only in runs in which enough pages changed that the answer could matter.

// soft404s is what a run learns of error pages. Safe for concurrent use; the zero value is ready.
type soft404s struct {
	mu      sync.Mutex
	changed map[string]int       // by origin: published pages that got another shape
	prints  map[string]errorPage // by origin; written after retrieval
	shells  []uint32             // shapes that the entry pages had before this run
}

// errorPage is what an error page with status 200 looks like.
type errorPage struct {
	shape uint32
	size  int64
}

// Thresholds of the soft-404 verdict: more pages than softLeast, and than this share of the site, became error pages.
const (
	softLeast = 2
	softShare = 20 // one of so many
	softBody  = 1 << 20
)

// becameOther reports whether a page that readers can see has another shape in the version to come.
func (r *run) becameOther(rec *store.Resource) bool {
	return rec.InSet && rec.Shape != 0 && rec.Moved < r.version && r.newShape(rec)
}

// noteShape counts pages that became other pages. It is called for every result of the run.
func (r *run) noteShape(rec *store.Resource) {
	if r.live == nil || !r.becameOther(rec) {
		return
	}
	s := &r.soft
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[string]int{}
	}
	s.changed[rec.URL.Origin()]++
}

// learnShells notes what the entry pages look like before the run. A site of one program answers its entry page everywhere, and a new
// release of it changes all pages to the same page again; that they were one before says that it is no error.
func (r *run) learnShells() error {
	t := r.table.Settled()
	for _, u := range r.rules.Seeds {
		id, ok := t.Find([]byte(u.String()))
		if !ok {
			continue
		}
		id, _ = t.Final(id)
		rec, ok, err := r.site.Records.Get(t.URL(id))
		if err != nil {
			return err
		}
		if ok && rec.InSet && rec.Shape != 0 {
			r.soft.shells = append(r.soft.shells, rec.Shape)
		}
	}
	return nil
}

// shapeNew says whether a page has a shape that is news since the published version.
func (r *run) shapeNew(now, old *store.Resource) bool {
	switch {
	case old.Body == store.NoBody:
		return true
	case old.ShapeNew && old.Changed >= r.version:
		return true // of an earlier run that was not published: an error page with other bytes is no news, and an error page still
	case old.Shape == now.Shape:
		return false
	}
	return !slices.Contains(r.soft.shells, old.Shape) || slices.Contains(r.rules.Seeds, now.URL)
}

// learnSoft404 asks the origins of which enough pages became others for a path that cannot exist. What goes wrong means only that there is
// no fingerprint; when ctx ends, the run does, and the next one asks.
func (r *run) learnSoft404(ctx context.Context) {
	for _, origin := range slices.Sorted(maps.Keys(r.soft.changed)) {
		if r.soft.changed[origin] <= softLeast {
			continue
		}
		u, ok := r.impossible(origin)
		if !ok {
			continue
		}
		switch err := r.gate.Turn(ctx, u.Hostname()); {
		case errors.Is(err, fetch.ErrLongWait):
			continue
		case err != nil:
			return
		}
		if f, ok := r.askSoft404(ctx, u); ok {
			if r.soft.prints == nil {
				r.soft.prints = map[string]errorPage{}
			}
			r.soft.prints[origin] = f
		}
	}
}

// impossible returns a path of an origin that no site has, where the job may ask: at the root, or beside the entry point of a job for a
// directory.
func (r *run) impossible(origin string) (site.URL, bool) {
	name := fmt.Sprintf("%016x.html", xxh3.HashString(fmt.Sprintf("%s %s %d", r.site.Name, origin, r.state.Number)))
	if u, _, err := r.rules.Seeds[0].Resolve(origin + "/" + name); err == nil && r.mayAsk(u) {
		return u, true
	}
	for _, s := range r.rules.Seeds {
		if s.Origin() != origin {
			continue
		}
		if u, _, err := s.Resolve(name); err == nil && r.mayAsk(u) {
			return u, true
		}
	}
	return site.URL{}, false
}

// mayAsk reports whether the job and the site let a URL be asked.
func (r *run) mayAsk(u site.URL) bool {
	if ok, _ := r.rules.Allow(u, admit.Page); !ok {
		return false
	}
	if r.troubles.IsDown(u) {
		return false
	}
	rules, known := r.origins.Rules(u)
	if !known || rules.Silent() != "" {
		return false
	}
	ok, _ := rules.Permits(u)
	return ok
}

// askSoft404 asks for a URL that cannot exist, in the turn that the caller took. ok is false when the answer is an honest one.
func (r *run) askSoft404(ctx context.Context, u site.URL) (f errorPage, ok bool) {
	var body source.PageSink
	r.stats.Requests.Add(1)
	req := fetch.Request{URL: u, Gap: r.o.Hosts.Gap(u.Hostname(), r.polite), MaxBody: softBody}
	res, err := r.o.Fetcher.Do(ctx, req, &body)
	r.o.Hosts.Release(u.Hostname(), r.polite, r.now(), fetch.Observe(res, err))
	r.stats.Wire.Add(res.Wire)
	if err != nil || !res.Kept || res.Status != 200 {
		return f, false
	}
	var doc relocate.Doc
	data := body.Bytes()
	format := relocate.Detect(res.MIME, u, data[:min(len(data), 1024)])
	if format != relocate.HTML {
		return f, false
	}
	if err := doc.Scan(data, relocate.Input{URL: u, HeaderCharset: res.Charset, Format: format, MaxLinks: relocatedLinks * int(r.job.Limits.MaxLinks)}); err != nil {
		return f, false
	}
	r.log.Debug("soft 404", "url", u.String(), "size", len(data))
	return errorPage{shape: shape(&doc, data), size: int64(len(data))}, true
}

// judgeSoft404 compares the pages that became others with what their origin answers to a path that cannot exist.
func (r *run) judgeSoft404(j *judgement) error {
	if r.o.Accept || len(r.soft.prints) == 0 {
		return nil
	}
	pages := 0
	var became []uint32
	var example site.URL
	err := r.site.Records.Resources(func(rec *store.Resource) error {
		if !rec.InSet || rec.Shape == 0 {
			return nil
		}
		if rec.Run == r.state.Number {
			pages++ // that the run looked at
		}
		if f, ok := r.soft.prints[rec.URL.Origin()]; ok && r.becameOther(rec) && rec.Shape == f.shape && alike(rec.Size, f.size) {
			if len(became) == 0 {
				example = rec.URL
			}
			became = append(became, rec.ID)
		}
		return nil
	})
	if n := len(became); err != nil || n <= max(softLeast, pages/softShare) {
		return err
	}
	j.suspicious("%d of %d pages, such as %s, have become what the site answers with status 200 to a path that cannot exist: its error page?", len(became), pages, example)
	return r.forgetValidators(became)
}
