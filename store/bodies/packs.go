// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// DepotParts is what of the packs a check-out has left in a depot. Safe for concurrent use.
type DepotParts interface {
	// Lists reports whether parts of a pack may be holes.
	Lists(pack uint32) bool
	// Bring makes a range of a pack, whose folder is given, be here.
	Bring(packs *os.Root, pack uint32, from, to int64) error
}

// Packs is the set of pack files of one site. Reads may run beside the one writer.
type Packs struct {
	root *os.Root // of the packs folder
	name func(n uint32) string

	unpacked unpackedBundles

	away     DepotParts // nil for nothing
	Volatile bool       // nothing is synced
	Max      int64      // bytes after which a new pack is begun
	// Published opens the published file to which a rest belongs; nil for none
	Published func(path string) (*os.File, error)

	mu    sync.Mutex
	files map[uint32]*os.File // open for reading

	wmu  sync.RWMutex // held for reading while a frame is written, for writing while a new pack is begun
	end  sync.Mutex   // guards size
	w    *os.File     // the last pack, open for appending
	num  uint32       // its number
	size int64        // its length; what lies before it may still be on its way

	grown atomic.Int64 // bytes that were appended

	made     atomic.Bool // the last pack's name is not on disk for sure
	unsynced atomic.Bool // frames were written since the last sync
	// of the first sync that failed: what was written before it may be lost, even if a later one succeeds
	failed atomic.Pointer[error]
}

// PackName is the name of the pack with a number.
func PackName(n uint32) string { return fmt.Sprintf("%06d.pack", n) }

// Open opens the packs in a folder, which Close closes. away may be nil.
func Open(root *os.Root, away DepotParts) *Packs {
	return &Packs{
		root:     root,
		name:     PackName,
		away:     away,
		files:    map[uint32]*os.File{},
		Max:      maxPack,
		unpacked: unpackedBundles{most: maxUnpacked},
	}
}

// Begin makes the last pack ready for appending, cut to size bytes: what lies behind was never committed. One
// that is shorter is left with a hole. Mostly nothing refers to it, because frames were on their way when the
// batch before them was committed; but when the disk has lost frames, no other ones may take their places.
func (p *Packs) Begin(num uint32, size int64) error {
	if num == 0 {
		num = 1
	}
	if p.away != nil && p.away.Lists(num) { // what comes of it takes its own places
		return p.Begin(num+1, 0)
	}
	f, err := p.root.OpenFile(p.name(num), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return disk.Err("open pack", err)
	}
	st, err := f.Stat()
	if err == nil && st.Size() > size {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		if disk.IsLoss(err) && size > 0 { // its last sector: new frames go elsewhere
			return p.Begin(num+1, 0)
		}
		return disk.Err("open pack", err)
	}
	if size == 0 {
		p.made.Store(true)
	}
	p.w, p.num, p.size = f, num, size
	return nil
}

// Append writes a frame, and returns where it lies. Several may be written at a time. Where the
// disk does not take it, because the sector that it would share with the frame before cannot be read, the
// next pack gets it.
func (p *Packs) Append(raw []byte) (record.Place, error) {
	size := int64(len(raw))
	for {
		p.wmu.RLock()
		p.end.Lock()
		full := p.size > 0 && p.size+size > p.Max
		at := record.Place{Pack: p.num, Off: p.size, Len: uint32(size)}
		if !full {
			p.size += size
		}
		p.end.Unlock()
		if !full {
			p.grown.Add(size)
			_, err := p.w.WriteAt(raw, at.Off)
			p.unsynced.Store(true) // not before: a sync in between would not have it
			if !disk.IsLoss(err) || at.Off == 0 {
				p.wmu.RUnlock()
				return at, disk.Err("write pack", err)
			}
		}
		p.wmu.RUnlock()
		p.wmu.Lock()
		var err error
		if p.num == at.Pack {
			err = p.roll()
		}
		p.wmu.Unlock()
		if err != nil {
			return record.Place{}, err
		}
	}
}

// roll begins the next pack. Callers hold wmu.
func (p *Packs) roll() error {
	if err := p.syncLast(); err != nil {
		return err
	}
	full := p.w
	if err := p.Begin(p.num+1, 0); err != nil {
		return err
	}
	return disk.Err("close pack", full.Close())
}

// Sync makes all frames that were written survive loss of power.
func (p *Packs) Sync() error {
	p.wmu.RLock()
	defer p.wmu.RUnlock()
	if p.w == nil {
		return nil
	}
	return p.syncLast()
}

func (p *Packs) syncLast() error {
	if p.Volatile {
		return nil
	}
	if err := p.failed.Load(); err != nil {
		return *err
	}
	if !p.unsynced.Swap(false) && !p.made.Load() {
		return nil
	}
	err := p.w.Sync()
	if err == nil && p.made.Load() {
		if err = disk.SyncIn(p.root, "."); err == nil {
			p.made.Store(false)
		}
	}
	if err = disk.Err("sync pack", err); err != nil {
		p.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// Where returns how far the packs reach.
func (p *Packs) Where() (num uint32, size int64) {
	p.wmu.RLock()
	defer p.wmu.RUnlock()
	p.end.Lock()
	defer p.end.Unlock()
	return p.num, p.size
}

// Bring makes a range of a pack be here, of which a depot may have parts.
func (p *Packs) Bring(num uint32, from, to int64) error {
	if p.away == nil {
		return nil
	}
	return p.away.Bring(p.root, num, from, to)
}

// File opens a pack for reading. It stays open until Forget.
func (p *Packs) File(n uint32) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[n]; f != nil {
		if fi, err := f.Stat(); err == nil && disk.Links(fi) == 0 {
			return nil, fs.ErrNotExist // removed since: what it held has moved, or is to be read no more
		}
		return f, nil
	}
	f, err := p.root.Open(p.name(n))
	if err != nil {
		return nil, err
	}
	p.files[n] = f
	return f, nil
}

// Reread has frames be read from the disk again.
func (p *Packs) Reread() { p.unpacked.drop(0) }

// Forget closes the packs that are open for reading; there must be no reader.
func (p *Packs) Forget() {
	p.unpacked.drop(0)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		f.Close() // read only: nothing can be lost
	}
	clear(p.files)
}

// ReadFrame decodes the frame at a place, and those that it is over.
func (p *Packs) ReadFrame(r *FrameReader, at record.Place) (fr Frame, err error) {
	payload, err := p.Payload(r, at)
	if err == nil {
		fr, err = split(payload)
	}
	if err != nil {
		return Frame{}, fmt.Errorf("pack %s at %d: %w", p.name(at.Pack), at.Off, err)
	}
	return fr, nil
}

// Frame reads the frame at a place, and checks that it is whole. It is valid until r is used again.
func (p *Packs) Frame(r *FrameReader, at record.Place) ([]byte, error) {
	f, err := p.open(at)
	if err != nil {
		return nil, err
	}
	raw := r.buffer(int(at.Len))
	if raw == nil {
		raw = roomFor(&r.raw, int(at.Len))[:at.Len]
		r.raw = kept(r.raw)
	}
	if _, err := f.ReadAt(raw, at.Off); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("pack %s at %d: %w: file ends early", p.name(at.Pack), at.Off, disk.ErrDamaged)
		}
		return nil, disk.ReadErr("read pack", err)
	}
	return raw, checkFrame(raw)
}

// checkFrame reports whether a frame is whole, without unpacking it.
func checkFrame(raw []byte) error {
	if n := binary.LittleEndian.Uint32(raw[4:]); int64(n) != int64(len(raw)-HeaderSize) {
		return fmt.Errorf("%w: a frame of %d bytes", disk.ErrDamaged, n)
	}
	if crc32.Checksum(raw[HeaderSize:], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
		return fmt.Errorf("checksum of frame: %w", disk.ErrDamaged)
	}
	return nil
}

// open returns the pack that a place is in, of which a depot may have had that part.
func (p *Packs) open(at record.Place) (*os.File, error) {
	f, err := p.File(at.Pack)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("pack %s: %w: it is missing", p.name(at.Pack), disk.ErrDamaged)
	}
	if err != nil {
		return nil, disk.ReadErr("read pack", err)
	}
	// a place that no frame can have is refused before memory is allocated for it
	bad := at.Off < 0 || at.Len < HeaderSize
	if at.Len > maxKept {
		st, err := f.Stat()
		if err != nil {
			return nil, disk.Err("read pack", err)
		}
		bad = bad || at.Off > st.Size()-int64(at.Len)
	}
	if bad {
		return nil, fmt.Errorf("pack %s at %d: %w: no frame of %d bytes", p.name(at.Pack), at.Off,
			disk.ErrDamaged, at.Len)
	}
	return f, p.Bring(at.Pack, at.Off, at.Off+int64(at.Len))
}

func (p *Packs) Close() error {
	p.Forget()
	var err error
	if p.w != nil {
		err = p.w.Close()
		p.w = nil
	}
	return errors.Join(err, p.root.Close())
}

// Finish ends the pack that is being written and begins the next one.
func (p *Packs) Finish() error {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	return p.roll()
}

// Remove removes a pack, which may be missing.
func (p *Packs) Remove(n uint32) error {
	p.unpacked.drop(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[n]; f != nil {
		f.Close() // read only: nothing can be lost
		delete(p.files, n)
	}
	return disk.Err("remove pack", disk.RemoveIn(p.root, p.name(n)))
}

// Skip begins after the pack with a number, so that a reader with an older pack of that number open does
// not read it as the new one.
func (p *Packs) Skip(last uint32) error {
	p.wmu.Lock()
	defer p.wmu.Unlock()
	if p.num > last {
		return nil
	}
	old, empty := p.num, p.size == 0
	p.num = last
	err := p.roll()
	if empty {
		err = errors.Join(err, p.Remove(old))
	}
	return err
}
