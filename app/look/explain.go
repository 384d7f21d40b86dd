// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"errors"
	"math"
	"path"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Explain says why a URL is or is not in a job's mirror. No request is made. A URL that cannot be one is
// wrong usage. Without a time in r it is now.
func Explain(
	ctx context.Context, a *env.App, name string, r ExplainRequest,
) (_ *report.Explanation, err error) {
	if _, _, err := site.Parse(r.URL); (err != nil) && !IsPath(r.URL) {
		return nil, env.Usagef("explain: %w", err)
	}
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	st, ok, err := a.OpenState()
	if err != nil {
		return nil, err
	}
	if r.At.IsZero() {
		r.At = a.Clock()
	}
	if !ok {
		return explain(ctx, j, nil, nil, r)
	}
	defer env.Close(&err, st)
	if errors.Is(env.IsMirror(st, j.Name), home.ErrNoSite) {
		if err := env.Elsewhere(ctx, a, j.Name); err != nil {
			return nil, err
		}
	}
	return ExplainIn(ctx, st, j, r)
}

// ExplainRequest asks about a URL of a mirror.
type ExplainRequest struct {
	URL  string    // or a mirror path
	Head bool      // read the stored heads of answers too
	Plan bool      // make the plan of the next run also for a large site
	At   time.Time // for which the next run is planned
}

// ExplainIn is Explain in a state that is open.
func ExplainIn(
	ctx context.Context, st *store.State, j *job.Job, r ExplainRequest,
) (*report.Explanation, error) {
	var x *report.Explanation
	err := env.View(st, j.Name, func(s *store.Site) (err error) {
		x, err = explain(ctx, j, st, s, r)
		return err
	})
	if errors.Is(err, home.ErrNoSite) {
		x, err = explain(ctx, j, st, nil, r)
	}
	if err == nil && st != nil {
		x.Space, err = spaces.ExplainSpace(st, j, x.URL)
	}
	return x, err
}

// explain explains a URL of a site that is open, nil for one that was never retrieved, in a state, nil for
// none.
func explain(
	ctx context.Context, j *job.Job, st *store.State, s *store.Site, r ExplainRequest,
) (*report.Explanation, error) {
	if IsPath(r.URL) {
		u, err := urlAt(j.Name, s, r.URL)
		if err != nil {
			return nil, err
		}
		r.URL = u
	}
	v, err := report.Open(j, s, r.At)
	if err != nil {
		return nil, err
	}
	if r.Plan {
		v.PlanUpTo = math.MaxUint32
	}
	var robots fetch.RobotsStore
	if st != nil {
		robots = st.Shared
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

// IsPath reports whether what was given for a URL can be a mirror path only.
func IsPath(url string) bool {
	scheme, _, ok := strings.Cut(url, ":")
	return !ok || strings.ContainsAny(scheme, "/.")
}

// errFound ends a search.
var errFound = errors.New("found")

// urlAt returns the URL of what lies at a path of a mirror: a file, or a directory with an index. s is nil
// without a mirror.
func urlAt(name string, s *store.Site, given string) (url string, err error) {
	p := path.Clean("/" + given)[1:]
	if s != nil {
		err = s.Records.Resources(func(r *record.Resource) error {
			if r.Path == "" || (r.Path != p && r.Path != path.Join(p, "index.html")) {
				return nil
			}
			url = r.URL.String()
			if r.Path == p {
				return errFound
			}
			return nil
		})
	}
	switch {
	case err != nil && !errors.Is(err, errFound):
		return "", err
	case url == "":
		return "", env.Usagef("explain: nothing in the mirror of %s has the path %q; give the URL instead",
			name, given)
	}
	return url, nil
}
