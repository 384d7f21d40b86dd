// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Dispatcher is what moves one run: its parts know one another, and packages crawl and process use them.
type Dispatcher struct {
	Pacer         *Pacer
	Front         *Frontier
	HostAdmission *HostAdmission
	HostErrors    *HostErrors
	Origins       *Origins
	Tail          *Tail

	maxWait time.Duration
}

// DispatcherOptions say what a Dispatcher is built for. All fields are needed.
type DispatcherOptions struct {
	Job        *job.Job
	Seeds      []site.URL // the entry points
	Hosts      Hosts
	Politeness fetch.Politeness
	Now        func() time.Time
	Table      *urls.Table
	First      scope.Priorities
	Down       func(Left) // see HostErrorsOptions
}

// NewDispatcher returns the dispatcher of a run.
func NewDispatcher(o DispatcherOptions) (*Dispatcher, error) {
	pacer, err := NewPacer(o.Hosts, o.Job, o.Politeness, o.Now)
	if err != nil {
		return nil, err
	}
	order := Ordering{LIFO: o.Job.Order == job.OrderDepth}
	if o.Job.Order == job.OrderPath {
		order.Less, order.Known = o.Table.LessPath, o.Table.LessRate
	}
	if o.Job.Order == job.OrderLinked {
		order.Credits = new(Credits)
		order.Origin = func(id uint32) string { return o.Table.URL(id).Origin() }
	}
	front := NewFrontier(pacer, order)
	m := &Dispatcher{
		Pacer:         pacer,
		Front:         front,
		HostAdmission: NewHostAdmission(o.Table, front, o.First),
		HostErrors: NewHostErrors(HostErrorsOptions{
			Front:         front,
			MaxWait:       o.Job.Polite.MaxWait,
			HeaderTimeout: o.Job.Polite.HeaderTimeout,
			Known: func(origin string, but []site.URL) (site.URL, bool) {
				return knownAt(o.Table, origin, but, o.Now())
			},
			Entry: func(origin string) (site.URL, bool) { return entryAt(o.Table, o.Seeds, origin) },
			Down:  o.Down,
		}),
		Origins: NewOrigins(o.Job.ObeyRobots),
		Tail:    new(Tail),
		maxWait: o.Job.Polite.MaxWait,
	}
	front.long = m.HostErrors.waits
	for _, u := range o.Seeds {
		m.HostErrors.AddEntry(u)
	}
	return m, nil
}

// robotsSource knows the robots rules of origins. *fetch.RobotsCache is one. The only error is that ctx
// ended.
type robotsSource interface {
	Rules(ctx context.Context, u site.URL) (*fetch.Robots, error)
}

// Lesson is what the robots.txt of an origin came to.
type Lesson struct {
	Silent   string            // why its rules are not known, "" when they are
	Sitemaps []string          // that it names, when the run did not know its rules before
	Observed fetch.Observation // of the host
}

// LearnRobots requests the robots.txt of a URL's origin in a turn that the caller has, and takes in rules and
// Crawl-delay. An origin whose rules cannot be had is left for the next run: silence permits nothing, and
// costs the mirror nothing. The only error is that ctx ended.
func (d *Dispatcher) LearnRobots(ctx context.Context, u site.URL, from robotsSource) (l Lesson, err error) {
	rules, err := from.Rules(ctx, u)
	if err != nil {
		return l, err
	}
	if delay, ok := rules.CrawlDelay(); ok {
		d.Pacer.SetCrawlDelay(u.Hostname(), delay)
		if delay > d.maxWait {
			why := fmt.Sprintf("Crawl-delay of %s is longer than polite.max_wait", count.Span(delay))
			d.HostErrors.LeaveHost(u, why, time.Time{}, false)
		}
	}
	switch l.Silent = rules.Silent(); {
	case l.Silent != "": // it says nothing of the other origins of the host, and this one is left
	case rules.Stale:
		l.Observed = fetch.Observation{Status: rules.Answer, Err: rules.Err}
		d.stale(u, rules)
	case rules.Took > 0: // else they were stored, and it says nothing either
		l.Observed = fetch.Observation{Status: http.StatusOK, Duration: rules.Took}
	}
	if l.Silent != "" {
		if !errors.Is(rules.Err, fetch.ErrForbiddenAddress) {
			d.HostErrors.Blame(u)
		}
		d.HostErrors.LeaveOrigin(u, l.Silent)
	}
	if first := d.Origins.Learn(u, rules); first && rules.File != nil {
		l.Sitemaps = rules.File.Sitemaps()
	}
	return l, nil
}

// stale counts a failure to refresh the rules of an origin, for which an older copy serves.
func (d *Dispatcher) stale(u site.URL, rules *fetch.Robots) {
	if rules.Err == nil {
		why := fmt.Sprintf("its robots.txt answers %d", rules.Answer)
		d.HostErrors.Failed(u, why, SymptomOfStatus(rules.Answer))
		return
	}
	if s, ok := SymptomOf(rules.Err); ok {
		d.HostErrors.Failed(u, rules.Err.Error(), s)
	}
}

// Gave notes that an origin gave what the mirror has of it. It may be called by several goroutines.
func (d *Dispatcher) Gave(u site.URL) {
	d.HostErrors.on(u, func(k *trouble) { k.gave = u })
}

// mostLooks is how many URLs are looked at to find one that is known to answer, and mostChoice how many more
// to find one of another directory.
const (
	mostLooks  = 100_000
	mostChoice = 1000
)

// knownAt returns a URL of an origin that the mirror has and that did not fail when it was last requested,
// none of some, and if possible of none of their directories: those may have one trouble. It is another one
// at another time, so that no page that has come to fail decides for ever.
func knownAt(t *urls.Table, origin string, but []site.URL, now time.Time) (found site.URL, ok bool) {
	n := t.Len()
	if n == 0 {
		return found, false
	}
	first := uint32(now.Unix()) * 2654435761 % n // Knuth, 6.4: spreads close times
	left := min(n, mostLooks)
	for i := uint32(0); i < left; i++ {
		u, s := t.Get((first + i) % n)
		if !isWell(s) || u.Origin() != origin || slices.Contains(but, u) {
			continue
		}
		if !slices.ContainsFunc(but, func(b site.URL) bool { return b.Dir() == u.Dir() }) {
			return u, true
		}
		if !ok {
			found, ok = u, true
			left = min(left, i+mostChoice)
		}
	}
	return found, ok
}

// isWell reports whether the mirror has a URL that did not fail when it was last requested.
func isWell(s urls.State) bool {
	return s.InSet() && (s.Outcome() == site.Fetched || s.Outcome() == site.Unchanged)
}

// entryAt returns the first entry point of an origin, or the target of its redirect, that did not fail.
func entryAt(t *urls.Table, seeds []site.URL, origin string) (site.URL, bool) {
	for _, seed := range seeds {
		id, ok := t.FindURL(seed)
		if !ok {
			continue
		}
		final, s := t.Leads(id)
		if u := t.URL(final); isWell(s) && u.Origin() == origin {
			return u, true
		}
	}
	return site.URL{}, false
}
