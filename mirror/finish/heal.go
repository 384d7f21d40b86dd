// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mirrord/internal/count"
	"mirrord/mirror/publish"
	"mirrord/mirror/render"
	"mirrord/mirror/run"
	"mirrord/mirror/takedown"
	"mirrord/mirror/urls"
	"mirrord/mirror/verdict"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// heal makes a run that could not be published for damaged bodies one that continues by requesting
// them again. What the site did not give when that was done leaves the mirror, which must not wait for it.
// An err that says something else is returned as it is.
func (c *Closing) heal(j *verdict.Judgement, err error) error {
	bad, ok := errors.AsType[*publish.BodiesError](err)
	if !ok {
		return err
	}
	left := 0
	herr := c.amend(bad.IDs, func(rec *record.Resource) {
		if publish.IsRefused(rec, c.Run.Number) && !slices.Contains(c.Rules.Seeds, rec.URL) {
			urls.Leave(rec, c.Version) // there is no copy: links to it become absolute until the site gives it
			left++
			return
		}
		publish.LoseBody(rec)
	})
	if herr == nil {
		herr = c.Site.Records.Fold(c.folding())
	}
	if herr == nil {
		c.Run.Retrieved = false
		herr = c.Site.Notes.SetRun(c.Run)
	}
	if herr != nil {
		return fmt.Errorf("request damaged files again: %w", herr)
	}
	if herr := noteDamaged(c.Session, bad.IDs); herr != nil {
		return herr
	}
	if again := len(bad.IDs) - left; again > 0 {
		j.Partial("%s damaged and will be requested again: %v",
			count.Of(again, "stored body is", "stored bodies are"), bad.First)
	}
	if left > 0 {
		j.Partial("%s damaged, and the site did not give what was requested again: "+
			"that leaves the mirror, and the next run publishes the rest: %v",
			count.Of(left, "stored body is", "stored bodies are"), bad.First)
	}
	return nil
}

// noteDamaged notes whose bodies are damaged, so that older versions that have the same bodies are
// repaired too once they come again.
func noteDamaged(c *run.Session, ids []uint32) error {
	noted, err := c.Site.Notes.Damaged()
	if err != nil {
		return err
	}
	for _, id := range ids {
		noted = append(noted, c.Table.Settled().URL(id).String())
	}
	return c.Site.Notes.NoteDamaged(noted)
}

// siteBodies reads the stored bodies of the site.
func (c *Closing) siteBodies() *publish.SiteBodies {
	return &publish.SiteBodies{Records: c.Site.Records, Frames: c.Site.Frames, Blobs: c.Options.State.Bodies}
}

// RequestDamaged repairs the bodies that a check found damaged, and makes the run request those of which
// there is no copy. A run that resumes requests them too, also when it had nothing left to request.
func (c *Closing) RequestDamaged(ctx context.Context) error {
	noted, err := c.Site.Notes.Damaged()
	if err != nil || len(noted) == 0 {
		return err
	}
	if c.Resumed { // no journal may refer to repaired bodies
		if err := takedown.FoldJournal(c.Site); err != nil {
			return err
		}
	}
	if _, err := healBodies(ctx, c.Session, noted); err != nil {
		return err
	}
	lost, err := c.siteBodies().Lost(noted)
	if err != nil {
		return err
	}
	var batch []*record.Done
	for _, rec := range lost {
		c.Log.Warn("ask again for a damaged body", "url", rec.URL.String())
		batch = append(batch, &record.Done{Resource: rec})
	}
	known, err := c.Site.Records.Known()
	if err == nil && len(batch) > 0 {
		err = c.Site.Records.Commit(known, nil, batch)
	}
	if err == nil {
		err = takedown.FoldJournal(c.Site)
	}
	if (err == nil) && c.Run.Retrieved && len(batch) > 0 {
		c.Run.Retrieved = false
		err = c.Site.Notes.SetRun(c.Run)
	}
	if err != nil {
		return fmt.Errorf("request damaged files again: %w", err)
	}
	return nil
}

// healBodies replaces damaged bodies by good copies, in all versions.
func healBodies(ctx context.Context, c *run.Session, noted []string) (upkeep.BodyRepairs, error) {
	h, err := c.Site.Heal(ctx, noted, render.CopiesOf(c.Site).Of)
	if n := len(h.URLs); n > 0 {
		c.Log.Info("damaged bodies repaired", "urls", n)
		c.Notes.Cap(count.Of(n, "damaged stored body was replaced by a good copy",
			"damaged stored bodies were replaced by good copies"))
	}
	return h, err
}

// repairBodies replaces damaged bodies by those that came, in all versions and in the published tree.
// The next run requests what did not come.
func (c *Closing) repairBodies(ctx context.Context) error {
	noted, err := c.Site.Notes.Damaged()
	if err != nil || len(noted) == 0 {
		return err
	}
	h, err := healBodies(ctx, c.Session, noted)
	if err != nil {
		return err
	}
	came, left, err := c.siteBodies().Returned(noted)
	if err != nil {
		return err
	}
	for _, rec := range came {
		if err := c.Site.Trees.Relink(rec.Path, rec.Digest); err != nil {
			return err
		}
	}
	for i := range h.Lost {
		left = append(left, h.Lost[i].URL)
	}
	return c.Site.Notes.NoteDamaged(left)
}
