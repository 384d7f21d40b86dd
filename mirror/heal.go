// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"mirrord/mirror/judge"
	"mirrord/mirror/publish"
	"mirrord/site"
	"mirrord/store"
)

// heal makes a run that could not be published for damaged bodies one that goes on by requesting them again. An err that says something
// else is returned as it is.
func (r *run) heal(j *judge.Judgement, err error) error {
	bad, ok := errors.AsType[*publish.BodiesError](err)
	if !ok {
		return err
	}
	herr := r.amend(bad.IDs, publish.LoseBody)
	if herr == nil {
		herr = r.site.Records.Fold(r.folding())
	}
	if herr == nil {
		r.state.Retrieved = false
		herr = r.site.Notes.SetRun(r.state)
	}
	if herr != nil {
		return fmt.Errorf("ask again for what is damaged: %w", herr)
	}
	j.Partial("%d stored bodies are damaged and will be asked for again: %v", len(bad.IDs), bad.First)
	return nil
}

// mend makes the run ask again for the bodies that Verify found damaged. Blobs of wrong bytes are discarded, so that those that come can
// take their place.
func (r *run) mend() error {
	urls, err := r.site.Notes.Damaged()
	if err != nil || len(urls) == 0 {
		return err
	}
	var batch []*store.Done
	for _, raw := range urls {
		u, _, err := site.Parse(raw)
		if err != nil { // not by NoteDamaged
			continue
		}
		rec, ok, err := r.site.Records.Get(u)
		if err != nil {
			return err
		}
		if !ok || rec.Body == store.NoBody {
			continue
		}
		r.mending = append(r.mending, rec.URL)
		bad, err := r.isDamaged(&rec)
		if err != nil {
			return err
		}
		if !bad { // an older body is, or another site has brought this one again
			continue
		}
		publish.LoseBody(&rec)
		rec.Expires, rec.Evidence = 0, [len(rec.Evidence)]uint64{} // so that nothing saves the request
		r.log.Warn("ask again for a damaged body", "url", raw)
		batch = append(batch, &store.Done{Resource: rec})
	}
	known, err := r.site.Records.Known()
	if err == nil && len(batch) > 0 {
		err = r.site.Records.Commit(known, nil, batch)
	}
	if err == nil {
		err = r.site.Records.Fold(store.Folding{Version: r.version, Pending: func(uint32) bool { return true }, Path: func(rec *store.Resource) string { return rec.Path }})
	}
	if err != nil {
		return fmt.Errorf("ask again for what is damaged: %w", err)
	}
	return nil
}

// isDamaged looks at the body of a record. A damaged blob is discarded.
func (r *run) isDamaged(rec *store.Resource) (bool, error) {
	if rec.Body == store.BlobBody {
		return store.DiscardBody(r.o.State.Bodies, rec.Digest)
	}
	f, err := r.site.Frames.ReadFrame(store.NewFrameReader(), rec.At)
	return err != nil || sha256.Sum256(f.Body) != rec.Digest, nil
}

// mended puts the bodies that came in the place of damaged ones into the published tree. What did not come is asked again by the next run.
func (r *run) mended() error {
	if len(r.mending) == 0 {
		return nil
	}
	noted, err := r.site.Notes.Damaged()
	if err != nil {
		return err
	}
	var left []string
	for _, u := range noted { // by a check during this run, which did not ask for them
		if !slices.ContainsFunc(r.mending, func(m site.URL) bool { return m.String() == u }) {
			left = append(left, u)
		}
	}
	for _, u := range r.mending {
		rec, ok, err := r.site.Records.Get(u)
		switch {
		case err != nil:
			return err
		case !ok || !rec.InSet || rec.Path == "":
		case rec.Digest == [32]byte{}:
			left = append(left, u.String())
		case rec.Body == store.BlobBody:
			if _, err := r.site.Trees.Relink(rec.Path, rec.Digest); err != nil {
				return err
			}
		}
	}
	return r.site.Notes.NoteDamaged(left)
}
