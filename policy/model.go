package policy

import (
	"fmt"
	"iter"
	"math"
	"path"
	"strings"
)

// Dir is the number of a directory. Root is the site's.
type Dir uint32

// Root is the directory that always exists.
const Root Dir = 0

// ID is the number of a unit, in the order of Add, from 0.
type ID uint32

// Kind is what a unit is. Kinds of one directory change at different rates.
type Kind uint8

// The kinds.
const (
	Page    Kind = iota // a document
	Asset               // what pages need or link to that is no document
	Listing             // the names directly in a directory: one request; the unit's directory is the one that it lists
	kinds
)

// KindOf tells pages from assets by the extension of a name; what has none, or one nobody knows, is a page.
func KindOf(name string) Kind {
	switch strings.ToLower(path.Ext(name)) {
	case ".css", ".js", ".mjs", ".map", ".json", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".ico", ".webp", ".avif", ".bmp", ".tif", ".tiff",
		".woff", ".woff2", ".ttf", ".eot", ".otf", ".pdf", ".ps", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".jar", ".tar", ".mp3", ".mp4", ".webm",
		".ogg", ".wasm", ".exe", ".dmg", ".iso", ".asc", ".sig", ".md5", ".sha1", ".sha256", ".sha512":
		return Asset
	}
	return Page
}

// Span is a run of unit numbers, both ends included.
type Span struct{ First, Last uint32 }

// Spans makes a set of another package's spans.
func Spans[S ~struct{ First, Last uint32 }](s []S) []Span {
	out := make([]Span, len(s))
	for i := range s {
		out[i] = Span(s[i])
	}
	return out
}

// Run is what one run observed: ascending sets of unit numbers. What stands in none was not observed. Numbers beyond the units of the model are
// ignored.
type Run struct {
	Time    int64  // Unix seconds; 0: one usual interval after the run before
	Asked   []Span // answered
	Spared  []Span // unchanged by evidence
	Changed []Span // with another content than before; a listing: that named other entries than before
	Entered []Span // not there before
	Left    []Span // not there any more
}

// Model is what all runs so far have observed of a site.
type Model struct {
	parent []Dir // by directory; the root's is itself

	// By unit.
	dir  []Dir
	kind []Kind
	in   []bool  // it exists, as far as is known
	last []int32 // run in which it was last observed; 0: never

	runs int // that were learned
}

// NewModel returns a model that knows the root and nothing else.
func NewModel() *Model { return &Model{parent: []Dir{Root}} }

// AddDir adds a directory below a known one.
func (m *Model) AddDir(parent Dir) (Dir, error) {
	if int(parent) >= len(m.parent) {
		return 0, fmt.Errorf("add directory below %d of %d: no such directory", parent, len(m.parent))
	}
	if len(m.parent) == math.MaxUint32 {
		return 0, fmt.Errorf("add directory: more than %d", len(m.parent))
	}
	m.parent = append(m.parent, parent)
	return Dir(len(m.parent) - 1), nil
}

// Add adds a unit. in says whether it is part of the mirror as far as is known before the first run that is learned; a run that it enters or
// leaves changes that.
func (m *Model) Add(d Dir, k Kind, in bool) (ID, error) {
	if int(d) >= len(m.parent) {
		return 0, fmt.Errorf("add unit in directory %d of %d: no such directory", d, len(m.parent))
	}
	if k >= kinds {
		return 0, fmt.Errorf("add unit: no kind %d", k)
	}
	m.dir, m.kind, m.in, m.last = append(m.dir, d), append(m.kind, k), append(m.in, in), append(m.last, 0)
	return ID(len(m.dir) - 1), nil
}

// SetIn says whether a unit is part of the mirror now, whatever the runs that were learned said.
func (m *Model) SetIn(u ID, in bool) { m.in[u] = in }

// In reports whether a unit is part of the mirror, as far as is known.
func (m *Model) In(u ID) bool { return int(u) < len(m.in) && m.in[u] }

// Runs is how many runs were learned.
func (m *Model) Runs() int { return m.runs }

// Units is how many units there are, gone ones included; Dirs is how many directories.
func (m *Model) Units() int { return len(m.dir) }

// Dirs is how many directories there are.
func (m *Model) Dirs() int { return len(m.parent) }

// Learn takes what a run has observed. Runs come oldest first. A run that observed nothing teaches nothing but that time went by.
func (m *Model) Learn(r *Run) {
	m.runs++
	for _, s := range [...][]Span{r.Asked, r.Spared, r.Changed} {
		for u := range m.each(s) {
			m.last[u] = int32(m.runs)
		}
	}
	for u := range m.each(r.Entered) {
		m.last[u], m.in[u] = int32(m.runs), true
	}
	for u := range m.each(r.Left) {
		m.last[u], m.in[u] = int32(m.runs), false
	}
}

// each yields the units of a set that exist.
func (m *Model) each(s []Span) iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for _, x := range s {
			for u := uint64(x.First); u <= uint64(x.Last) && u < uint64(len(m.dir)); u++ {
				if !yield(ID(u)) {
					return
				}
			}
		}
	}
}
