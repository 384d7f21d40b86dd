// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"testing"
	"time"

	"mirrord/fetch/heads"
	"mirrord/site"
	"mirrord/store/record"
)

// BenchmarkHeads tells what the head of a page costs from the answer to the file: at a first run, and when
// nothing has changed.
func BenchmarkHeads(b *testing.B) {
	const pages = 4096
	for _, kind := range headKinds[:3] {
		rng := rand.New(rand.NewPCG(1, 2))
		var coded [2][][]byte
		for id := range pages {
			h := headOf(b, kind.text(rng, id, time.Unix(1700000000, 0).UTC()))
			coded[0] = append(coded[0], h.Append(nil))
			not := &heads.Head{Status: "HTTP/1.1 304 Not Modified", Fields: h.Fields}
			coded[1] = append(coded[1], not.Append(nil))
		}
		_, s := openHeads(b, b.TempDir())
		var recs, empty [pages]record.Resource
		for id := range recs {
			empty[id] = answered(id, 1, nil).Resource
		}
		if err := s.Heads.Begin(nil); err != nil {
			b.Fatal(err)
		}
		run := func(name string, coded [][]byte, outcome site.Outcome) {
			b.Run(kind.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for n := range b.N {
					id := n % pages
					r := empty[id]
					r.Outcome = outcome
					old := &recs[id]
					if outcome == site.Fetched {
						old = nil
					}
					s.Heads.Place(&r, old, coded[id])
					recs[id] = r
				}
			})
		}
		run("first", coded[0], site.Fetched)
		for id := range recs {
			recs[id] = empty[id]
			s.Heads.Place(&recs[id], nil, coded[0][id])
		}
		run("nothing changed", coded[1], site.Unchanged)
	}
}
