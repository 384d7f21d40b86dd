package replica

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Finder finds what Find finds, of more pages than fit in memory: pages are added one after the other, in the order of their numbers. Not for
// concurrent use. What is more than its budget goes to the files of a Spill. Beside the budget it takes 5 bytes a page (union-find and
// who is in it), about 40 a directory (how many pages are below it), and what the largest group's pair of directories has of votes.
type Finder struct {
	o        FindOptions
	budget   int
	spill    Spill
	progress func(phase string, done, of int) error

	pages   int
	words   int // pages with words
	digests pile
	address pile
	starts  []int64 // where the address of every 64th page begins
	text    sorter[textEntry]
	bands   [bands]sorter[uint64]
	spare   []uint64
	votes   dirVotes
	members sorter[string]
	plain   sorter[vote]
	flat    sorter[vote]
	err     error
}

// FinderOptions are the rules of a Finder. The zero value finds what Find finds by default.
type FinderOptions struct {
	FindOptions
	Memory   int64                                     // bytes held before files are used; 0 means 1 GiB, at least 64 KiB
	Progress func(phase string, done, total int) error // is told every now and then; an error ends Find. nil: nobody is told
}

// textEntry is a page by its words.
type textEntry struct {
	text        uint64
	words, page uint32
}

func (a textEntry) compare(b textEntry) int {
	return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.words, b.words), cmp.Compare(a.page, b.page))
}

const (
	digestSize = 8 + Bins // on disk: fingerprint of the words, sketch
	startEvery = 64
)

// NewFinder returns a finder without pages. Close it.
func NewFinder(spill Spill, o FinderOptions) *Finder {
	if o.Memory <= 0 {
		o.Memory = 1 << 30
	}
	if o.Group.Resemblance <= 0 {
		o.Group.Resemblance = 0.5
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) error { return nil }
	}
	m := int(min(max(o.Memory, 64<<10), math.MaxInt/2))
	f := &Finder{o: o.FindOptions, budget: m, spill: spill, progress: o.Progress}
	f.o.Votes = f.o.Votes.withDefaults()
	f.o.Group = f.o.Group.withDefaults()
	f.digests, f.address = pile{spill: spill, limit: m / 8}, pile{spill: spill, limit: m / 16}
	f.text = sorter[textEntry]{order: textOrder(), spill: spill, limit: m / 16}
	for i := range f.bands {
		f.bands[i] = sorter[uint64]{order: f.bandOrder(), spill: spill, limit: m / 4 / bands}
	}
	f.members = sorter[string]{order: memberOrder(), spill: spill, limit: m / 4}
	f.plain = sorter[vote]{order: voteOrder(), spill: spill, limit: m / 8}
	f.flat = sorter[vote]{order: voteOrder(), spill: spill, limit: m / 16}
	f.votes = newDirVotes(f.o.Votes)
	return f
}

// Pages is how many were added.
func (f *Finder) Pages() int { return f.pages }

// Add takes the next page.
func (f *Finder) Add(a Address, d Digest) error {
	if f.err != nil {
		return f.err
	}
	f.err = f.add(a, &d)
	return f.err
}

func (f *Finder) add(a Address, d *Digest) error {
	if f.pages == math.MaxUint32 {
		return errors.New("find replicas: more than 4 294 967 295 pages")
	}
	page := uint32(f.pages)
	if page%startEvery == 0 {
		f.starts = append(f.starts, f.address.len())
	}
	f.pages++
	f.votes.addTotal(a)
	var buf [512]byte
	b := binary.AppendUvarint(buf[:0], uint64(len(a.Host)))
	b = binary.AppendUvarint(append(b, a.Host...), uint64(len(a.Path)))
	if err := f.address.add(append(b, a.Path...)); err != nil {
		return err
	}
	b = append(binary.LittleEndian.AppendUint64(buf[:0], d.Text), d.Sketch[:]...)
	if err := f.digests.add(b); err != nil || d.Words == 0 {
		return err
	}
	f.words++
	if err := f.text.add(textEntry{d.Text, d.Words, page}); err != nil {
		return err
	}
	for i := range f.bands {
		if err := f.bands[i].add(uint64(binary.LittleEndian.Uint32(d.Sketch[i*bandRows:]))<<32 | uint64(page)); err != nil {
			return err
		}
	}
	return nil
}

// Find compares all pages that were added, once.
func (f *Finder) Find() (Grouped, []DirPair, error) {
	if f.err != nil {
		return Grouped{}, nil, f.err
	}
	f.err = errors.New("find replicas: it was done before")
	g, err := f.group()
	if err != nil {
		return Grouped{}, nil, fmt.Errorf("find replicas: %w", err)
	}
	if err := errors.Join(f.vote(g.Sets), f.count(&f.plain, f.votes.count), f.count(&f.flat, f.votes.countFlat)); err != nil {
		return Grouped{}, nil, fmt.Errorf("find replicas: %w", err)
	}
	return g, f.votes.pairs(), nil
}

// Close gives back the room of all files. It may be called at any time, and again.
func (f *Finder) Close() error {
	if f.err == nil {
		f.err = errors.New("find replicas: closed")
	}
	errs := []error{f.digests.close(), f.address.close(), f.text.close(), f.members.close(), f.plain.close(), f.flat.close()}
	for i := range f.bands {
		errs = append(errs, f.bands[i].close())
	}
	return errors.Join(errs...)
}

// group does what Group does, in the same order.
func (f *Finder) group() (Grouped, error) {
	g := Grouped{Sets: NewSets(f.pages), Pages: f.words}
	err := f.text.settle()
	for i := range f.bands {
		err = errors.Join(err, f.bands[i].settle())
	}
	if err != nil {
		return g, err
	}
	distinct := make([]uint64, f.pages/64+1)
	var first textEntry // of those of the same words
	for e, err := range f.text.all() {
		switch {
		case err != nil:
			return g, err
		case e.text == first.text && e.words == first.words:
			g.Sets.Union(first.page, e.page)
			g.Exact++
		default:
			first = e
			distinct[e.page/64] |= 1 << (e.page % 64)
		}
	}
	if err := f.text.close(); err != nil {
		return g, err
	}
	j := joiner{digests: &f.digests, sets: g.Sets, least: leastEqual(f.o.Group.Resemblance), g: &g, most: f.o.Group.Representatives}
	j.limit = max(f.budget/4/(8+4+Bins), 16)
	for i := range f.bands {
		if err := f.progress("compare pages", i, bands); err != nil {
			return g, err
		}
		j.begin()
		for e, err := range f.bands[i].all() {
			if err != nil {
				return g, err
			}
			if page := uint32(e); distinct[page/64]&(1<<(page%64)) != 0 {
				if err := j.add(e); err != nil {
					return g, err
				}
			}
		}
		if err := errors.Join(j.flush(), f.bands[i].close()); err != nil {
			return g, err
		}
	}
	f.spare = nil
	return g, nil
}

func textOrder() order[textEntry] {
	return order[textEntry]{
		sort: func(e []textEntry) []textEntry { slices.SortFunc(e, textEntry.compare); return e },
		less: func(a, b textEntry) bool { return a.compare(b) < 0 },
		size: 16,
		write: func(b []byte, e textEntry) []byte {
			b = binary.LittleEndian.AppendUint64(b, e.text)
			b = binary.LittleEndian.AppendUint32(b, e.words)
			return binary.LittleEndian.AppendUint32(b, e.page)
		},
		read: func(r *bufio.Reader) (textEntry, error) {
			b, err := take(r, 16)
			if err != nil {
				return textEntry{}, err
			}
			return textEntry{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}, nil
		},
	}
}

func voteOrder() order[vote] {
	return order[vote]{
		sort: func(v []vote) []vote { slices.SortFunc(v, vote.compare); return v },
		less: func(a, b vote) bool { return a.compare(b) < 0 },
		size: 16,
		write: func(b []byte, v vote) []byte {
			b = binary.LittleEndian.AppendUint64(b, v.key)
			b = binary.LittleEndian.AppendUint32(b, v.p)
			return binary.LittleEndian.AppendUint32(b, v.q)
		},
		read: func(r *bufio.Reader) (vote, error) {
			b, err := take(r, 16)
			if err != nil {
				return vote{}, err
			}
			return vote{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}, nil
		},
	}
}

// bandOrder is by the bytes of a band, then by page: pages are added in ascending order, and the sort keeps it.
func (f *Finder) bandOrder() order[uint64] {
	return order[uint64]{
		sort: func(e []uint64) []uint64 {
			if len(f.spare) < len(e) {
				f.spare = make([]uint64, len(e))
			}
			return sortHigh(e, f.spare)
		},
		less:  func(a, b uint64) bool { return a < b },
		size:  8,
		write: binary.LittleEndian.AppendUint64,
		read: func(r *bufio.Reader) (uint64, error) {
			b, err := take(r, 8)
			if err != nil {
				return 0, err
			}
			return binary.LittleEndian.Uint64(b), nil
		},
	}
}

// take returns the next n bytes until the next call. io.EOF at the end, io.ErrUnexpectedEOF within a record.
func take(r *bufio.Reader, n int) ([]byte, error) {
	b, err := r.Peek(n)
	if err != nil {
		if len(b) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	_, err = r.Discard(n)
	return b, err
}

// sortHigh sorts entries by their upper halves and keeps the order of equal ones: a radix sort. Either slice is the result, the other is
// overwritten.
func sortHigh(entries, spare []uint64) []uint64 {
	const bits, mask = 11, 1<<11 - 1
	if len(entries) < 1024 {
		slices.SortStableFunc(entries, func(a, b uint64) int {
			switch a, b = a>>32, b>>32; {
			case a < b:
				return -1
			case a > b:
				return 1
			}
			return 0
		})
		return entries
	}
	var count [3][mask + 1]uint32
	for _, e := range entries {
		count[0][e>>32&mask]++
		count[1][e>>(32+bits)&mask]++
		count[2][e>>(32+2*bits)]++
	}
	from, to := entries, spare[:len(entries)]
	for pass := range count {
		at := uint32(0)
		for i, n := range count[pass] {
			count[pass][i], at = at, at+n
		}
		shift := 32 + pass*bits
		for _, e := range from {
			place := &count[pass][e>>shift&mask]
			to[*place] = e
			*place++
		}
		from, to = to, from
	}
	return from
}
