// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"

	"mirrord/mirror/parse"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/verdict"
	"mirrord/replica/text"
	"mirrord/site"
)

// probeSections finds out what the error pages of origins and their sections look like, in runs in which so
// many pages changed that it matters (rule verdict.Soft404). It sets r.probes. What goes wrong means only
// that
// a section is not known; when ctx ends, the run does, and the next one probes.
func (r *crawling) probeSections(ctx context.Context) {
	p := source.Prober{
		Asker: r.asker(),
		Seeds: r.Rules.Seeds,
		Site:  r.Site.Name,
		Run:   r.Run.Number,
		May:   func(u site.URL) bool { return mayRequest(r.Retrieval, u) },
	}
	for _, dir := range r.shapes.Doubtful() {
		got, err := p.Probe(ctx, dir)
		if err != nil {
			return
		}
		if got == nil {
			continue
		}
		shape, ok := parse.ShapeOf(got.URL, got.Answer, got.Body, int(r.Job.Limits.MaxLinks))
		if ok {
			r.Log.Debug("soft 404", "url", got.URL.String(), "size", len(got.Body))
			r.probes = append(r.probes, verdict.ErrorPage{
				URL:   got.URL,
				Below: dir,
				Shape: shape,
				Size:  int64(len(got.Body)),
				Said:  text.Extract(got.Body),
			})
		}
	}
}

// mayRequest reports whether a URL that no document names may be requested.
func mayRequest(r *Retrieval, u site.URL) bool {
	if ok, _ := r.Rules.Allow(u, scope.Page); !ok || r.dispatcher.HostErrors.IsDown(u) {
		return false
	}
	rules, known := r.dispatcher.Origins.Rules(u)
	if !known || (rules.Silent() != "") {
		return false
	}
	ok, _ := rules.Permits(u)
	return ok
}
