// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"fmt"
	"math"
	mathbits "math/bits"
	"path"
	"strings"
)

// Dir is the number of a directory. Root is the site's.
type Dir uint32

// Root is the directory that always exists.
const Root Dir = 0

// ID is the number of a unit, in the order in which they were added, from 0.
type ID uint32

// Kind is what a unit is. Kinds of one directory change at different rates.
type Kind uint8

// The kinds.
const (
	Page  Kind = iota // a document
	Asset             // what pages need or link to that is no document
	// the names directly in a directory: one request; the unit's directory is the one that it lists
	Listing
	kinds
)

// assets are the extensions of Asset.
const assets = ".css .js .mjs .map .json .png .jpg .jpeg .gif .svg .ico .webp .avif .bmp .tif " +
	".tiff .woff .woff2 .ttf .eot .otf .pdf .ps .zip .gz .tgz .bz2 .xz .zst .jar .tar " +
	".mp3 .mp4 .webm .ogg .wasm .exe .dmg .iso .asc .sig .md5 .sha1 .sha256 .sha512 "

// KindOf tells pages from assets by the extension of a name; what has none, or an unknown one, is a page.
func KindOf(name string) Kind {
	ext := strings.ToLower(path.Ext(name))
	if ext != "" && strings.Contains(assets, ext+" ") {
		return Asset
	}
	return Page
}

// IsIndex reports whether a name is that of a directory's own page.
func IsIndex(name string) bool {
	return name == "" || strings.EqualFold(strings.TrimSuffix(name, path.Ext(name)), "index")
}

// Model is what all runs so far have observed of a site: 17 bytes for each unit, 16 or 24 for each story that
// some share, 64 for each directory.
type Model struct {
	dirs []directory

	// By unit.
	dir     []Dir
	flags   []flags
	name    []uint32 // of its last path segment, a hash; 0: none
	exposed []uint32 // number in exposures
	tale    []uint32 // number in tales

	exposures stories[exposure]
	tales     stories[edits]
	clock     clock
	times     []int64 // by run, from 1: Unix seconds; 0: unknown
	runs      int     // that were learned
	seen      int32   // the last of them that observed anything; 0: none

	changes []float64 // by run, from 1: changes, pages that came or went among them
	waited  []float64 // by run, from 1: the seconds that these may have waited

	touched []Dir // scratch of a lesson
}

// directory is the record of a directory and all that is below it.
type directory struct {
	parent Dir
	key    uint32  // of its path, see Model.Key
	run    int32   // the last run that observed anything in it
	bits   bits    // what that run did
	since  int32   // run as of which act and obs are discounted
	act    float32 // runs that found a change in it,
	obs    float32 // of so many that found one in its parent and observed it
	recent uint64  // runs that found a change in it: bit i is run-i
	tide   uint64  // runs in which much of it changed, or of one above it: bit i is run-i
	finds  float32 // pages that came or went directly in it,
	times  float32 // in so many runs
	count  uint32  // of them in the run that is being learned
	looked uint32  // units in it and below it that the run being learned observed,
	moved  uint32  // and of which it found another content
}

type bits uint8

const (
	observed bits = 1 << iota
	active
	born // no run before had observed anything in it
)

type flags uint8

const (
	kindMask flags = 3
	present  flags = 4
	linksNew flags = 8  // it named unknown URLs
	vouched  flags = 16 // see Vouch
	later    flags = 32 // it came after the first run,
	inBulk   flags = 64 // as one of many
)

// NewModel returns a model that knows the root and nothing else.
func NewModel() *Model {
	return &Model{
		dirs:      make([]directory, 1),
		exposures: newStories[exposure](),
		tales:     newStories[edits](),
		clock:     newClock(),
		times:     []int64{0},
		changes:   []float64{0},
		waited:    []float64{0},
	}
}

// NewReordered returns a model with another order of units that nothing else distinguishes. What plans come
// to is to depend on it as little as can be.
func NewReordered(order uint32) *Model {
	m := NewModel()
	m.dirs[Root].key = order
	return m
}

// AddDirNamed adds a directory below a known one with a name: the last of its path; "": without one. A caller
// that numbers directories and units in the order of discovery names them all: then the plan does not depend
// on that order.
func (m *Model) AddDirNamed(parent Dir, name string) (Dir, error) {
	if int(parent) >= len(m.dirs) {
		return 0, fmt.Errorf("add directory below %d of %d: no such directory", parent, len(m.dirs))
	}
	if uint64(len(m.dirs)) == math.MaxUint32 {
		return 0, fmt.Errorf("add directory: more than %d", len(m.dirs))
	}
	m.dirs = append(m.dirs, directory{parent: parent, key: keyOf(m.dirs[parent].key, name, len(m.dirs))})
	return Dir(len(m.dirs) - 1), nil
}

// AddNamed adds a unit with a name: its last path segment; "": without one. Units of one name often change
// together, wherever they lie. in says whether it is part of the mirror as far as is known before the first
// run that is learned; a run that it enters or leaves changes that.
func (m *Model) AddNamed(d Dir, k Kind, name string, in bool) (ID, error) {
	if int(d) >= len(m.dirs) {
		return 0, fmt.Errorf("add unit in directory %d of %d: no such directory", d, len(m.dirs))
	}
	if k >= kinds {
		return 0, fmt.Errorf("add unit: no kind %d", k)
	}
	if len(m.dir) == math.MaxInt32 {
		return 0, fmt.Errorf("add unit: more than %d", len(m.dir))
	}
	f := flags(k)
	if in {
		f |= present
	}
	m.dir, m.flags = append(m.dir, d), append(m.flags, f)
	m.name, m.exposed, m.tale = append(m.name, hash(name)), append(m.exposed, 0), append(m.tale, 0)
	return ID(len(m.dir) - 1), nil
}

// Grow allocates for so many more units.
func (m *Model) Grow(units int) {
	n := len(m.dir) + units
	m.dir, m.flags = append(make([]Dir, 0, n), m.dir...), append(make([]flags, 0, n), m.flags...)
	for _, column := range [...]*[]uint32{&m.name, &m.exposed, &m.tale} {
		*column = append(make([]uint32, 0, n), *column...)
	}
}

// hash is FNV-1a of a name; 0 for none.
func hash(s string) uint32 {
	if s == "" {
		return 0
	}
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return max(h, 1)
}

// keyOf is the key of what has a name below what has another key; without a name it is that of a number.
func keyOf(above uint32, name string, n int) uint32 {
	h := hash(name)
	if h == 0 {
		h = uint32(n)
	}
	return mix(above, h)
}

// mix makes one key of two.
func mix(above, name uint32) uint32 {
	return mathbits.RotateLeft32(above, 5)*2654435761 ^ name*2246822519
}

// Key is a number by which units of equal worth are ordered and looks are spread over runs: a hash of the
// path, so that neither depends on the order in which units were added. A listing has that of its directory.
func (m *Model) Key(u ID) uint32 {
	x := &m.dirs[m.dir[u]]
	switch {
	case m.name[u] != 0:
		return mix(x.key, m.name[u])
	case m.kind(u) == Listing:
		return mix(x.key, 1)
	}
	return mix(x.key, uint32(u))
}

// ByKey orders units that nothing else distinguishes.
func (m *Model) ByKey(u, v ID) int {
	return cmp.Or(cmp.Compare(m.Key(u), m.Key(v)), cmp.Compare(u, v))
}

// SetIn says whether a unit is part of the mirror now, regardless of the runs learned.
func (m *Model) SetIn(u ID, in bool) {
	if in {
		m.flags[u] |= present
	} else {
		m.flags[u] &^= present
	}
}

// Vouch says that a listing of its directory would tell whether a unit has changed. The plan of adaptive asks
// the listing, when that pays for all that it tells of, and such a unit only after the plan was told of the
// listing, which what it tells of should follow before Next is called.
func (m *Model) Vouch(u ID) { m.flags[u] |= vouched }

// In reports whether a unit is part of the mirror, as far as is known.
func (m *Model) In(u ID) bool { return int(u) < len(m.flags) && m.flags[u]&present != 0 }

// DirOf is the directory of a unit.
func (m *Model) DirOf(u ID) Dir { return m.dir[u] }

func (m *Model) kind(u ID) Kind { return Kind(m.flags[u] & kindMask) }

// age is how many seconds before now a unit was last observed; 0 when that is not known.
func (m *Model) age(u ID, now int64) int64 {
	at := m.times[m.last(u)]
	if at == 0 || now == 0 {
		return 0
	}
	return max(0, now-at)
}

// Runs is how many runs were learned.
func (m *Model) Runs() int { return m.runs }

// Units is how many units there are, gone ones included.
func (m *Model) Units() int { return len(m.dir) }

// Dirs is how many directories there are.
func (m *Model) Dirs() int { return len(m.dirs) }
