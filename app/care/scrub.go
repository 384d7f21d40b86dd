// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/upkeep"
)

// How fast a scrub reads, in bytes a second: scrubRate, or scrubBeside while a run of any site is under way,
// so that the run does not feel it; but never at less than twice the rate needed to finish in time. Each body
// costs scrubSeek besides, so that a disk with a head has time for others. It sleeps for at least scrubNap,
// and looks whether a run is under way every scrubDoze.
const (
	scrubRate   = 4 << 20
	scrubBeside = 256 << 10
	scrubSeek   = 32 << 10
	scrubNap    = 50 * time.Millisecond
	scrubDoze   = time.Second
	scrubTick   = time.Minute      // between two checks of what to do
	scrubAgain  = 10 * time.Minute // after a site that could not be read
	lookEvery   = 24 * time.Hour   // between two looks at all published files of a site
)

// Scrubber reads all stored data, a part of each site after the other, repairs damage where it can and
// notifies people. It works in one goroutine.
type Scrubber struct {
	App   *env.App
	State *store.State
	Every time.Duration // 0: it reads nothing, and only tells of databases that were made again
	// the state of a job and its run; ok is false for a mirror without a job
	Job  func(name string) (j *job.Job, s status.Job, ok bool)
	Busy func() bool // whether a run of any job is under way
	Tell func(kind status.Kind, j *job.Job, s status.Job)
	// pause waits, and returns an error when ctx ends before
	Pause   func(ctx context.Context, d time.Duration) error
	Repairs *Repairs

	shared time.Time // when mirror.db was last read
	notes  map[string]*look.ScrubNote
	later  map[string]time.Time // sites that could not be read: when to try again
}

func (s *Scrubber) Run(ctx context.Context) {
	s.notes, s.later = map[string]*look.ScrubNote{}, map[string]time.Time{}
	for s.Pause(ctx, scrubTick) == nil {
		for s.round(ctx) { // more is due
		}
	}
}

// round reads at most one part of each site, and reports whether more is due now.
func (s *Scrubber) round(ctx context.Context) (more bool) {
	names, err := s.State.Sites()
	if err != nil {
		s.App.Log.Error("scrub", "err", err)
		return false
	}
	s.readShared()
	for _, name := range names {
		if ctx.Err() != nil {
			return false
		}
		if s.notes[name] == nil {
			s.notes[name] = look.LoadScrub(s.State, name)
		}
		more = s.site(ctx, name, s.notes[name]) || more
	}
	return more && ctx.Err() == nil
}

// readShared reads mirror.db, once a day, and makes it again when it is damaged.
func (s *Scrubber) readShared() {
	now := s.State.Now()
	if s.Every == 0 || now.Sub(s.shared) < min(lookEvery, s.Every) {
		return
	}
	s.shared = now
	if _, err := s.State.Shared.Mend(); err != nil {
		s.App.Log.Warn("scrub: mirror.db cannot be read; it is read again tomorrow", "err", err)
	}
}

// site does the work due for one site, and reports whether another part is due.
func (s *Scrubber) site(ctx context.Context, name string, n *look.ScrubNote) (more bool) {
	now := s.State.Now()
	changed := s.redone(name, n)
	if now.Before(s.later[name]) {
		return false
	}
	changed = s.readersSee(ctx, name, n) || changed
	changed = s.settle(ctx, name, n, now) || changed
	due := s.Every > 0 && !n.Due(now, s.Every).After(now)
	if due && s.mayRead(name, n, now) {
		read, err := s.part(ctx, name, n)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil && !errors.Is(err, home.ErrNoSite):
			s.App.Log.Warn("scrub: try again later", "job", name, "err", err)
			fallthrough
		case !read:
			s.later[name] = now.Add(scrubAgain)
		}
		changed = changed || read || len(n.All)+len(n.Untold) > 0
		more = read && !n.Due(s.State.Now(), s.Every).After(s.State.Now())
	}
	changed = s.report(name, n) || changed
	if changed {
		if err := n.Save(s.State, name); err != nil {
			s.App.Log.Error("scrub", "job", name, "err", err)
		}
	}
	return more
}

// mayRead reports whether a site may be read now. A run comes first, unless one is always under way: then the
// scrub reads beside it once a part is late by the time of another.
func (s *Scrubber) mayRead(name string, n *look.ScrubNote, now time.Time) bool {
	_, j, _ := s.Job(name)
	if j.Activity != status.Running && j.Activity != status.Ending {
		return true
	}
	late := now.Sub(n.Due(now, s.Every))
	return n.Parts > 0 && late >= s.Every/time.Duration(n.Parts)
}

// part reads the next part of a site; read is false when there is nothing to read yet, or it is not to be
// read now.
func (s *Scrubber) part(ctx context.Context, name string, n *look.ScrubNote) (read bool, err error) {
	now := s.State.Now()
	if n.Parts <= 0 || n.Began == nil || n.Began.After(now) {
		size := int64(0)
		if z := jobs.DiskOf(s.State, name); z != nil {
			size = z.Total
		}
		n.Begin(now, s.Every, size)
	}
	parts, mine := uint64(n.Parts), uint64(n.Done)
	look := n.Looked == nil || now.Sub(*n.Looked) >= min(lookEvery, s.Every)
	c := s.paced(ctx, name, n)
	c.look, c.pick = look, func(url string) bool { return xxh3.HashString(url)%parts == mine }
	found, err := c.check(ctx, s.State, name)
	if err != nil {
		return false, err
	}
	if len(found) > 0 {
		s.found(ctx, name, n, found)
	} else if c.torn {
		s.renewLog(ctx, name)
	}
	n.Finish(s.State.Now(), s.Every, c.read, look)
	return true, nil
}

// scrubLook is one reading of a part of a site.
type scrubLook struct {
	pick  func(url string) bool
	also  func(path string) bool // published files that are read besides
	spend func(n int64) error
	look  bool
	read  int64 // bytes
	torn  bool  // the power has cut the log of the database
}

// paced returns a look that reads as fast as it may, and waits while a run of the site publishes.
func (s *Scrubber) paced(ctx context.Context, name string, n *look.ScrubNote) *scrubLook {
	owed := 0.0 // bytes that have been read and not been waited for
	return &scrubLook{spend: func(bytes int64) error {
		owed += float64(bytes + scrubSeek)
		for ctx.Err() == nil {
			rate := s.rate(n)
			wait := time.Duration(owed / rate * float64(time.Second))
			if wait < scrubNap {
				break
			}
			wait = min(wait, scrubDoze)
			if err := s.Pause(ctx, wait); err != nil {
				return err
			}
			owed -= rate * wait.Seconds()
		}
		for ctx.Err() == nil && s.publishes(name) {
			if err := s.Pause(ctx, scrubDoze); err != nil {
				return err
			}
		}
		return ctx.Err()
	}}
}

// rate is how fast a site may be read now, in bytes a second.
func (s *Scrubber) rate(n *look.ScrubNote) float64 {
	rate := float64(scrubRate)
	if s.Busy() {
		rate = scrubBeside
	}
	if s.Every > 0 {
		rate = max(rate, 2*float64(n.Size)/s.Every.Seconds())
	}
	return rate
}

// publishes reports whether a run of a site makes a version.
func (s *Scrubber) publishes(name string) bool {
	_, j, _ := s.Job(name)
	return j.Progress != nil && j.Progress.Phase != status.Retrieving
}

// check reads a part of a site. What it found in a view that became stale counts when another view has it
// too.
func (c *scrubLook) check(ctx context.Context, st *store.State, name string) ([]upkeep.Problem, error) {
	found, stale, err := c.once(ctx, st, name)
	if err != nil || !stale || len(found) == 0 {
		return found, err
	}
	again, _, err := c.once(ctx, st, name)
	if err != nil {
		return nil, err
	}
	return commonProblems(found, again), nil
}

// once reads a part of a site in a view.
func (c *scrubLook) once(ctx context.Context, st *store.State, name string) (
	found []upkeep.Problem, stale bool, err error,
) {
	v, err := st.ViewSite(name)
	if _, bad := errors.AsType[*db.DatabaseError](err); bad {
		return []upkeep.Problem{{
			Kind:    upkeep.BadDatabase,
			Subject: status.DatabaseFile,
			Detail:  err.Error(),
		}}, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer env.Close(&err, v)
	o := report.SampleOptions{
		Sampling: upkeep.Sampling{Pick: c.pick, Spend: c.spend},
		Look:     c.look,
		Also:     c.also,
	}
	stats, err := report.Sample(ctx, v, o, func(p upkeep.Problem) {
		if len(found) < look.MostDamage {
			found = append(found, p)
		}
	})
	c.read += stats.Bytes + stats.Size
	c.torn = stats.TornLog != ""
	return found, v.DB.Stale(), err
}
