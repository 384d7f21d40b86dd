// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mirrord/internal/count"
	"mirrord/site"
	"mirrord/store/record"
)

// An orphan is a resource of the mirror that no document of it links to, as far as the documents were looked
// at. In a run that looks at all of them it leaves at once. A planned run does not: a page that was skipped
// may have come to link to it. So an orphan waits, in the mirror, until every document that can be reached
// was looked at since it became one; limits.max_skip bounds how long that takes.

// Orphans are the resources that wait, each with the number of the run since which nothing was seen to lead
// to it.
type Orphans map[uint32]int

// storedOrphans are the orphans of one run.
type storedOrphans struct {
	Since int        `json:"since"`
	IDs   record.IDs `json:"ids"`
}

// DecodeOrphans reads what Encode wrote, as far as it concerns the numbers below n. No data are no orphans.
func DecodeOrphans(data []byte, n uint32) (Orphans, error) {
	if data == nil {
		return nil, nil
	}
	var list []storedOrphans
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	o := Orphans{}
	for _, x := range list {
		for id := range x.IDs.All() {
			if id >= n {
				break
			}
			o[id] = x.Since
		}
	}
	return o, nil
}

// Encode writes the orphans in a form that is stored, nil for none.
func (o Orphans) Encode() ([]byte, error) {
	if len(o) == 0 {
		return nil, nil
	}
	by := grouped(o)
	var list []storedOrphans
	for _, since := range slices.Sorted(maps.Keys(by)) {
		list = append(list, storedOrphans{Since: since, IDs: *by[since]})
	}
	return json.Marshal(list)
}

const orphansWait = "%s until every document was looked at again: " +
	"none of those looked at links there now"

// watch decides which of the resources that nothing was seen to lead to leave now, and which wait. docs are
// the documents that can be reached.
func (c *Case) watch(r *Ruling, loose, docs []uint32) (lost []uint32, err error) {
	if len(c.Orphans)+len(loose) == 0 {
		return nil, nil
	}
	seen, err := c.lookedSince(docs)
	if err != nil {
		return nil, err
	}
	now := Orphans{}
	for _, id := range loose {
		since, waits := c.Orphans[id]
		if !waits && !c.NoFetch {
			since = c.Run.Number
		}
		now[id] = since
		shown := c.NoFetch && c.Lost.Noted.Has(id) // the run that is accepted looked at all that it could
		if since <= seen || shown {
			lost = append(lost, id)
		}
	}
	if n := len(now) - len(lost); n > 0 {
		r.note(fmt.Sprintf(orphansWait, count.Of(n, "resource stays", "resources stay")), site.URL{})
	}
	if !maps.Equal(c.Orphans, now) {
		r.Orphans = now // also what leaves, which the next run forgets: the verdict may still hold it back
	}
	return lost, nil
}

// lookedSince returns a run since which every one of the documents was looked at.
func (c *Case) lookedSince(docs []uint32) (int, error) {
	seen := c.Run.Number
	if !c.Planned && !c.NoFetch {
		return seen, nil // everything was requested
	}
	looked := make([]uint32, c.Table.Len())
	err := c.Records.Observations(func(o *record.Observation) error {
		for _, s := range [...]record.IDs{o.Asked, o.Spared} {
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
		if c.NoFetch || !c.Table.State(id).Answered() {
			seen = min(seen, int(looked[id]))
		}
	}
	return seen, err
}
