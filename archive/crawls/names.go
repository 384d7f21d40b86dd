// SPDX-License-Identifier: Apache-2.0

package crawls

import (
	"iter"

	"github.com/zeebo/xxh3"

	"mirrord/internal/texts"
	"mirrord/site"
)

// names are the URLs of an archive, by their numbers. They hold no pointer for each: the collector reads all
// of those in each of its cycles, and an import of a million records has thousands of cycles.
type names struct {
	texts  texts.List
	places []uint32          // in texts, by number
	index  map[uint64]uint32 // numbers by the hash of the normal form; those of one hash have the next free ones
}

// of returns the URL of a number.
func (t *names) of(id uint32) site.URL {
	var room [256]byte
	return site.Canonical(string(t.texts.Append(room[:0], t.places[id])))
}

// alike returns the URLs that seem to have one normal form, and the hash for another one of these.
func (t *names) alike(normal site.URL) (ids iter.Seq2[uint32, site.URL], free uint64) {
	free = xxh3.HashString(normal.String())
	from := free
	for _, ok := t.index[free]; ok; _, ok = t.index[free] {
		free++
	}
	return func(yield func(uint32, site.URL) bool) {
		for h := from; h != free; h++ {
			if id := t.index[h]; !yield(id, t.of(id)) {
				return
			}
		}
	}, free
}

// add returns the number of a URL, and gives it the next one when it has none.
func (t *names) add(u site.URL) uint32 {
	ids, free := t.alike(u.Normal())
	for id, v := range ids {
		if u == v {
			return id
		}
	}
	id := uint32(len(t.places))
	t.places = append(t.places, t.texts.Add([]byte(u.String())))
	if t.index == nil {
		t.index = map[uint64]uint32{}
	}
	t.index[free] = id
	return id
}

// find returns the number of a URL, or of an equivalent one: runs ask for the normal form, an archive has
// what was asked then.
func (t *names) find(u site.URL) (id uint32, ok bool) {
	normal := u.Normal()
	ids, _ := t.alike(normal)
	for v, text := range ids {
		switch {
		case text == u:
			return v, true
		case !ok || text == normal:
			if text.Normal() == normal {
				id, ok = v, true
			}
		}
	}
	return id, ok
}
