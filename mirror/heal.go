package mirror

import (
	"errors"
	"fmt"
	"slices"
	"sync"

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
	if !errors.Is(err, store.ErrDamaged) {
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
func (r *run) heal(j *judgement) (bool, error) {
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
		err = r.site.Fold(r.folding())
	}
	if err == nil {
		r.state.Retrieved = false
		err = r.site.SetRun(r.state)
	}
	if err != nil {
		return true, fmt.Errorf("ask again for what is damaged: %w", err)
	}
	j.partial("%d stored bodies are damaged and will be asked for again: %v", len(ids), r.damage.first)
	return true, nil
}
