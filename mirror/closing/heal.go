// SPDX-License-Identifier: Apache-2.0

package closing

import (
	"errors"
	"fmt"

	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/store"
)

// heal makes a run that could not be published for damaged bodies one that goes on by requesting them
// again. An err that says something else is returned as it is.
func (c *Closing) heal(j *judge.Judgement, err error) error {
	bad, ok := errors.AsType[*publish.BodiesError](err)
	if !ok {
		return err
	}
	herr := c.amend(bad.IDs, publish.LoseBody)
	if herr == nil {
		herr = c.Site.Records.Fold(c.folding())
	}
	if herr == nil {
		c.Run.Retrieved = false
		herr = c.Site.Notes.SetRun(c.Run)
	}
	if herr != nil {
		return fmt.Errorf("ask again for what is damaged: %w", herr)
	}
	j.Partial("%d stored bodies are damaged and will be asked for again: %v", len(bad.IDs), bad.First)
	return nil
}

// siteBodies reads the stored bodies of the site.
func (c *Closing) siteBodies() *publish.SiteBodies {
	return &publish.SiteBodies{Records: c.Site.Records, Frames: c.Site.Frames, Blobs: c.Options.State.Bodies}
}

// RequestDamaged makes the run request the bodies that a check found damaged.
func (c *Closing) RequestDamaged() error {
	noted, err := c.Site.Notes.Damaged()
	if err != nil || len(noted) == 0 {
		return err
	}
	urls, lost, err := c.siteBodies().Lost(noted)
	if err != nil {
		return err
	}
	c.mending = urls
	var batch []*store.Done
	for _, rec := range lost {
		c.Log.Warn("ask again for a damaged body", "url", rec.URL.String())
		batch = append(batch, &store.Done{Resource: rec})
	}
	known, err := c.Site.Records.Known()
	if err == nil && len(batch) > 0 {
		err = c.Site.Records.Commit(known, nil, batch)
	}
	if err == nil {
		err = c.Site.Records.Fold(store.Folding{
			Version: c.Version,
			Pending: func(uint32) bool { return true },
			Path:    func(rec *store.Resource) string { return rec.Path },
		})
	}
	if err != nil {
		return fmt.Errorf("ask again for what is damaged: %w", err)
	}
	return nil
}

// mended puts the bodies that came in the place of damaged ones into the published tree. The next run
// requests what did not come.
func (c *Closing) mended() error {
	if len(c.mending) == 0 {
		return nil
	}
	noted, err := c.Site.Notes.Damaged()
	if err != nil {
		return err
	}
	came, left, err := c.siteBodies().Returned(c.mending, noted)
	if err != nil {
		return err
	}
	for _, rec := range came {
		if _, err := c.Site.Trees.Relink(rec.Path, rec.Digest); err != nil {
			return err
		}
	}
	return c.Site.Notes.NoteDamaged(left)
}
