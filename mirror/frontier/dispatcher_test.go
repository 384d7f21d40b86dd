// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// rulesOf answers with the same rules for all origins.
type rulesOf struct{ rules *fetch.Robots }

func (r rulesOf) Rules(context.Context, site.URL) (*fetch.Robots, error) { return r.rules, nil }

// What robots.txt says reaches the rules, the troubles and the politeness of its host.
func TestLearnRobots(t *testing.T) {
	u := site.Canonical("http://h.example/a")
	for _, c := range []struct {
		name   string
		text   string
		status int
		took   time.Duration
		want   string // the lesson, known, forbidden, down, slow
	}{
		{"rules", "User-agent: *\nDisallow: /a\nSitemap: http://h.example/map", 200, time.Second,
			" 200 1s [http://h.example/map] true true false false"},
		{"delay", "User-agent: *\nCrawl-delay: 7200", 200, 0, " 0 0s [] true false true true"},
		{"silent", "", 503, 0, "its robots.txt answers 503 0 0s [] true false true false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := job.Default(u.String())
			m, err := NewDispatcher(DispatcherOptions{
				Job:   j,
				Seeds: j.Seeds(),
				Hosts: new(fetch.Hosts),
				Now:   time.Now,
				Table: urls.New(),
				Down:  func(Left) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			file := robots.Parse([]byte(c.text))
			l, err := m.LearnRobots(t.Context(), u, rulesOf{&fetch.Robots{
				File:   file,
				Rules:  file.Agent("mirrord"),
				Status: c.status,
				Took:   c.took,
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, known := m.Origins.Rules(u)
			o := l.Observed
			got := fmt.Sprintf("%s %d %v %v %v %v %v %v", l.Silent, o.Status, o.Duration, l.Sitemaps, known,
				m.Origins.Forbids(u), m.HostErrors.IsDown(u), m.HostErrors.IsSlow(u))
			if got != c.want || !m.HostErrors.IsEntry(u) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
