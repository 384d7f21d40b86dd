// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"errors"
	"fmt"

	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/store"
)

// heal makes a run that could not be published for damaged bodies one that goes on by requesting them
// again. An err that says something else is returned as it is.
func (r *closing) heal(j *judge.Judgement, err error) error {
	bad, ok := errors.AsType[*publish.BodiesError](err)
	if !ok {
		return err
	}
	herr := r.amend(bad.IDs, publish.LoseBody)
	if herr == nil {
		herr = r.Site.Records.Fold(r.folding())
	}
	if herr == nil {
		r.Run.Retrieved = false
		herr = r.Site.Notes.SetRun(r.Run)
	}
	if herr != nil {
		return fmt.Errorf("ask again for what is damaged: %w", herr)
	}
	j.Partial("%d stored bodies are damaged and will be asked for again: %v", len(bad.IDs), bad.First)
	return nil
}

// siteBodies reads the stored bodies of the site.
func (r *closing) siteBodies() *publish.SiteBodies {
	return &publish.SiteBodies{Records: r.Site.Records, Frames: r.Site.Frames, Blobs: r.Options.State.Bodies}
}

// mend makes the run request the bodies that a check found damaged.
func (r *closing) mend() error {
	noted, err := r.Site.Notes.Damaged()
	if err != nil || len(noted) == 0 {
		return err
	}
	urls, lost, err := r.siteBodies().Lost(noted)
	if err != nil {
		return err
	}
	r.mending = urls
	var batch []*store.Done
	for _, rec := range lost {
		r.Log.Warn("ask again for a damaged body", "url", rec.URL.String())
		batch = append(batch, &store.Done{Resource: rec})
	}
	known, err := r.Site.Records.Known()
	if err == nil && len(batch) > 0 {
		err = r.Site.Records.Commit(known, nil, batch)
	}
	if err == nil {
		err = r.Site.Records.Fold(store.Folding{
			Version: r.Version,
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
func (r *closing) mended() error {
	if len(r.mending) == 0 {
		return nil
	}
	noted, err := r.Site.Notes.Damaged()
	if err != nil {
		return err
	}
	came, left, err := r.siteBodies().Returned(r.mending, noted)
	if err != nil {
		return err
	}
	for _, rec := range came {
		if _, err := r.Site.Trees.Relink(rec.Path, rec.Digest); err != nil {
			return err
		}
	}
	return r.Site.Notes.NoteDamaged(left)
}
