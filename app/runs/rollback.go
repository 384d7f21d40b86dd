// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"context"
	"fmt"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/store"
)

// Rollback publishes an older version of a job's mirror again, as a new version; number 0 is the one before
// the current one. The summary and the error are those of Run. Nothing is made for a job that has not run.
func Rollback(ctx context.Context, a *env.App, name string, number int) (*mirror.Summary, error) {
	j, err := a.FindJob(name)
	if err != nil {
		return nil, err
	}
	if err := env.Elsewhere(ctx, a, j.Name); err != nil { // the site here was left behind
		return nil, err
	}
	if _, err := look.Versions(a, j.Name); err != nil {
		return nil, err
	}
	back := func(st *store.State, s *store.Site) (*mirror.Summary, error) {
		n, err := versionBefore(s, number)
		if err != nil {
			return nil, err
		}
		if err := sayLacks(a, s, n); err != nil {
			return nil, err
		}
		return mirror.Rollback(ctx, mirror.Options{
			Job:   j,
			State: st,
			Site:  s,
			Log:   a.Log,
			Now:   st.Now,
		}, n)
	}
	sum, err := changed(ctx, a, j, false, a.MustWriteState, back)
	if c, cerr := a.Client(); cerr == nil {
		jobs.TellChanged(ctx, c, a)
	}
	return sum, err
}

// sayLacks says which pages a version lacks because they were lost.
func sayLacks(a *env.App, s *store.Site, number int) error {
	vs, err := s.Versions.List()
	if err != nil {
		return err
	}
	if m := render.MetaOf(&vs[render.VersionAt(vs, number)]); m != nil {
		for _, u := range render.Lacks(m) {
			a.Warning(fmt.Sprintf("version %d of %s lacks %s, which was lost on the disk", number, s.Name, u))
		}
	}
	return nil
}

// versionBefore checks that a version to roll back to is there and not the current one; 0 is the one before
// that.
func versionBefore(s *store.Site, number int) (int, error) {
	vs, err := s.Versions.List()
	if err != nil {
		return 0, err
	}
	switch {
	case number == 0 && len(vs) < 2:
		return 0, fmt.Errorf("roll back %s: there is no older version", s.Name)
	case number == 0:
		return vs[len(vs)-2].Number, nil
	case len(vs) > 0 && number == vs[len(vs)-1].Number:
		return 0, fmt.Errorf("roll back %s: version %d is the current one", s.Name, number)
	case render.VersionAt(vs, number) < 0:
		return 0, env.NoVersion(s.Name, number)
	}
	return number, nil
}
