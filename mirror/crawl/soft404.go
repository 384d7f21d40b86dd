// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"fmt"
	"net/http"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/mirror/parse"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/verdict"
	"mirrord/replica/text"
	"mirrord/site"
)

// A site that is in trouble may answer its error page with status 200. The site itself says what that page
// looks like, when it is asked for a path that cannot exist. (Bar-Yossef, Broder, Kumar, Tomkins, "Sic
// transit gloria telae", WWW 2004, find dead pages by the same question.) It costs one request for each
// directory in doubt.

// maxProbe is how much of an error page is read, in bytes.
const maxProbe = 1 << 20

// probeSections finds out what the error pages of origins and their sections look like, in runs in which so
// many pages changed that it matters (rule verdict.Soft404). It sets r.probes. What goes wrong means only
// that a section is not known; when ctx ends, the run does, and the next one probes.
func (r *crawling) probeSections(ctx context.Context) {
	asker := r.asker()
	for _, dir := range r.shapes.Doubtful() {
		u, ok := r.impossible(dir)
		if !ok {
			continue
		}
		var body source.PageSink
		res, err := asker.Exchange(ctx, fetch.Request{URL: u, MaxBody: maxProbe}, &body)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !res.Kept || res.Status != http.StatusOK {
			continue
		}
		shape, ok := parse.ShapeOf(u, res, body.Bytes(), int(r.Job.Limits.MaxLinks))
		if ok {
			r.Log.Debug("soft 404", "url", u.String(), "size", body.Len())
			r.probes = append(r.probes, verdict.ErrorPage{
				URL:   u,
				Below: dir,
				Shape: shape,
				Size:  int64(body.Len()),
				Said:  text.Extract(body.Bytes()),
			})
		}
	}
}

// impossible returns a URL in a directory that no site has, another one in each run, where the job may
// request it: else beside the entry point of a job for a directory of that origin.
func (r *crawling) impossible(dir string) (site.URL, bool) {
	seeds := r.Rules.Seeds
	in, _, err := seeds[0].Resolve(dir)
	if err != nil {
		return site.URL{}, false
	}
	origin := in.Origin()
	key := fmt.Sprintf("%s %s %d", r.Site.Name, origin, r.Run.Number)
	name := fmt.Sprintf("%016x.html", xxh3.HashString(key))
	for _, beside := range append([]site.URL{in}, seeds...) {
		if beside.Origin() != origin {
			continue
		}
		if u, _, err := beside.Resolve(name); (err == nil) && mayRequest(r.Retrieval, u) {
			return u, true
		}
	}
	return site.URL{}, false
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
