// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"cmp"
	"context"
	"errors"
	"time"

	"mirrord/mirror/deadlinks"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Closing is what follows retrieval in one run: the verdict, the records and mirror paths, publication.
type Closing struct {
	*run.Session
	repairs map[string]render.Cure // of a version that comes back; nil: as is known now
	found   run.Retrieved

	tree          publish.TreeDamage // of the published version
	shared        render.Shared
	cures         deadlinks.Choice
	repairedLinks int             // of the version that was published
	newBytes      int64           // see result.Summary
	published     *record.Version // by this run
}

// New returns the closing of a run. repairs are those of a version that comes back, nil for those that are
// known now.
func New(s *run.Session, repairs map[string]render.Cure) *Closing {
	return &Closing{Session: s, repairs: repairs}
}

// MendTree repairs what it can of the published tree before anything is built on it.
func (c *Closing) MendTree(ctx context.Context) (err error) {
	if c.Live == nil {
		return nil
	}
	if c.tree, err = publish.Mend(ctx, publish.MendingOf(c.Options.State, c.Site), c.Live); err != nil {
		return err
	}
	c.sayDamage(&c.tree)
	return nil
}

// Close settles and publishes what retrieval found, as far as the verdict allows, which may become worse on
// the way. The returned error has ended the run; the verdict says so.
func (c *Closing) Close(ctx context.Context, v *verdict.Judgement) error {
	if err := c.settle(v); err != nil {
		return v.Broke(err)
	}
	if (v.Verdict == result.Partial) && !c.Options.NoFetch {
		return diskOnly(c.found.Ended)
	}
	if err := c.publish(ctx, v); err != nil {
		if ctx.Err() != nil {
			v.Partial("interrupted while the mirror was relocated")
			return nil
		}
		if err = c.heal(v, err); err != nil {
			return v.Broke(err)
		}
		return nil
	}
	if !v.Verdict.Finished() {
		if c.Options.NoFetch {
			return nil
		}
		// publishing found out more: the run was not what was written of it
		if err := c.observations(v); err != nil {
			return v.Broke(err)
		}
		return nil
	}
	if v.Rejection == nil {
		err := errors.Join(c.calm(), c.repaired(), believe(c),
			forgetRejected(c.Session, cmp.Or(c.published, c.Live)))
		if err != nil {
			return v.Broke(err)
		}
	}
	if err := c.repairBodies(ctx); err != nil {
		return v.Broke(err)
	}
	if c.requestedAll(v) {
		if err := c.allRequested(); err != nil {
			return v.Broke(err)
		}
	}
	if err := c.Site.Notes.SetRun(nil); err != nil {
		return v.Broke(err)
	}
	if c.published != nil {
		c.thin()
	}
	return nil
}

// diskOnly returns err when it is a failure of the disk: such a run is partial, and the caller must know why.
func diskOnly(err error) error {
	var d *disk.DiskError
	if errors.As(err, &d) {
		return err
	}
	return nil
}

// DropParts drops the beginnings of bodies of which no run will request the rest, at the end of a complete
// run. What goes wrong is a note.
func (c *Closing) DropParts() {
	if err := dropParts(c.Site); err != nil {
		c.Notes.Cap("beginnings of large files could not be dropped: " + err.Error())
	}
}

// thin applies the keep rule after a publish. What goes wrong is a note: the run is what it is, and the
// next one tries again.
func (c *Closing) thin() {
	drop, err := Thin(c.Job, c.Site, c.Now(), false)
	if len(drop) > 0 {
		c.Log.Debug("thinned", "dropped", drop)
	}
	if err != nil {
		c.Notes.Cap("old versions could not be dropped: " + err.Error())
	}
}

// dropParts drops all beginnings of bodies but those of what failed.
func dropParts(s *store.Site) error {
	_, err := s.Parts.Collect(false, func(url string, _ time.Time) bool {
		u, _, err := site.Parse(url)
		if err != nil {
			return true
		}
		rec, ok, err := s.Records.Get(u)
		return err == nil && (!ok || rec.Outcome != site.Failed || rec.Failures >= urls.LastingFailures)
	})
	return err
}
