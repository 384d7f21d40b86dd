// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"

	"mirrord/fetch"
	"mirrord/site"
)

// learnOrigin requests the robots.txt of an origin, and takes in Crawl-delay and sitemaps. An origin whose rules cannot
// be had is left for the next run: silence permits nothing, and costs the mirror nothing.
func (r *run) learnOrigin(ctx context.Context, u site.URL, release func(fetch.Observation)) {
	start := r.now()
	rules, err := r.o.Robots.Rules(ctx, u)
	if err != nil {
		return
	}
	if d, ok := rules.CrawlDelay(); ok {
		r.o.Hosts.SetCrawlDelay(u.Hostname(), d)
		if d > r.job.Polite.MaxWait {
			r.troubles.LeaveHost(u, fmt.Sprintf("Crawl-delay of %v is longer than polite.max_wait", d), false)
		}
	}
	if why := rules.Silent(); why != "" {
		r.troubles.LeaveOrigin(u, why)
		r.notes.Fail(u, why)
	}
	first := r.origins.Learn(u, rules)
	release(fetch.Observation{Duration: r.now().Sub(start), Status: 200})
	if first && rules.File != nil {
		r.admission.Sitemaps(u, rules.File.Sitemaps())
	}
}
