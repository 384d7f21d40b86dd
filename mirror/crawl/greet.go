// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"

	"mirrord/fetch"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/site"
)

// mostGreeted is how many redirects of an entry point are followed: a login sets cookies at each.
const mostGreeted = 5

// greet requests an entry point of each origin before all else when the job keeps cookies, and follows where
// it leads: else pages that are known would be requested beside it, without the cookie that it sets. What
// comes is not read, because it is for visitors without the cookie. A run that resumes greets again:
// cookies end with the process.
func greet(ctx context.Context, r *Retrieval) {
	if !r.Job.Auth.Cookies || r.Options.Imports {
		return
	}
	asker, greeted := r.asker(), map[string]bool{}
	for _, u := range r.Rules.Seeds {
		if greeted[u.Origin()] {
			continue
		}
		greeted[u.Origin()] = true
		for range mostGreeted + 1 {
			u = greetOne(ctx, r, asker, u)
			if u.IsZero() {
				break
			}
		}
	}
}

// greetOne requests a URL and returns where it leads, as far as that may be requested. What goes wrong the
// run finds out when it requests the URL.
func greetOne(ctx context.Context, r *Retrieval, asker *source.Asker, u site.URL) (to site.URL) {
	if ok, _ := r.Rules.Allow(u, scope.Page); !ok {
		return to
	}
	if may, err := asker.Allowed(ctx, u); (err != nil) || !may.OK {
		return to
	}
	req := fetch.Request{URL: u, MaxBody: mostHeld, NoRetry: true}
	res, err := asker.Exchange(ctx, req, new(source.PageSink))
	if (err != nil) || (res.Status < 300) || (res.Status >= 400) {
		return to
	}
	return res.Location
}
