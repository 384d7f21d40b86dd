// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/store"
)

// Explain says why a URL is or is not in a job's mirror; with head it reads the stored heads of answers too. Nothing is asked of any site. A URL that cannot
// be one is wrong usage.
func Explain(ctx context.Context, a *App, name, url string, head bool) (_ *mirror.Explanation, err error) {
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	var site *store.Site
	var robots fetch.RobotsStore
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	if ok {
		defer func() { err = errors.Join(err, st.Close()) }()
		robots = mirror.NewRobotsStore(st)
		site, err = st.ReadSite(j.Name)
		switch {
		case errors.Is(err, store.ErrNoSite):
			site = nil
		case err != nil:
			return nil, err
		default:
			defer func() { err = errors.Join(err, site.Close()) }()
		}
	}
	x, err := mirror.Explain(ctx, j, site, robots, url)
	if errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Kind: Usage, Err: err}
	}
	if head {
		x.Heads(site)
	}
	return x, nil
}
