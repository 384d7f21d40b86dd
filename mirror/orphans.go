// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mirrord/store"
)

// An orphan is a resource of the mirror that no document of it leads to, as far as the documents were looked at. In a run that looks at all of them it
// leaves at once. A planned run does not: a page that was skipped may have come to link to it. So an orphan waits, in the mirror, until every document
// that can be reached was looked at since it became one; limits.max_skip bounds how long that takes.

// orphans are the resources that wait, each with the run since which nothing was seen to lead to it.
type orphans map[uint32]int

const orphansFact = "orphans"

// storedOrphans are the orphans of one run.
type storedOrphans struct {
	Since int       `json:"since"`
	IDs   store.IDs `json:"ids"`
}

func (r *run) loadOrphans() (orphans, error) {
	v, err := r.site.Notes.Fact(orphansFact)
	if err != nil || v == nil {
		return nil, err
	}
	var list []storedOrphans
	if err := json.Unmarshal(v, &list); err != nil {
		r.log.Warn("the list of pages without links to them cannot be decoded; it begins anew", "err", err)
		list = nil
	}
	o := orphans{}
	for _, x := range list {
		for id := range x.IDs.All() {
			if id >= r.table.Len() {
				break
			}
			o[id] = x.Since
		}
	}
	return o, nil
}

func (r *run) saveOrphans(o orphans) error {
	if len(o) == 0 {
		return r.site.Notes.SetFact(orphansFact, nil)
	}
	by := map[int]*store.IDs{}
	for _, id := range slices.Sorted(maps.Keys(o)) {
		if by[o[id]] == nil {
			by[o[id]] = new(store.IDs)
		}
		by[o[id]].Add(id)
	}
	var list []storedOrphans
	for _, since := range slices.Sorted(maps.Keys(by)) {
		list = append(list, storedOrphans{since, *by[since]})
	}
	v, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return r.site.Notes.SetFact(orphansFact, v)
}

// watch decides which of the resources that nothing was seen to lead to leave now. docs are the documents that can be reached.
func (r *run) watch(unreached []uint32, docs []uint32) (lost []uint32, err error) {
	known, err := r.loadOrphans()
	if err != nil || len(known)+len(unreached) == 0 {
		return nil, err
	}
	seen, err := r.lookedSince(docs)
	if err != nil {
		return nil, err
	}
	now := orphans{}
	for _, id := range unreached {
		since, waits := known[id]
		if !waits && !r.o.NoFetch {
			since = r.state.Number
		}
		now[id] = since
		if since <= seen {
			lost = append(lost, id)
		}
	}
	if n := len(now) - len(lost); n > 0 {
		r.notes.Cap(fmt.Sprintf("%d resources to which nothing that was looked at links any more stay until every document was looked at again", n))
	}
	if maps.Equal(known, now) {
		return lost, nil
	}
	return lost, r.saveOrphans(now) // what leaves is forgotten when the next run looks: until then the verdict may still hold it back
}

// lookedSince returns a run since which every one of the documents was looked at.
func (r *run) lookedSince(docs []uint32) (int, error) {
	seen := r.state.Number
	if !r.planned() && !r.o.NoFetch {
		return seen, nil // all that could be asked was
	}
	looked := make([]uint32, r.table.Len())
	err := r.site.Records.Observations(func(o *store.Observation) error {
		for _, s := range [...]store.IDs{o.Asked, o.Spared} {
			for id := range s.All() {
				if int(id) >= len(looked) {
					break
				}
				looked[id] = uint32(o.Run)
			}
		}
		return nil
	})
	for _, id := range docs {
		if r.o.NoFetch || !r.table.State(id).Answered() {
			seen = min(seen, int(looked[id]))
		}
	}
	return seen, err
}
