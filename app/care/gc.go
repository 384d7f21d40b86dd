// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/search"
	"mirrord/mirror/finish"
	"mirrord/mirror/takedown"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/collect"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// Collected is the report of Collect.
type Collected struct {
	DryRun bool              `json:"dry_run,omitempty"`
	Sites  []CollectedSite   `json:"sites"`
	Blobs  *blobs.BlobsFreed `json:"blobs,omitempty"`
	Busy   string            `json:"busy,omitempty"` // why blobs were left
}

// CollectedSite is what was done with one mirror.
type CollectedSite struct {
	Name    string              `json:"job"`
	Dropped []int               `json:"dropped,omitempty"` // versions
	Packs   *collect.Compaction `json:"packs,omitempty"`
	Parts   *blobs.PartsFreed   `json:"parts,omitempty"`
	Problem string              `json:"problem,omitempty"`
	Locked  bool                `json:"locked,omitempty"`
}

// Collect drops the versions of mirrors that their jobs do not keep, and frees what nothing refers to; with
// dry it only says what it would do. Without names it does all. What goes wrong with one mirror is in the
// report; the error then says so without text, and is of kind Locked if something was only busy.
func Collect(ctx context.Context, a *env.App, names []string, dry bool) (*Collected, error) {
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, scheduler.Suffix)
		if err := env.KnownJob(a, name); err != nil {
			return nil, err
		}
	}
	st, err := a.MustWriteState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if len(names) == 0 {
		if names, err = st.Sites(); err != nil {
			return nil, err
		}
	}
	c := &Collected{DryRun: dry, Sites: []CollectedSite{}}
	bad, locked := false, false
	for _, name := range names {
		s := GcSite(ctx, a, st, name, dry)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		bad, locked = bad || (s.Problem != "" && !s.Locked), locked || s.Locked
		c.Sites = append(c.Sites, s)
	}
	if locked {
		c.Busy = "a run is under way"
	} else if blobs, err := st.CollectBlobs(ctx, dry); err == nil {
		c.Blobs = &blobs
		if !dry {
			if err := SharedForgotten(st); err != nil {
				return nil, err
			}
		}
	} else {
		c.Busy, locked = env.Remedied(err), errors.Is(err, disk.ErrLocked)
		bad = bad || !locked
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case bad:
		return c, &env.Error{}
	case locked:
		return c, &env.Error{Kind: env.Locked}
	}
	return c, nil
}

// Collectable says what Collect would do with one mirror. Bodies that mirrors share are left out: whether
// anything refers to them takes a look at all mirrors.
func Collectable(ctx context.Context, a *env.App, name string) (CollectedSite, error) {
	st, err := a.MustState()
	if err != nil {
		return CollectedSite{}, err
	}
	defer st.Close()
	return GcSite(ctx, a, st, name, true), ctx.Err()
}

// GcSite does one site. What goes wrong is in the report: the others are done all the same.
func GcSite(ctx context.Context, a *env.App, st *store.State, name string, dry bool) (c CollectedSite) {
	c.Name = name
	fail := func(err error) CollectedSite {
		err = env.DidYouMean(st, name, err)
		c.Problem, c.Locked = env.Remedied(err), errors.Is(err, disk.ErrLocked)
		return c
	}
	j, err := a.ReadJob(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	s, err := st.ViewSite(name) // a site that is not there is not to be made
	if err == nil && !dry {
		if err = s.Close(); err == nil {
			s, err = st.OpenSite(name)
		}
	}
	if errors.Is(err, home.ErrNoSite) && j != nil {
		return c // it has not run yet
	}
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err := s.Close(); err != nil && c.Problem == "" {
			c.Problem = err.Error()
		}
	}()
	if !dry {
		if _, err := takedown.Finish(ctx, st, s, a.Log); err != nil {
			return fail(err)
		}
	}
	if j != nil {
		if c.Dropped, err = finish.Thin(j, s, st.Now(), dry); err != nil {
			return fail(err)
		}
		if !dry {
			if len(c.Dropped) > 0 {
				search.FindPruned(ctx, a, st, s)
			}
			if err := finish.TrimTrees(j, s); err != nil {
				return fail(err)
			}
		}
	}
	packs, err := s.Compact(ctx, dry)
	if err != nil {
		return fail(err)
	}
	c.Packs = &packs
	parts, err := s.Parts.Collect(dry, func(_ string, grown time.Time) bool {
		return st.Now().Sub(grown) > partLife
	})
	if err != nil {
		return fail(err)
	}
	if parts.Parts > 0 || parts.Kept > 0 {
		c.Parts = &parts
	}
	return c
}

// partLife is how long the beginning of a large file is kept for a run that continues it.
const partLife = 30 * 24 * time.Hour
