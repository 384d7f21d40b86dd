// SPDX-License-Identifier: Apache-2.0

// Package collections finds collections of pages that lie in several places.
//
//   - A [Finder] finds all pages that resemble one another (banded candidates, each verified, joined by
//     union-find), and by the votes of these pages the directories that hold the same, with bounded memory
//     and the files of a [Spill]. [Clusters] joins the directories.
//
// Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval, the chapter on crawling
// (union-find). testing/lab/linked has the method of Cho, Shivakumar and Garcia-Molina.
package collections

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// Finder finds the pages that resemble one another and the directories that hold the same, of more pages than
// fit in memory. Pages are added one after the other, in the order of their numbers. Not for concurrent use.
// Data beyond its budget goes to the files of a Spill: 220 to 320 bytes a page. Beside the budget it
// takes 5 bytes a page (union-find and who is in it), about 40 a directory that has as many pages as must be
// shared (how many there are), and 16 a page that the largest pair of directories shares.
type Finder struct {
	FindOptions
	budget   int
	spill    Spill
	progress func(phase string, done, of int) error

	pages    int
	words    int  // pages with words
	records  pile // of pageSize bytes
	names    pile // hosts and paths
	record   []byte
	text     sorter[vote] // pages by their words and the number of these
	votes    dirVotes
	members  sorter[packedMember]
	plain    sorter[vote]
	flat     sorter[vote]
	phase    string
	done, of int // of the phase
	since    int // steps since progress was told
	err      error
}

// FindOptions are the rules of a Finder. The zero value is what was measured in docs/replicas.md.
type FindOptions struct {
	Group GroupOptions
	Votes Votes
}

// FinderOptions are the rules of a Finder and its budget. The zero value is the default.
type FinderOptions struct {
	FindOptions
	Memory int64 // bytes held before files are used; 0 means 1 GiB, at least 64 KiB

	// Progress is called when a phase begins (much of what was held for the one before is let go then: the
	// collector may be run, or else it waits for as much again), and many times a second, so that a context may
	// be checked. An error ends Find. It may be nil.
	Progress func(phase string, done, total int) error
}

// maxPages is how many pages have numbers.
const maxPages = min(math.MaxUint32, math.MaxInt)

// NewFinder returns a finder without pages. Close it.
func NewFinder(spill Spill, o FinderOptions) *Finder {
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) error { return nil }
	}
	m := int(min(max(o.Memory, 64<<10), math.MaxInt/2))
	f := &Finder{
		FindOptions: o.FindOptions,
		budget:      m,
		spill:       spill,
		progress:    o.Progress,
	}
	f.Votes = f.Votes.withDefaults()
	f.Group = f.Group.withDefaults()
	f.records, f.names = pile{spill: spill, limit: m / 8}, pile{spill: spill, limit: m / 16}
	f.text = newSorter(voteOrder(), spill, m/16, f.tick)
	f.members = newSorter(memberOrder(), spill, m/4, f.tick)
	f.plain = newSorter(voteOrder(), spill, m/16, f.tick)
	f.flat = newSorter(voteOrder(), spill, m/16, f.tick)
	f.votes = newDirVotes(f.Votes, m/16/64)
	f.votes.at = f.address
	return f
}

// Add takes the next page.
func (f *Finder) Add(a Address, d text.ContentDigest) error {
	if f.err != nil {
		return f.err
	}
	f.err = f.add(a, &d)
	return f.err
}

func (f *Finder) add(a Address, d *text.ContentDigest) error {
	if f.pages == maxPages {
		return fmt.Errorf("find replicas: more than %d pages", maxPages)
	}
	page := uint32(f.pages)
	f.pages++
	f.votes.totals.add(a)
	if err := f.keepPage(a, d); err != nil || d.Words == 0 {
		return err
	}
	f.words++
	return f.text.add(vote{d.Text, d.Words, page})
}

// FoundPairs are pairs of directories.
type FoundPairs struct {
	Copies  []DirPair // they hold the same, the largest first
	Related []DirPair // they have the same places, and say something else at many of them: translations
}

// Find compares all pages that were added, once.
func (f *Finder) Find() (Grouped, FoundPairs, error) {
	if f.err != nil {
		return Grouped{}, FoundPairs{}, f.err
	}
	f.err = errors.New("find replicas: it was done before")
	g, err := f.group()
	if err != nil {
		return Grouped{}, FoundPairs{}, fmt.Errorf("find replicas: %w", err)
	}
	var found FoundPairs
	err = inTurn(
		func() error { return f.vote(g.Sets) },
		func() error { return f.count(&f.plain, f.votes.count) },
		func() error { return f.count(&f.flat, f.votes.countFlat) },
		func() (err error) {
			found, err = f.samePlaces(f.votes.pairs())
			return err
		},
		f.records.close,
	)
	if err != nil {
		return Grouped{}, FoundPairs{}, fmt.Errorf("find replicas: %w", err)
	}
	return g, found, nil
}

// Close gives back the room of all files. It may be called at any time, and again.
func (f *Finder) Close() error {
	if f.err == nil {
		f.err = errors.New("find replicas: closed")
	}
	return errors.Join(f.records.close(), f.names.close(), f.text.close(), f.members.close(), f.plain.close(),
		f.flat.close())
}

// begin says that a phase begins, of so many steps.
func (f *Finder) begin(phase string, of int) error {
	f.phase, f.done, f.of, f.since = phase, 0, of, 0
	return f.progress(phase, 0, of)
}

// tellEvery is after how many small steps progress is reported.
const tellEvery = 1 << 16

// tick says that n more small steps are done.
func (f *Finder) tick(n int) error {
	if f.since += n; f.since < tellEvery || f.phase == "" {
		return nil
	}
	f.since = 0
	return f.progress(f.phase, f.done, f.of)
}

// group joins the pages that resemble one another, and those that resemble these. Pages without words stay
// alone. The time is in proportion to the pages, regardless of their content: pages of the same words count
// once, and the pages of a bucket are compared with a few of them.
func (f *Finder) group() (Grouped, error) {
	g := Grouped{Sets: unionfind.New(f.pages), Pages: f.words}
	err := errors.Join(f.begin("compare words", f.words), inTurn(f.records.settle, f.names.settle))
	if err != nil {
		return g, err
	}
	distinct, err := f.sameText(&g)
	if err != nil {
		return g, err
	}
	if err := f.begin("compare pages", text.Bands); err != nil {
		return g, err
	}
	var entries []uint64
	least := text.LeastEqual(f.Group.Resemblance)
	for f.done = range text.Bands {
		// Entries that are too many at a time are taken by ranges of keys: all pages of one key are held.
		ranges := uint64(8*f.words/(f.budget/4) + 1)
		for part := range ranges {
			if entries, err = f.entries(entries[:0], distinct, part, ranges); err != nil {
				return g, err
			}
			for bucket := range runs(entries, func(a, b uint64) bool { return a>>32 == b>>32 }) {
				if err := f.join(&g, bucket, least); err != nil {
					return g, err
				}
			}
		}
	}
	return g, nil
}

// entries are the pages of one of so many ranges of keys of a band, sorted, each behind its key.
func (f *Finder) entries(to []uint64, pages []bool, part, ranges uint64) ([]uint64, error) {
	to = slices.Grow(to, min(f.words, f.budget/4/8))
	records := f.records.reader()
	for page := range f.pages {
		record, err := take(records, pageSize)
		if err != nil {
			return nil, err
		}
		sketch := sketchOf(record)
		key := uint64(binary.LittleEndian.Uint32(sketch[f.done*text.BandRows:]))
		if pages[page] && key*ranges>>32 == part {
			to = append(to, key<<32|uint64(page))
		}
		if err := f.tick(1); err != nil {
			return nil, err
		}
	}
	slices.Sort(to)
	return to, nil
}

// mostRepresentatives is how many of a bucket there are at most.
const mostRepresentatives = 64

type representative struct {
	page   uint32
	sketch text.Sketch
}

// join compares the pages of a bucket with its representatives: the first page, and each that resembles no
// representative before it.
func (f *Finder) join(g *Grouped, bucket []uint64, least int) error {
	first := g.Sets.Find(uint32(bucket[0]))
	if !slices.ContainsFunc(bucket, func(e uint64) bool { return g.Sets.Find(uint32(e)) != first }) {
		return nil
	}
	var all []representative
	for _, e := range bucket {
		own, alike := representative{page: uint32(e)}, false
		if _, err := f.records.ReadAt(own.sketch[:], int64(own.page)*pageSize+8); err != nil {
			return err
		}
		for i := range all {
			if g.Sets.Find(all[i].page) == g.Sets.Find(own.page) {
				alike = true
				break
			}
			g.Candidates++
			if all[i].sketch.Equal(&own.sketch) >= least {
				g.Sets.Union(all[i].page, own.page)
				g.Near++
				alike = true
			}
		}
		if !alike && len(all) < min(f.Group.Representatives, mostRepresentatives) {
			all = append(all, own)
		}
		if err := f.tick(1); err != nil {
			return err
		}
	}
	return nil
}

// sameText joins the pages of the same words and returns one of each.
func (f *Finder) sameText(g *Grouped) (distinct []bool, err error) {
	distinct = make([]bool, f.pages)
	var first vote // of those of the same words, whose number is not 0
	for e, err := range f.text.all() {
		switch {
		case err != nil:
			return nil, err
		case e.key == first.key && e.p == first.p:
			g.Sets.Union(first.q, e.q)
			g.Exact++
		default:
			first = e
			distinct[e.q] = true
		}
		f.done++
	}
	return distinct, f.text.close()
}

// count looks at the votes of a sorter, all that have a key at a time: 16 bytes for each of them.
func (f *Finder) count(votes *sorter[vote], look func([]vote)) error {
	var same []vote
	for v, err := range votes.all() {
		if err == nil && len(same) > 0 && same[0].key != v.key {
			look(same)
			same, err = same[:0], f.votes.err
		}
		if err != nil {
			return err
		}
		same = append(same, v)
	}
	if len(same) > 0 {
		look(same)
	}
	return errors.Join(f.votes.err, votes.close())
}

func voteOrder() order[vote] {
	return order[vote]{
		compare: bytes.Compare,
		write: func(b []byte, v vote) []byte {
			b = binary.BigEndian.AppendUint64(b, v.key)
			b = binary.BigEndian.AppendUint32(b, v.p)
			return binary.BigEndian.AppendUint32(b, v.q)
		},
		read: func(b []byte) vote {
			return vote{binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])}
		},
	}
}

// runs are the parts of a list whose neighbours are the same.
func runs[T any](list []T, same func(a, b T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for from, to := 0, 1; from < len(list); to++ {
			if to < len(list) && same(list[from], list[to]) {
				continue
			}
			if !yield(list[from:to]) {
				return
			}
			from = to
		}
	}
}

// inTurn takes one step after the other, up to the first error.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
