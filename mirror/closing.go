// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"

	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/repair"
	"mirrord/mirror/session"
	"mirrord/policy"
	"mirrord/site"
	"mirrord/store"
)

// closing is what follows retrieval: the verdict, the records and mirror paths, publication.
type closing struct {
	*session.Session
	repairs map[string]render.Cure // of a version that comes back; nil: as is known now
	found   retrieved

	tree          publish.TreeDamage // of the published version
	mending       []site.URL         // whose bodies a check found damaged, and which are requested again
	shared        render.Shared
	cures         repair.Choice
	repairedLinks int            // of the version that was published
	published     *store.Version // by this run
}

// retrieved is what retrieval came to, beside the table, the counts and the notes.
type retrieved struct {
	ended     error                      // why it ended early; nil when nothing is left to request
	postponed []judge.PostponedHost      // of entry points
	silent    map[string]int64           // other origins without any answer, and how many of their URLs failed
	down      []string                   // origins and hosts of entry points that do not answer
	probes    map[string]judge.ErrorPage // see probeOrigins
	planned   map[string]int64           // requests of the plan, by reason; nil without a plan
	hasPlan   bool
	skips     map[policy.Why]int64 // what the plan skipped, by reason
}

// mendTree repairs what it can of the published tree before anything is built on it.
func (c *closing) mendTree(ctx context.Context) (err error) {
	if c.Live == nil {
		return nil
	}
	if c.tree, err = publish.Mend(ctx, publish.MendingOf(c.Options.State, c.Site), c.Live); err != nil {
		return err
	}
	c.sayDamage(&c.tree)
	return nil
}

// close settles and publishes what retrieval found, as far as the verdict allows, which may become worse on
// the way. What is returned has ended the run; the verdict says so.
func (c *closing) close(ctx context.Context, v *judge.Judgement) error {
	if err := c.settle(v); err != nil {
		return v.Broke(err)
	}
	if (v.Verdict == Partial) && !c.Options.NoFetch {
		return diskOnly(c.found.ended)
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
	if v.Verdict != Complete {
		if c.Options.NoFetch {
			return nil
		}
		// publishing found out more: the run was not what was written of it
		if err := c.observations(v); err != nil {
			return v.Broke(err)
		}
		return nil
	}
	if err := errors.Join(c.calm(), c.mended(), c.askedAll(), c.repaired()); err != nil {
		return v.Broke(err)
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
	var d *store.DiskError
	if errors.As(err, &d) {
		return err
	}
	return nil
}

// thin applies the keep rule after a publish. What goes wrong is a note: the run is what it is, and the
// next one tries again.
func (r *closing) thin() {
	drop, err := Thin(r.Job, r.Site, r.Now(), false)
	r.Log.Debug("thinned", "dropped", drop)
	if err != nil {
		r.Notes.Cap("old versions could not be dropped: " + err.Error())
	}
}
