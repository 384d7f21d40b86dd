package replica

import (
	"cmp"
	"slices"
	"strings"
)

// FindOptions are the rules of Find. The zero value is what was measured in docs/replicas.md.
type FindOptions struct {
	Group GroupOptions // Resemblance 0 means 0.5 here: votes are verified one by one
	Votes Votes

	Alike float64 // estimated resemblance from which two pages are the same wherever they lie; 0 means 0.9
}

// Found is what Find found.
type Found struct {
	Grouped Grouped
	Pairs   []DirPair // the largest first

	pages   []Address
	digests []Digest
	related map[Address][]Address // directories that a directory is paired with
	known   map[Address]struct{}  // all pages, once somebody asks
	texts   map[hostText]struct{} // and what they say
	least   int                   // equal bytes of two sketches that are alike
	renamed int                   // …, of pages with other names in directories that hold the same
	alike   int                   // …, wherever they lie
}

// Find finds the pages that resemble one another and the directories that hold the same. pages and digests are by the same number. It is
// not for concurrent use; it reads pages and digests as long as what it returned is used.
func Find(pages []Address, digests []Digest, o FindOptions) *Found {
	if o.Group.Resemblance <= 0 {
		o.Group.Resemblance = 0.5
	}
	if o.Alike <= 0 {
		o.Alike = 0.9
	}
	o.Votes = o.Votes.withDefaults()
	f := &Found{pages: pages, digests: digests, related: map[Address][]Address{}, least: leastEqual(o.Votes.Resemblance), renamed: leastEqual(0.85), alike: leastEqual(o.Alike)}
	f.Grouped = Group(digests, o.Group)
	f.Pairs = DirPairs(pages, digests, f.Grouped.Sets, o.Votes)
	for _, p := range f.Pairs {
		f.related[p.A] = append(f.related[p.A], p.B)
		f.related[p.B] = append(f.related[p.B], p.A)
	}
	return f
}

// Same says whether two pages are the same document. They are when they have the same words. Of others it depends on where they lie. In
// directories that hold the same they must have the same place, and be alike, or one of them must hold most of what the other says. Where neither
// has a counterpart in its place, files have other names there: they must be much alike. Elsewhere they must be very much alike, and on one host,
// or where one of them has a counterpart, of one name. What has the same words as some page of the other's host is none but that, though made of one
// template with the other.
func (f *Found) Same(p, q uint32) bool {
	a, b := &f.digests[p], &f.digests[q]
	if a.Words == 0 || b.Words == 0 {
		return false
	}
	if a.Text == b.Text {
		return true
	}
	n := a.Sketch.equal(&b.Sketch)
	if n < leastInside {
		return false
	}
	at, there := f.pages[p], f.pages[q]
	place := f.places(at, there)
	switch {
	case place == samePlace:
		return n >= f.least || containment(a, b, n) >= inside
	case n < f.renamed || n < f.alike && place != renamedPlace:
		return false
	case (place == otherPlace || at.Host == there.Host) && !sameEnds(at.Path, there.Path):
		return false
	}
	return !f.has(there.Host, a.Text) && !f.has(at.Host, b.Text)
}

// A page is in another one when the sketches have as many equal bytes and this share of its shingles is in the other.
const (
	leastInside = Bins / 5
	inside      = 0.8
)

// containment estimates the share of the shorter page's shingles that the other has (Broder, 1997), from the equal bytes of their sketches and
// their numbers of words.
func containment(a, b *Digest, equal int) float64 {
	r := estimate(equal)
	return r / (1 + r) * (1 + float64(max(a.Words, b.Words))/float64(min(a.Words, b.Words)))
}

// placing is where two pages lie, as to directories that hold the same.
type placing uint8

const (
	noPlace      placing = iota // not in such directories
	samePlace                   // their paths below these are the same
	otherPlace                  // one of them has a counterpart there
	renamedPlace                // none has
)

func (f *Found) places(a, b Address) placing {
	out := noPlace
	for dir := dirOf(a.Path); ; dir = dirOf(dir[:len(dir)-1]) {
		for _, other := range f.related[Address{a.Host, dir}] {
			there, ok := strings.CutPrefix(b.Path, other.Path)
			if !ok || other.Host != b.Host {
				continue
			}
			here := a.Path[len(dir):]
			switch {
			case sameRelative(here, there):
				return samePlace
			case f.lies(Address{other.Host, other.Path + here}) || f.lies(Address{a.Host, dir + there}):
				out = otherPlace
			case out == noPlace:
				out = renamedPlace
			}
		}
		if len(dir) <= 1 {
			return out
		}
	}
}

// lies says whether there is a page.
func (f *Found) lies(a Address) bool {
	f.index()
	_, ok := f.known[a]
	return ok
}

// has says whether some page of a host has the words of that fingerprint.
func (f *Found) has(host string, text uint64) bool {
	f.index()
	_, ok := f.texts[hostText{host, text}]
	return ok
}

type hostText struct {
	host string
	text uint64
}

func (f *Found) index() {
	if f.known != nil {
		return
	}
	f.known, f.texts = make(map[Address]struct{}, len(f.pages)), make(map[hostText]struct{}, len(f.pages))
	for i, a := range f.pages {
		f.known[a], f.texts[hostText{a.Host, f.digests[i].Text}] = struct{}{}, struct{}{}
	}
}

// Elsewhere lists where a page should lie in the directories that hold the same as one above it, nearest directory first. Whether it does
// lie there is not said.
func (f *Found) Elsewhere(a Address) []Address {
	var out []Address
	for dir := dirOf(a.Path); ; dir = dirOf(dir[:len(dir)-1]) {
		for _, other := range f.related[Address{a.Host, dir}] {
			if there := (Address{other.Host, other.Path + a.Path[len(dir):]}); !slices.Contains(out, there) {
				out = append(out, there)
			}
		}
		if len(dir) <= 1 {
			return out
		}
	}
}

// Copy is one of the places of a collection.
type Copy struct {
	Address
	Pages int     // below it
	Share float64 // of the pages of the largest copy, at most 1: under 0.9 it is a partial mirror
}

// DirCluster is a collection and where it lies.
type DirCluster struct {
	Copies []Copy    // the largest first
	Pairs  []DirPair // the evidence
}

// Cardinality is the number of copies, Size the number of pages of the largest.
func (c *DirCluster) Cardinality() int { return len(c.Copies) }

// Size is the number of pages of the largest copy.
func (c *DirCluster) Size() int { return c.Copies[0].Pages }

// Clusters joins the directories that hold the same, those of most copies first.
func (f *Found) Clusters() []DirCluster { return Clusters(f.Pairs) }

// Clusters joins directories that hold the same, those of most copies first.
func Clusters(pairs []DirPair) []DirCluster {
	number := map[Address]uint32{}
	var dirs []Copy
	id := func(a Address, pages int) uint32 {
		n, ok := number[a]
		if !ok {
			n = uint32(len(dirs))
			number[a] = n
			dirs = append(dirs, Copy{Address: a, Pages: pages})
		}
		return n
	}
	for _, p := range pairs {
		id(p.A, p.OfA)
		id(p.B, p.OfB)
	}
	sets := NewSets(len(dirs))
	for _, p := range pairs {
		sets.Union(number[p.A], number[p.B])
	}
	at := map[uint32]int{}
	var out []DirCluster
	for root, members := range sets.All(2) {
		at[root] = len(out)
		c := DirCluster{}
		for _, m := range members {
			c.Copies = append(c.Copies, dirs[m])
		}
		slices.SortFunc(c.Copies, func(a, b Copy) int { return cmp.Or(cmp.Compare(b.Pages, a.Pages), a.Address.compare(b.Address)) })
		for i := range c.Copies {
			c.Copies[i].Share = float64(c.Copies[i].Pages) / float64(c.Copies[0].Pages)
		}
		out = append(out, c)
	}
	for _, p := range pairs {
		c := &out[at[sets.Find(number[p.A])]]
		c.Pairs = append(c.Pairs, p)
	}
	slices.SortFunc(out, func(a, b DirCluster) int {
		return cmp.Or(cmp.Compare(len(b.Copies), len(a.Copies)), cmp.Compare(b.Size(), a.Size()), a.Copies[0].Address.compare(b.Copies[0].Address))
	})
	return out
}

// String writes a place as an address without its protocol.
func (a Address) String() string { return a.Host + "/" + strings.TrimPrefix(a.Path, "/") }
