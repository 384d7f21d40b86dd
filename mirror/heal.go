// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mirrord/mirror/judge"
	"mirrord/site"
	"mirrord/store"
)

// damage gathers the documents whose stored bodies turned out to be damaged while they were relocated. Safe for concurrent use; the
// zero value is ready.
type damage struct {
	mu    sync.Mutex
	ids   []uint32
	first error
}

// note keeps a damaged document, and reports whether err was that.
func (d *damage) note(id uint32, err error) bool {
	if _, ok := errors.AsType[*store.DatabaseError](err); ok || !errors.Is(err, store.ErrDamaged) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first == nil {
		d.first = err
	}
	d.ids = append(d.ids, id)
	return true
}

// heal makes a run that could not be published for damaged bodies one that goes on by asking for them again. It reports whether
// there were any.
func (r *run) heal(j *judge.Judgement) (bool, error) {
	r.damage.mu.Lock()
	defer r.damage.mu.Unlock()
	ids := r.damage.ids
	if len(ids) == 0 {
		return false, nil
	}
	slices.Sort(ids)
	err := r.amend(ids, func(rec *store.Resource) {
		// Without validators and digest the next answer is a body, and is stored even if it is the one that was lost.
		rec.ETag, rec.LastModified, rec.Digest = "", "", [32]byte{}
		rec.Outcome, rec.Reason = site.Failed, "its stored body is damaged"
	})
	if err == nil {
		err = r.site.Records.Fold(r.folding())
	}
	if err == nil {
		r.state.Retrieved = false
		err = r.site.Notes.SetRun(r.state)
	}
	if err != nil {
		return true, fmt.Errorf("ask again for what is damaged: %w", err)
	}
	j.Partial("%d stored bodies are damaged and will be asked for again: %v", len(ids), r.damage.first)
	return true, nil
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
		// As heal does; and nothing may spare the request.
		rec.ETag, rec.LastModified, rec.Digest, rec.Expires, rec.Evidence = "", "", [32]byte{}, 0, [len(rec.Evidence)]uint64{}
		rec.Outcome, rec.Reason = site.Failed, "its stored body is damaged"
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
