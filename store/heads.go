// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"mirrord/fetch/heads"
	"mirrord/internal/binread"
	"mirrord/site"
)

// The heads of answers (package heads) lie in files of their own, "heads.1" and so on, of which the last one
// is appended to:
//
//	header  8 bytes: "mHd", version of this format (1), 4 zeros
//	entries one after the other: uvarint bytes of the payload; crc32c of the URL and the head (headSum), 4
//	        bytes little endian; the payload:
//	        uvarint bytes from the beginning of the base entry to that of this one, 0 for none; the head, coded
//	        over the base's
//
// A record says where its heads begin. A head that is not what was written for the URL has another checksum,
// whether its entry, one below it, or the place is wrong. It is lost then, and nothing else depends on it.
// Entries are appended and synced before the records that refer to them are committed; what lies behind the
// last committed one is cut off before the next is written.
//
// The base is the head that the URL had before, or one below that, else that of another URL of the site with
// nearly the same fields: a model, which is written in full (the last ones are named in site.db), or one that
// was added just before.
const (
	headsName    = "heads."
	headsMagic   = "mHd"
	headsVersion = 1
	headsHeader  = 8
	headDepth    = 4        // bases below one another, at most: a read costs five entries
	maxHead      = 1 << 20  // bytes of a payload that is believed
	maxModels    = 8        // heads in full that others may be over: kinds of answers of a site
	maxRecent    = 8        // other heads of which the same is true
	wellCoded    = 40       // bytes of a coded head for which no other model is tried
	firstRead    = 128      // bytes: most entries have less
	maxAnswers   = 64 << 20 // bytes of the heads of a batch that are believed
)

// HeadPlace is the place of a response's headers; the zero value stands for no place.
type HeadPlace struct {
	File uint32 // number of the file, from 1
	Off  int64  // bytes from its start
}

// IsZero reports whether there is no head.
func (p HeadPlace) IsZero() bool { return p == HeadPlace{} }

// headFiles are the files of heads of one site. Reads may run beside the one writer.
type headFiles struct {
	root *os.Root

	mu    sync.Mutex
	files map[uint32]*os.File // open for reading

	w      *os.File // the last file, open for appending; nil before the first head is written
	num    uint32
	size   int64        // of what was appended, buf included
	buf    []byte       // appended and not written yet, the end of the file
	models []placedHead // in full
	recent []placedHead // of the last ones that were over a model, as a ring
	next   int          // index into recent of the oldest one
	code   []byte       // of the last head that was added, with capacity for another one
	other  []byte
}

// placedHead is a head that others may be coded over.
type placedHead struct {
	off   int64
	depth int
	head  *heads.Head
}

func headsFile(n uint32) string { return fmt.Sprintf("%s%d", headsName, n) }

// headsNumber is the number of the file of heads with a name, 0 for other names.
func headsNumber(name string) (n uint32) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, headsName), "%d", &n); err != nil || headsFile(n) != name {
		return 0
	}
	return n
}

// headsIn lists the numbers of the files of heads in a folder, in order.
func headsIn(root *os.Root, dir string) (nums []uint32) {
	es, _ := fs.ReadDir(root.FS(), dir) // what cannot be listed is not there
	for _, e := range es {
		if n := headsNumber(e.Name()); n > 0 {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	return nums
}

// ReadHead reads the head of an answer for a URL. One that cannot be read is ErrDamaged.
func (s *Records) ReadHead(u site.URL, at HeadPlace) (*heads.Head, error) {
	h, _, err := s.heads.read(u.String(), at)
	return h, err
}

// read also says how many bases lie below one another.
func (f *headFiles) read(url string, at HeadPlace) (h *heads.Head, depth int, err error) {
	if at.IsZero() {
		return nil, 0, fmt.Errorf("head of %s: %w: missing", url, ErrDamaged)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	chain, err := f.chain(url, at)
	if err != nil {
		return nil, 0, fmt.Errorf("head of %s in %s at %d: %w", url, headsFile(at.File), at.Off, err)
	}
	return chain[len(chain)-1].head, len(chain) - 1, nil
}

// begin makes the last file ready for appending. One that is damaged is left to be read as far as possible,
// and a new one begun.
func (f *headFiles) begin(tx *transaction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w != nil {
		return nil
	}
	d := binread.Reader{Rest: tx.Bucket(bMeta).Get(kHeads)}
	num, size := uint32(d.Uvarint()), int64(d.Uvarint())
	if num == 0 || size < headsHeader {
		return f.create(max(num, 1))
	}
	file, err := f.root.OpenFile(headsFile(num), os.O_RDWR, 0o644)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskErr("open heads", err)
	}
	if err != nil || checkHeads(file) != nil {
		if err == nil {
			file.Close() // nothing was written
		}
		return f.create(num + 1)
	}
	fi, err := file.Stat()
	if err == nil && fi.Size() > size { // a batch that was not committed
		err = file.Truncate(size)
	}
	if err != nil {
		return errors.Join(diskErr("open heads", err), file.Close())
	}
	// what was cut off by a fault stays a hole: no other head takes its place
	f.w, f.num, f.size = file, num, size
	for !d.Bad && len(d.Rest) > 0 && len(f.models) < maxModels {
		f.remember(int64(d.Uvarint()))
	}
	return nil
}

// remember notes a head that others may be coded over. It need not be readable.
func (f *headFiles) remember(off int64) {
	_, payload, err := f.entry(HeadPlace{f.num, off})
	if err != nil || len(payload) == 0 || payload[0] != 0 {
		return
	}
	if h, err := heads.Decode(payload[1:], nil); err == nil {
		f.models = append(f.models, placedHead{off, 0, h})
	}
}

// create begins a file. One that is there was never committed, or is of a site that was made again. What
// was not flushed is lost.
func (f *headFiles) create(num uint32) error {
	if old := f.files[num]; old != nil {
		old.Close() // read only
		delete(f.files, num)
	}
	file, err := f.root.OpenFile(headsFile(num), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return diskErr("open heads", err)
	}
	if f.w != nil {
		f.w.Close() // it was synced when it was written
	}
	f.w, f.num, f.size, f.models, f.recent, f.next = file, num, headsHeader, nil, nil, 0
	f.buf = append(f.buf[:0], headsMagic+"\x01\x00\x00\x00\x00"...)
	return nil
}

// add appends a head of a URL and returns its place. old is the head that the URL had before, if any.
func (f *headFiles) add(url string, h *heads.Head, old HeadPlace) HeadPlace {
	f.mu.Lock()
	defer f.mu.Unlock()
	size := h.Size()
	best := f.code[:0]
	depth := 0
	over := func(base placedHead) bool {
		b := binary.AppendUvarint(f.other[:0], uint64(f.size-base.off))
		f.other = h.Append(b, base.head)
		if len(best) > 0 && len(f.other) >= len(best) {
			return false
		}
		best, f.other = f.other, best
		depth = base.depth + 1
		return true
	}
	poor := func() bool { return len(best) == 0 || len(best) > wellCoded }
	if old.File == f.num && !old.IsZero() {
		if chain, err := f.chain(url, old); err == nil {
			over(chain[min(len(chain), headDepth)-1])
		}
	}
	if poor() {
		if like := f.likest(h); like != nil {
			over(*like)
			if like.depth == 0 { // a model: the last one that was used goes first, and stays longest
				*like, f.models[0] = f.models[0], *like
			}
		}
	}
	switch {
	case len(best) == 0 || len(best) > size/3: // nothing is like it
		best = h.Append(append(best[:0], 0), nil)
		f.models = append([]placedHead{{f.size, 0, h}}, f.models[:min(len(f.models), maxModels-1)]...)
	case depth == 1 && poor() && len(f.recent) < maxRecent:
		f.recent = append(f.recent, placedHead{f.size, depth, h})
	case depth == 1 && poor():
		f.recent[f.next] = placedHead{f.size, depth, h}
		f.next = (f.next + 1) % maxRecent
	}
	at := HeadPlace{f.num, f.size}
	start := len(f.buf)
	f.buf = binary.AppendUvarint(f.buf, uint64(len(best)))
	f.buf = binary.LittleEndian.AppendUint32(f.buf, headSum(url, h))
	f.buf = append(f.buf, best...)
	f.size += int64(len(f.buf) - start)
	f.code = best
	return at
}

// likest returns the known head that others may be coded over which is most like h, nil without one.
func (f *headFiles) likest(h *heads.Head) (like *placedHead) {
	most := 0
	for i := range f.models {
		if n := h.Likeness(f.models[i].head); n > most {
			like, most = &f.models[i], n
		}
	}
	for i := range f.recent {
		if m := f.recent[i].head; h.NamedAs(m) {
			if n := h.Likeness(m); n > most {
				like, most = &f.recent[i], n
			}
		}
	}
	return like
}

// flush writes what was added, and what site.db is to know of it. It is synced, unless the site is as
// volatile as its run.
func (f *headFiles) flush(tx *transaction) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w == nil || len(f.buf) == 0 {
		return nil
	}
	_, err := f.w.WriteAt(f.buf, f.size-int64(len(f.buf)))
	if err == nil {
		err = f.w.Sync()
	}
	if err == nil && f.size-int64(len(f.buf)) == 0 { // its name is new
		var d *os.File
		if d, err = f.root.Open("."); err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
	}
	if err != nil {
		return diskErr("write heads", err)
	}
	if f.buf = f.buf[:0]; cap(f.buf) > maxKept {
		f.buf = nil
	}
	v := binary.AppendUvarint(nil, uint64(f.num))
	v = binary.AppendUvarint(v, uint64(f.size))
	for _, m := range f.models {
		v = binary.AppendUvarint(v, uint64(m.off))
	}
	return tx.Bucket(bMeta).Put(kHeads, v)
}

// use notes that an entry is in use, and those that it is over; false says that there is no such entry.
func (f *headFiles) use(u *headUse, at HeadPlace) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if u == nil || at.Off < 0 || at.Off >= u.size {
			return false
		}
		if u.used[at.Off/64]&(1<<(at.Off%64)) != 0 {
			return true
		}
		_, payload, err := f.entry(at)
		if err != nil {
			return false
		}
		u.used[at.Off/64] |= 1 << (at.Off % 64)
		u.live += int64(len(payload) + 4 + len(binary.AppendUvarint(nil, uint64(len(payload)))))
		d := binread.Reader{Rest: payload}
		dist := d.Uvarint()
		if d.Bad || dist == 0 {
			return !d.Bad
		}
		at.Off -= int64(dist)
	}
}

func (f *headFiles) remove(n uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.files[n]; file != nil {
		file.Close() // read only: nothing can be lost
		delete(f.files, n)
	}
	if err := f.root.Remove(headsFile(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return diskErr("remove heads", err)
	}
	return nil
}

func (f *headFiles) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, file := range f.files {
		errs = append(errs, file.Close())
	}
	clear(f.files)
	if f.w != nil {
		errs = append(errs, f.w.Close())
		f.w = nil
	}
	return errors.Join(errs...)
}
