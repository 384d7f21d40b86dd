// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// Directories that have most pages in common may be no copies all the same: of a manual half of which is
// translated, half the pages are the same, and at the places of the others something else is said. A part of
// a collection lacks those places, and an older version says nearly the same there.

const (
	placesMost   = 64   // pages of a directory that are looked at
	placesDirs   = 16   // directories that are looked at together, at least
	placesEnough = 8    // places that both have, with fewer nothing is said
	saysOther    = 0.1  // resemblance below which two pages say something else
	differMost   = 0.25 // share of the places where copies may say something else
)

// placedPage is a page by its place below a directory.
type placedPage struct {
	place  uint64
	text   uint64
	sketch text.Sketch
}

func newPlacedPage(place uint64, digest []byte) placedPage {
	return placedPage{place, binary.LittleEndian.Uint64(digest), sketchOf(digest)}
}

// addPlaced takes a page into a sample of at most so many, those whose places have the least hashes.
func addPlaced(pages []placedPage, p placedPage, most int) []placedPage {
	n := len(pages)
	if n == most && pages[n-1].place <= p.place {
		return pages
	}
	at, found := slices.BinarySearchFunc(pages, p.place, func(p placedPage, place uint64) int {
		return cmp.Compare(p.place, place)
	})
	if found {
		return pages
	}
	pages = slices.Insert(pages, at, p)
	return pages[:min(len(pages), most)]
}

// samePlaces tells pairs of copies from those that say something else at many of the places that both have,
// and notes how many of these were looked at. The pages are gone through once for as many directories as fit
// in the budget.
func (f *Finder) samePlaces(pairs []DirPair) (found FoundPairs, err error) {
	const size = placesMost * (digestSize + 16)
	for some := range slices.Chunk(pairs, max(f.budget/8/size, placesDirs)/2) {
		dirs := map[uint64][]placedPage{} // of each the pages whose places have the least hashes
		of := map[uint64]bool{}           // hosts
		for _, p := range some {
			for _, a := range [2]Address{p.A, p.B} {
				dirs[a.key()], of[hash.Token(a.Host)] = nil, true
			}
		}
		err := f.eachPage("compare places", func(a Address, digest []byte) error {
			if !of[hash.Token(a.Host)] {
				return nil
			}
			eachDirOf(a, func(key uint64, at int) {
				if pages, ok := dirs[key]; ok {
					place := hash.Token(strings.ToLower(stem(a.Path[at:])))
					dirs[key] = addPlaced(pages, newPlacedPage(place, digest), placesMost)
				}
			})
			return nil
		})
		if err != nil {
			return FoundPairs{}, err
		}
		for _, p := range some {
			p.compare(dirs[p.A.key()], dirs[p.B.key()])
			if p.Places >= placesEnough && float64(p.Differ) >= differMost*float64(p.Places) {
				found.Related = append(found.Related, p)
			} else {
				found.Copies = append(found.Copies, p)
			}
		}
	}
	return found, nil
}

// eachDirOf calls f with the keys of the directories above a page, and where in its path the part below each
// begins.
func eachDirOf(a Address, f func(key uint64, at int)) {
	at := 0
	if strings.HasPrefix(a.Path, "/") {
		at = 1
	}
	eachDir(a.Host, dirOf(a.Path), func(key uint64) {
		f(key, at)
		at += 1 + strings.IndexByte(a.Path[at:], '/')
	})
}

// compare notes at how many places both directories have a page, of those that were looked at, and how many
// of these say something else.
func (p *DirPair) compare(a, b []placedPage) {
	low := text.LeastEqual(saysOther)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := cmp.Compare(a[i].place, b[j].place); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			p.Places++
			switch {
			case a[i].text == b[j].text:
				p.Same++
			case a[i].sketch.Equal(&b[j].sketch) < low:
				p.Differ++
			}
			i, j = i+1, j+1
		}
	}
}
