// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/site"
	"mirrord/store"
)

// Explain says why a URL is or is not in a job's mirror; with head it reads the stored heads of answers too. Nothing is asked of any site. A URL that cannot
// be one is wrong usage.
func Explain(ctx context.Context, a *App, name, url string, head bool) (_ *mirror.Explanation, err error) {
	if _, _, err := site.Parse(url); err != nil {
		return nil, Usagef("explain: %w", err)
	}
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	var x *mirror.Explanation
	explain := func(s *store.Site) (err error) {
		var robots fetch.RobotsStore
		if ok {
			robots = mirror.NewRobotsStore(st)
		}
		if x, err = mirror.Explain(ctx, j, s, robots, url); err != nil {
			return err
		}
		if head {
			x.Heads(s)
		}
		return nil
	}
	if ok {
		defer func() { err = errors.Join(err, st.Close()) }()
		err = view(st, j.Name, explain)
	}
	if !ok || errors.Is(err, store.ErrNoSite) {
		err = explain(nil)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}
