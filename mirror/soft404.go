// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"

	"mirrord/mirror/admit"
	"mirrord/mirror/intake"
	"mirrord/mirror/judge"
	"mirrord/mirror/source"
	"mirrord/site"
)

// probeOrigins finds out what the error pages of origins look like, in runs in which so many pages changed
// that it matters (rule judge.Soft404). It sets r.probes. What goes wrong means only that an origin is not
// known; when ctx ends, the run does, and the next one probes.
func (r *run) probeOrigins(ctx context.Context) {
	asker := source.NewAsker(source.AskerOptions{
		Fetcher: r.o.Fetcher,
		Turns:   r.motor.Gate,
		Now:     r.now,
		Count: func(wire int64) {
			r.stats.Requests.Add(1)
			r.stats.Wire.Add(wire)
		},
	})
	p := source.Prober{
		Asker: asker,
		Seeds: r.rules.Seeds,
		Site:  r.site.Name,
		Run:   r.state.Number,
		May: func(u site.URL) bool {
			if ok, _ := r.rules.Allow(u, admit.Page); !ok || r.motor.Troubles.IsDown(u) {
				return false
			}
			rules, known := r.motor.Origins.Rules(u)
			if !known || (rules.Silent() != "") {
				return false
			}
			ok, _ := rules.Permits(u)
			return ok
		},
	}
	r.probes = map[string]judge.ErrorPage{}
	for _, origin := range r.shapes.Doubtful() {
		got, err := p.Probe(ctx, origin)
		if err != nil {
			return
		}
		if got == nil {
			continue
		}
		shape, ok := intake.ShapeOf(got.URL, got.Answer, got.Body, int(r.job.Limits.MaxLinks))
		if ok {
			r.log.Debug("soft 404", "url", got.URL.String(), "size", len(got.Body))
			r.probes[origin] = judge.ErrorPage{Shape: shape, Size: int64(len(got.Body))}
		}
	}
}
