// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/site"
	"mirrord/store"
)

// Explain says why a URL is or is not in a job's mirror; with head it reads the stored heads of answers
// too. No request is made. A URL that cannot be one is wrong usage.
func Explain(ctx context.Context, a *App, name, url string, head bool) (_ *report.Explanation, err error) {
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
	r := ExplainRequest{URL: url, Head: head, At: a.now()}
	if !ok {
		return explain(ctx, j, nil, nil, r)
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return ExplainIn(ctx, st, j, r)
}

// ExplainRequest asks about a URL of a mirror.
type ExplainRequest struct {
	URL  string
	Head bool      // read the stored heads of answers too
	At   time.Time // for which the next run is planned
}

// ExplainIn is Explain in a state that is open.
func ExplainIn(
	ctx context.Context, st *store.State, j *job.Job, r ExplainRequest,
) (*report.Explanation, error) {
	var x *report.Explanation
	err := view(st, j.Name, func(s *store.Site) (err error) {
		x, err = explain(ctx, j, st, s, r)
		return err
	})
	if errors.Is(err, store.ErrNoSite) {
		return explain(ctx, j, st, nil, r)
	}
	return x, err
}

// explain explains a URL of a site that is open, nil for one that was never retrieved, in a state, nil for
// none.
func explain(
	ctx context.Context, j *job.Job, st *store.State, s *store.Site, r ExplainRequest,
) (*report.Explanation, error) {
	v, err := report.Load(j, s, r.At)
	if err != nil {
		return nil, err
	}
	var robots fetch.RobotsStore
	if st != nil {
		robots = mirror.NewRobotsStore(st)
	}
	x, err := v.Explain(ctx, robots, r.URL)
	if (err == nil) && r.Head {
		err = x.Heads(s)
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}
