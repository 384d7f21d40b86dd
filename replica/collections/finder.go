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
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"mirrord/replica/text"
	"mirrord/replica/unionfind"
)

// Finder finds the pages that resemble one another and the directories that hold the same, of more pages than
// fit in memory. Pages are added one after the other, in the order of their numbers. Not for concurrent use.
// Data beyond its budget goes to the files of a Spill: 300 to 400 bytes a page. Beside the budget it
// takes 5 bytes a page (union-find and who is in it), about 40 a directory that has as many pages as must be
// shared (how many there are), and 4 MiB at most for joined pages.
type Finder struct {
	FindOptions
	budget   int
	spill    Spill
	progress func(phase string, done, of int) error

	pages    int
	words    int // pages with words
	digests  pile
	places   places
	text     sorter[textEntry]
	columns  bandColumns
	votes    dirVotes
	members  sorter[packedMember]
	room     room // of the members that are held
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

// textEntry is a page by its words.
type textEntry struct {
	text        uint64
	words, page uint32
}

func (a textEntry) compare(b textEntry) int {
	if a.text != b.text {
		return cmp.Compare(a.text, b.text)
	}
	return cmp.Compare(uint64(a.words)<<32|uint64(a.page), uint64(b.words)<<32|uint64(b.page))
}

// maxPages is how many pages have numbers.
const maxPages = min(math.MaxUint32, math.MaxInt)

const digestSize = 8 + text.Bins + 4 // on disk: fingerprint of the words, sketch, number of words

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
	f.digests, f.places = newPile(spill, m/8), places{pile: newPile(spill, m/16)}
	f.columns = newBandColumns(spill, m/8, f.tick)
	f.text = sorter[textEntry]{
		order: textOrder(),
		spill: spill,
		limit: m / 16,
		tick:  f.tick,
	}
	f.members = sorter[packedMember]{
		order: memberOrder(),
		spill: spill,
		limit: m / 4,
		tick:  f.tick,
	}
	f.room.piece = min(m/64, 256<<10)
	f.members.flushed = f.room.giveBack
	f.plain = sorter[vote]{
		order: voteOrder(),
		spill: spill,
		limit: m / 16,
		tick:  f.tick,
	}
	f.flat = sorter[vote]{
		order: voteOrder(),
		spill: spill,
		limit: m / 16,
		tick:  f.tick,
	}
	f.votes = newDirVotes(f.Votes, m/16/64)
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
	if err := f.places.add(a); err != nil {
		return err
	}
	var buf [digestSize]byte
	b := append(binary.LittleEndian.AppendUint64(buf[:0], d.Text), d.Sketch[:]...)
	b = binary.LittleEndian.AppendUint32(b, d.Words)
	if err := errors.Join(f.digests.add(b), f.columns.add(&d.Sketch)); err != nil || d.Words == 0 {
		return err
	}
	f.words++
	return f.text.add(textEntry{d.Text, d.Words, page})
}

// FoundPairs are pairs of directories.
type FoundPairs struct {
	Copies  []DirPair // they hold the same, the largest first
	Related []DirPair // they have the same places, and say something else at many of them: translations
	Joined  []Joined  // what the one says on many pages the other says on fewer, or on one
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
		func() error { return f.count(&f.plain, rootsOf) },
		func() error { return f.count(&f.flat, nil) },
		func() (err error) {
			found, err = f.samePlaces(f.votes.pairs())
			return err
		},
		func() (err error) {
			found.Joined, err = f.joined(found)
			return err
		},
		f.digests.close,
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
	return errors.Join(f.digests.close(), f.places.pile.close(), f.columns.close(), f.text.close(),
		f.members.close(), f.plain.close(), f.flat.close())
}

// begin says that a phase begins, of so many steps.
func (f *Finder) begin(phase string, of int) error {
	f.phase, f.done, f.of, f.since = phase, 0, of, 0
	return f.progress(phase, 0, of)
}

// tellEvery is after how many small steps progress is reported.
const tellEvery = 1 << 17

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
	err := inTurn(func() error {
		return f.begin("compare words", f.words)
	}, f.digests.settle, f.places.pile.settle, f.columns.settle)
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
	j := joiner{
		digests: &f.digests,
		sets:    g.Sets,
		least:   text.LeastEqual(f.Group.Resemblance),
		g:       &g,
		most:    f.Group.Representatives,
		tick:    f.tick,
	}
	j.limit = max(f.budget/8*3/windowSize, 16)
	b := bucketer{limit: max(f.budget/4/8, 16), pages: distinct}
	b.emit = func(sorted []uint64) error {
		return g.Sets.Mixed(sorted, &b.parents, j.add)
	}
	b.large = j.add
	for f.done = range text.Bands {
		keys, err := f.columns.band(f.done)
		if err != nil {
			return g, err
		}
		j.begin()
		if err := b.band(keys, f.words-g.Exact); err != nil {
			return g, err
		}
		if err := j.flush(); err != nil {
			return g, err
		}
	}
	return g, f.columns.close()
}

// sameText joins the pages of the same words and returns one of each.
func (f *Finder) sameText(g *Grouped) (distinct bitmap, err error) {
	distinct = newBitmap(f.pages)
	var first textEntry // of those of the same words
	for e, err := range f.text.all() {
		switch {
		case err != nil:
			return nil, err
		case e.text == first.text && e.words == first.words: // words are not 0
			g.Sets.Union(first.page, e.page)
			g.Exact++
		default:
			first = e
			distinct.add(int(e.page))
		}
		f.done++
		if err := f.tick(1); err != nil {
			return nil, err
		}
	}
	return distinct, f.text.close()
}

func textOrder() order[textEntry] {
	return order[textEntry]{
		key:     func(e textEntry) uint64 { return e.text },
		compare: textEntry.compare,
		size:    func(textEntry) int { return 2 * tripleSize },
		write:   func(b []byte, e textEntry) []byte { return appendTriple(b, e.text, e.words, e.page) },
		read: func(r *bufio.Reader) (textEntry, error) {
			text, words, page, err := takeTriple(r)
			return textEntry{text, words, page}, err
		},
	}
}

func voteOrder() order[vote] {
	return order[vote]{
		key:     func(v vote) uint64 { return v.key },
		compare: vote.compare,
		size:    func(vote) int { return 2 * tripleSize },
		write:   func(b []byte, v vote) []byte { return appendTriple(b, v.key, v.p, v.q) },
		read: func(r *bufio.Reader) (vote, error) {
			key, p, q, err := takeTriple(r)
			return vote{key, p, q}, err
		},
	}
}

// tripleSize is how many bytes a triple takes in a file.
const tripleSize = 16

func appendTriple(b []byte, key uint64, x, y uint32) []byte {
	b = binary.LittleEndian.AppendUint64(b, key)
	b = binary.LittleEndian.AppendUint32(b, x)
	return binary.LittleEndian.AppendUint32(b, y)
}

func takeTriple(r *bufio.Reader) (key uint64, x, y uint32, err error) {
	b, err := take(r, tripleSize)
	if err != nil {
		return 0, 0, 0, err
	}
	key = binary.LittleEndian.Uint64(b)
	x, y = binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])
	return key, x, y, nil
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
