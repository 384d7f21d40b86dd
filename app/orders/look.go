// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/fetch"
	"mirrord/site"
)

// look makes the preview of a draft.
func (s *Orders) look(ctx context.Context, o Ordered) {
	j, err := o.Want.runJob()
	var p *runs.Preview
	for i := 0; err == nil; i++ {
		if p, err = runs.PreviewRun(ctx, s.app, j); err != nil || !near(o.Want.URL, p.Leads) || i == mostNear {
			break
		}
		o.Want.URL = p.Leads // as the run would follow it
		j, err = o.Want.runJob()
	}
	if ended := context.Cause(ctx); ended != nil && !errors.Is(ended, errCancelled) {
		return // the daemon ends; it is looked at again
	}
	p = bounded(p)
	s.change(o, func(x *Ordered) {
		switch {
		case x.State != Looking:
		case x.Stop || errors.Is(context.Cause(ctx), errCancelled):
			x.State, x.Ended, x.Stop = Cancelled, s.Now(), false
		case err != nil:
			x.State, x.Why, x.Ended = Failed, env.Remedied(err), s.Now()
		default:
			x.State, x.Look, x.Why = Draft, p, problem(p)
			x.Leads, x.Want.URL = p.Leads, o.Want.URL
		}
	})
}

// mostLook is how many bytes of a preview are kept.
const mostLook = 64 << 10

// bounded returns a preview as it is stored: without its lists if its addresses are very long.
func bounded(p *runs.Preview) *runs.Preview {
	if text, err := json.Marshal(p); p == nil || (err == nil && len(text) <= mostLook) {
		return p
	}
	out := *p
	out.Sitemaps, out.Dirs, out.Requests = nil, nil, slices.Clone(p.Requests)
	for i := range out.Requests {
		out.Requests[i].URL = access.Clip(out.Requests[i].URL)
	}
	for _, text := range []*string{&out.URL, &out.Entry, &out.Problem, &out.Leads, &out.Robots} {
		*text = access.Clip(*text)
	}
	return &out
}

// problem is what a user reads about a preview that found nothing to mirror. What only an operator can do
// about it is left out.
func problem(p *runs.Preview) string {
	answered := slices.ContainsFunc(p.Requests, func(l runs.PreviewLook) bool { return l.Status > 0 })
	switch {
	case strings.Contains(p.Problem, fetch.ErrForbiddenAddress.Error()):
		p.Robots = "not requested"
		return "the entry point " + p.URL + " is in a private network, which cannot be ordered"
	case p.Problem != "" && !answered && strings.HasPrefix(p.URL, "https://"):
		return p.Problem + "; if the site has no https, order it with http:// before its name"
	}
	return p.Problem
}

// mostNear is how often an address is followed: to https, to www. and to a page there.
const mostNear = 3

// near reports whether an address is the same site under another scheme or a similar name.
func near(from, to string) bool {
	u, _, err := site.Parse(from)
	v, _, terr := site.Parse(to)
	return err == nil && terr == nil && u.RegistrableDomain() == v.RegistrableDomain()
}
