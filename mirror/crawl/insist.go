// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"fmt"
	"net/http"

	"mirrord/fetch"
	"mirrord/mirror/scope"
	"mirrord/site"
)

const (
	insisted  = "hosts that had asked to wait for longer, and answered a request"
	stillWait = "%s asked to wait, and that stands: %s"
)

// insist makes one request of each host that asked to wait for longer than the job waits. What answers is
// requested as if it had asked for nothing; else the wait stands. The only error is that ctx ended.
func insist(ctx context.Context, r *loaded) error {
	if !r.Job.Insist || r.Options.Imports {
		return nil
	}
	tried := map[string]bool{}
	for _, u := range waitingURLs(r) {
		host := u.Hostname()
		if tried[host] {
			continue
		}
		tried[host] = true
		why, err := tryHost(ctx, r, u)
		if err != nil {
			return err
		}
		if why != "" {
			r.Notes.Cap(fmt.Sprintf(stillWait, host, why))
			continue
		}
		r.Notes.Add(insisted, u)
		r.dispatcher.Pacer.Lift(host)
		if _, waits := r.hosts[host]; waits {
			r.hosts[host] = 0 // it is over
		}
		r.Waits.ForgetOf(func(id uint32) bool { return r.Table.URL(id).Hostname() == host })
	}
	return nil
}

// waitingURLs returns URLs that may show whether hosts still want to wait: those that asked for it, and the
// entry points and known URLs of hosts that did.
func waitingURLs(r *loaded) (urls []site.URL) {
	now := r.Now()
	for _, id := range r.Waits.IDs(now) {
		urls = append(urls, r.Table.URL(id))
	}
	for _, u := range r.Rules.Seeds {
		h := r.dispatcher.Pacer.Held(u.Origin(), now)
		if h.Why == fetch.HeldAsked && r.dispatcher.Pacer.TooLong(h.Until, now) {
			urls = append(urls, u)
		}
	}
	if len(r.hosts) == 0 {
		return urls
	}
	for id := range r.Table.Len() {
		u, s := r.Table.Get(id)
		if at, waits := r.hosts[u.Hostname()]; waits && s.InSet() && at > now.Unix() {
			urls = append(urls, u)
		}
	}
	return urls
}

// tryHost makes one request of a host: that of its robots.txt, when that is not known, or else of a URL. It
// returns why the answer does not end a wait; "" when it does.
func tryHost(ctx context.Context, r *loaded, u site.URL) (why string, err error) {
	if ok, reason := r.Rules.Allow(u, scope.Page); !ok {
		return reason, nil
	}
	hostWaits := r.dispatcher.Pacer.Held(u.Origin(), r.Now()).Why == fetch.HeldAsked
	if err := r.dispatcher.Pacer.TurnAnyway(ctx, u.Origin()); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return err.Error(), nil
	}
	observed := fetch.Observation{Unused: true}
	defer func() { r.dispatcher.Pacer.Release(u.Origin(), observed) }()
	if r.Job.ObeyRobots {
		rules, err := r.Options.Robots.Rules(ctx, u)
		if err != nil {
			return "", err
		}
		if why := rules.Silent(); why != "" {
			return why, nil
		}
		if rules.Took > 0 { // it was requested
			observed = fetch.Observation{Status: http.StatusOK, Duration: rules.Took}
			return "", nil
		}
		if ok, reason := rules.Permits(u); !ok {
			return reason, nil
		}
	}
	r.Counts.Requests.Add(1)
	res, err := r.chain.Origin.Probe(ctx, u, r.dispatcher.Pacer.Gap(u.Origin()), r.Job.Polite.HeaderTimeout)
	r.Counts.Wire.Add(res.Wire)
	if observed = fetch.Observe(res, err); !hostWaits {
		observed.RetryAfter = 0 // it is the URL's
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil && res.Status == 0:
		return err.Error(), nil
	case fetch.TransientStatus(res.Status) || res.Refuses():
		return fmt.Sprintf("status %d", res.Status), nil
	}
	return "", nil
}
