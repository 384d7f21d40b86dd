// SPDX-License-Identifier: Apache-2.0

// Package away is the room of package store that knows what a check-out has left in a depot, and fetches it
// when it is read. It knows packs and bodies, and no record.
//
// A check-out may leave parts of packs, and bodies, in the depot that it comes from. Such a pack is as long
// as it was, with holes. The file FileName of the site's folder says which parts may be holes, which bodies
// may be missing, and where the depot has them. Nothing changes the file; the next check-out replaces it, and
// Drop removes it. Whether a part has come is decided by its digest alone: so a kill at any point, and
// two processes that bring the same part, do no harm. No frame is appended to a pack that the file names.
package away

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// FileName is the file of a site's folder that lists what only a depot has. It stays on its machine.
const FileName = "away.json"

// Format is the version of that file.
const Format = 1

// SHA256 is a SHA-256, as hexadecimal digits in JSON.
type SHA256 [32]byte

func (d SHA256) String() string { return hex.EncodeToString(d[:]) }

func (d SHA256) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *SHA256) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(d) {
		return fmt.Errorf("%q is no digest", text)
	}
	*d = SHA256(b)
	return nil
}

// Remainder is what a check-out has left in a depot.
type Remainder struct {
	Format   int      `json:"format"`
	Depot    string   `json:"depot"`    // its address
	Cluster  string   `json:"cluster"`  // the identity of a depot
	Sequence uint64   `json:"sequence"` // of the check-in
	Segments []string `json:"objects"`
	Packs    []Pack   `json:"packs,omitempty"`
	Bodies   []Body   `json:"bodies,omitempty"`
}

// Pack is a pack of which parts may be holes, by where they begin.
type Pack struct {
	Number uint32 `json:"number"`
	Parts  []Part `json:"parts"`
}

// Part is a part of a pack, or a body, and where the depot has it: as it is, or as a zstd frame when
// Stored is smaller.
type Part struct {
	From    int64  `json:"from,omitempty"` // in the pack
	Size    int64  `json:"n"`
	SHA256  SHA256 `json:"d"`
	Segment int    `json:"o"` // number in Remainder.Segments
	At      int64  `json:"at"`
	Stored  int64  `json:"s"`
}

// Body is a body that is published as it came.
type Body struct {
	Part
	Modified int64 `json:"m"` // Unix nanoseconds
}

// Bringer fetches what check-outs left in depots.
type Bringer interface {
	// FetchParts calls use with the bytes of each part, which have its digest, from several goroutines.
	FetchParts(from *Remainder, parts []Part, use func(p *Part, raw []byte) error) error
	// FetchBody opens a body. Its bytes may not have its digest.
	FetchBody(from *Remainder, p *Body) (io.ReadCloser, error)
}

// Site is what a site has in a depot.
type Site struct {
	Remainder
	site   string
	info   fs.FileInfo // of the file that says so
	fetch  Bringer     // nil: nothing can be fetched
	packs  map[uint32]*packParts
	bodies map[[32]byte]*Body

	mu sync.Mutex // held during a fetch
}

// packParts is a Pack, and which parts are known to be here.
type packParts struct {
	parts []Part
	here  []atomic.Bool
}

// State caches what the sites of a state have in depots.
type State struct {
	In    *home.StateFolder
	Fetch Bringer // nil: nothing can be fetched

	mu    sync.Mutex
	sites map[string]*Site
}

// Of reads what a site has in a depot, from a file of a folder; nil for nothing.
func (a *State) Of(root *os.Root, file, site string) (*Site, error) {
	fi, err := root.Lstat(file)
	if err != nil {
		return nil, disk.Err("look at "+FileName, disk.UnlessGone(err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sites[site]; s != nil && os.SameFile(s.info, fi) && s.info.ModTime().Equal(fi.ModTime()) {
		return s, nil
	}
	b, err := root.ReadFile(file)
	if err != nil {
		return nil, disk.ReadErr("read "+FileName, disk.UnlessGone(err))
	}
	s := &Site{site: site, info: fi, fetch: a.Fetch}
	if err := json.Unmarshal(b, &s.Remainder); err != nil {
		return nil, fmt.Errorf("site %s: %s: %w: %v; a check-out fetches the mirror again", site, FileName,
			disk.ErrDamaged, err)
	}
	if s.Format > Format {
		return nil, fmt.Errorf("site %s: %s: %w", site, FileName, record.ErrNewerFormat)
	}
	if err := s.index(); err != nil {
		return nil, fmt.Errorf("site %s: %s: %w: %w", site, FileName, disk.ErrDamaged, err)
	}
	if a.sites == nil {
		a.sites = map[string]*Site{}
	}
	a.sites[site] = s
	return s, nil
}

// Noted is Of for the folder that has the name of a site.
func (a *State) Noted(name string) (*Site, error) {
	return a.Of(a.In.Root, "sites/"+name+"/"+FileName, name)
}

// index builds the look-up tables and validates the records.
func (a *Site) index() error {
	a.packs, a.bodies = map[uint32]*packParts{}, map[[32]byte]*Body{}
	good := func(p *Part) bool {
		return p.Segment >= 0 && p.Segment < len(a.Segments) && p.From >= 0 && p.Size >= 0 && p.At >= 0 &&
			p.Stored >= 0 && p.Stored <= p.Size
	}
	for i := range a.Packs {
		p := &a.Packs[i]
		end := int64(0)
		for k := range p.Parts {
			if part := &p.Parts[k]; !good(part) || part.From < end || part.Size == 0 {
				return fmt.Errorf("pack %d: a part lies nowhere", p.Number)
			}
			end = p.Parts[k].From + p.Parts[k].Size
		}
		a.packs[p.Number] = &packParts{parts: p.Parts, here: make([]atomic.Bool, len(p.Parts))}
	}
	for i := range a.Bodies {
		b := &a.Bodies[i]
		if !good(&b.Part) {
			return fmt.Errorf("body %s lies nowhere", b.SHA256)
		}
		a.bodies[b.SHA256] = b
	}
	return nil
}

// failed is an error of reading what does not come.
func (a *Site) failed(what string, err error) error {
	return fmt.Errorf("%s of %s: %w, %s (check-in %d): %v; it comes when that can be read, at this address or "+
		"at that of MIRRORD_DEPOT, with its keys in the environment", what, a.site, blobs.ErrAway, a.Depot,
		a.Sequence, err)
}

var errUnread = errors.New("this command does not read depots")

// Lists reports whether parts of a pack may be holes. a may be nil.
func (a *Site) Lists(num uint32) bool { return a != nil && a.packs[num] != nil }

// missing lists the parts of a range that are not known to be here.
func (p *packParts) missing(from, to int64) (nums []int) {
	i := sort.Search(len(p.parts), func(i int) bool { return p.parts[i].From+p.parts[i].Size > from })
	for ; i < len(p.parts) && p.parts[i].From < to; i++ {
		if !p.here[i].Load() {
			nums = append(nums, i)
		}
	}
	return nums
}

// look reads parts, and returns those that have not come.
func (p *packParts) look(f *os.File, nums []int) (missing []int) {
	for _, i := range nums {
		part := &p.parts[i]
		raw := make([]byte, part.Size)
		if _, err := f.ReadAt(raw, part.From); err == nil && sha256.Sum256(raw) == part.SHA256 {
			p.here[i].Store(true)
		} else {
			missing = append(missing, i)
		}
	}
	return missing
}

// Bring makes a range of a pack be here.
func (a *Site) Bring(packs *os.Root, num uint32, from, to int64) error {
	if !a.Lists(num) {
		return nil
	}
	pack := a.packs[num]
	nums := pack.missing(from, to)
	if len(nums) == 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := bodies.PackName(num)
	f, err := packs.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) { // local parts can be read
		f, err = packs.Open(name)
	}
	if err != nil {
		return disk.ReadErr("read pack", err)
	}
	err = a.fill(f, pack, pack.look(f, nums))
	return errors.Join(err, disk.Err("write pack", f.Close()))
}

// Has reports whether a part of a frame has not come, by an open pack.
func (a *Site) Has(packs *bodies.Packs, at record.Place) bool {
	if !a.Lists(at.Pack) {
		return false
	}
	pack := a.packs[at.Pack]
	nums := pack.missing(at.Off, at.Off+int64(at.Len))
	if len(nums) == 0 {
		return false
	}
	f, err := packs.File(at.Pack)
	return err == nil && len(pack.look(f, nums)) > 0 // the reader gets the error
}

// fill writes parts that have not come into their pack.
func (a *Site) fill(f *os.File, pack *packParts, nums []int) error {
	parts, number := make([]Part, len(nums)), make(map[int64]int, len(nums))
	for k, i := range nums {
		parts[k] = pack.parts[i]
		number[parts[k].From] = i
	}
	return a.parts("parts of the packs", parts, func(p *Part, raw []byte) error {
		if _, err := f.WriteAt(raw, p.From); err != nil {
			return disk.Err("write pack", err)
		}
		pack.here[number[p.From]].Store(true)
		return nil
	})
}

// parts fetches parts and calls use for each. An error of use is returned as it is.
func (a *Site) parts(what string, parts []Part, use func(*Part, []byte) error) error {
	if len(parts) == 0 {
		return nil
	}
	if a.fetch == nil {
		return a.failed(what, errUnread)
	}
	var own atomic.Pointer[error]
	err := a.fetch.FetchParts(&a.Remainder, parts, func(p *Part, raw []byte) error {
		err := use(p, raw)
		if err != nil {
			own.Store(&err)
		}
		return err
	})
	if failed := own.Load(); failed != nil {
		return *failed
	}
	if err != nil {
		return a.failed(what, err)
	}
	return nil
}

// Body finds a body that a site lists as left in a depot; fs.ErrNotExist when none does.
func (a *State) Body(d [32]byte) (*blobs.LeftBody, error) {
	names, err := a.In.AllSites()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		left, err := a.Noted(name)
		if err != nil {
			return nil, err
		}
		if left != nil && left.bodies[d] != nil {
			return left.left(left.bodies[d]), nil
		}
	}
	return nil, fs.ErrNotExist
}

func (a *Site) left(body *Body) *blobs.LeftBody {
	return &blobs.LeftBody{
		Stat: disk.FileStat{Size: body.Size, Time: time.Unix(0, body.Modified), Regular: true},
		Open: func() (io.ReadCloser, error) {
			if a.fetch == nil {
				return nil, errUnread
			}
			return a.fetch.FetchBody(&a.Remainder, body)
		},
		Wrong: func(err error) error { return a.failed("a body", err) },
	}
}
