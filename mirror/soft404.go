// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/mirror/admit"
	"mirrord/mirror/intake"
	"mirrord/mirror/judge"
	"mirrord/mirror/source"
	"mirrord/relocate"
	"mirrord/site"
)

// A site that is in trouble may answer its error page with status 200. What that page looks like, the site
// says itself when it is asked for a path that cannot exist: the answer is its soft-404 fingerprint. Pages of
// the mirror that have become like it are error pages. This finds a part of a site that went wrong
// (judge.Soft404). (Bar-Yossef, Broder, Kumar, Tomkins, "Sic transit gloria telae", WWW 2004, find dead pages
// by the same question.)
//
// It costs one request for each origin, and only in runs in which enough pages changed that the answer could
// matter.

// softBody is how much of an error page is read, in bytes.
const softBody = 1 << 20

// learnSoft404 asks the origins of which enough pages became others for a path that cannot exist. What goes
// wrong means only that there is no fingerprint; when ctx ends, the run does, and the next one asks.
func (r *run) learnSoft404(ctx context.Context) {
	for _, origin := range r.shapes.Doubtful() {
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
			if r.probes == nil {
				r.probes = map[string]judge.ErrorPage{}
			}
			r.probes[origin] = f
		}
	}
}

// impossible returns a path of an origin that no site has, where the job may ask: at the root, or beside the
// entry point of a job for a directory.
func (r *run) impossible(origin string) (site.URL, bool) {
	seed := fmt.Sprintf("%s %s %d", r.site.Name, origin, r.state.Number)
	name := fmt.Sprintf("%016x.html", xxh3.HashString(seed))
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

// askSoft404 asks for a URL that cannot exist, in the turn that the caller took. ok is false when the answer
// is an honest one.
func (r *run) askSoft404(ctx context.Context, u site.URL) (f judge.ErrorPage, ok bool) {
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
	err = doc.Scan(data, relocate.Input{
		URL:           u,
		HeaderCharset: res.Charset,
		Format:        format,
		MaxLinks:      intake.RelocatedLinks * int(r.job.Limits.MaxLinks),
	})
	if err != nil {
		return f, false
	}
	r.log.Debug("soft 404", "url", u.String(), "size", len(data))
	return judge.ErrorPage{Shape: intake.Shape(&doc, data), Size: int64(len(data))}, true
}
