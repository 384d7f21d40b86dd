// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"mirrord/cluster/objects"
	"mirrord/store/blobs"
	"mirrord/store/disk"
)

// Bodies keeps bodies that are published as they came in a store of objects. Small ones are gathered in packs
// of up to 8 MiB, which Sync puts; a large one is an object, read by range. What it knows is what was loaded
// and what it has put. The bytes of a body go with a collection, once no manifest refers to them.
//
// A pack is "mrdB1\n", the length of the index (4 bytes, little endian), the index (JSON in zstd), and the
// bodies one after the other, each as it is or as a zstd frame.
type Bodies struct {
	ctx     context.Context
	store   objects.Store
	codec   zstdCodec
	putting sync.Mutex // held while packs are put

	mu     sync.Mutex
	places map[[32]byte]*bodyPlace
	loaded map[string]bool
	avoids map[string]bool
	age    uint64 // the largest of a pack: the entry of a later one counts
	open   *bodyPack
	full   []*bodyPack // that are to be put
}

// bodyPlace is where a body lies.
type bodyPlace struct {
	object   string
	at       int64
	stored   int64 // a zstd frame when it is smaller than size
	size     int64
	modified time.Time
	age      uint64
	data     []byte // as it is stored, as long as it is in no object yet: object is ""
}

// bodyPack is a pack that is being gathered.
type bodyPack struct {
	index  bodyIndex
	places []*bodyPlace
	bytes  int64
}

// bodyIndex is the index of a pack.
type bodyIndex struct {
	Age    uint64      `json:"age"`
	Bodies []bodyEntry `json:"bodies"`
}

// bodyEntry is a body in the index. They lie one after the other.
type bodyEntry struct {
	SHA256   SHA256 `json:"d"`
	Size     int64  `json:"n"`
	Stored   int64  `json:"s"`
	Modified int64  `json:"m"` // Unix nanoseconds
}

const (
	bodyMagic  = "mrdB1\n"
	bodyHeader = len(bodyMagic) + 4
	largeBody  = 1 << 20 // from this size on a body is an object
	bodyFolder = "bodies/"
	largeNames = bodyFolder + "large/"
)

// NewBodies returns Bodies that know nothing yet. The context is that of all calls.
func NewBodies(ctx context.Context, s objects.Store) *Bodies {
	return &Bodies{
		ctx:    ctx,
		store:  s,
		codec:  newCodec(),
		places: map[[32]byte]*bodyPlace{},
		loaded: map[string]bool{},
	}
}

// zstdCodec packs and unpacks bytes in memory. It is safe for concurrent use.
type zstdCodec struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

// maxUnpacked bounds what a manifest, an index, a body or a chunk may unpack to.
const maxUnpacked = 1 << 30

func newCodec() (c zstdCodec) {
	c.enc, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // these options are valid
	c.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked))
	return c
}

// load takes in the indexes of objects.
func (b *Bodies) load(ctx context.Context, names []string) error {
	for _, name := range names {
		if b.has(name) {
			continue
		}
		if strings.HasPrefix(name, largeNames) {
			if err := b.loadLarge(name); err != nil {
				return err
			}
			continue
		}
		if err := b.loadPack(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether an object was taken in.
func (b *Bodies) has(object string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.loaded[object]
}

// loadLarge takes in a large body.
func (b *Bodies) loadLarge(name string) error {
	digest, p, err := parseLarge(name)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded[name] = true
	b.places[digest] = p
	return nil
}

// firstGet is how much of a pack is read to find its index: a pack of small bodies has few hundred.
const firstGet = 64 << 10

// loadPack takes in the index of a pack.
func (b *Bodies) loadPack(ctx context.Context, name string) error {
	head, info, err := b.store.Get(ctx, name, 0, firstGet)
	if errors.Is(err, fs.ErrNotExist) {
		return lost(name)
	}
	if err != nil {
		return err
	}
	bad := func(why string) error { return fmt.Errorf("object %s: %w: %s", name, ErrDamaged, why) }
	if len(head) < bodyHeader || string(head[:len(bodyMagic)]) != bodyMagic {
		return bad("it is no pack of bodies")
	}
	end := int64(bodyHeader) + int64(binary.LittleEndian.Uint32(head[len(bodyMagic):]))
	if end > info.Size {
		return bad("its index is longer than it is")
	}
	for int64(len(head)) < end {
		more, _, err := b.store.Get(ctx, name, int64(len(head)), min(end-int64(len(head)), objects.MaxGet))
		if err != nil {
			return err
		}
		if len(more) == 0 {
			return bad("it ends early")
		}
		head = append(head, more...)
	}
	var index bodyIndex
	raw, err := b.codec.dec.DecodeAll(head[bodyHeader:end], nil)
	if err == nil {
		err = json.Unmarshal(raw, &index)
	}
	if err != nil {
		return bad(err.Error())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded[name] = true
	b.age = max(b.age, index.Age)
	for _, e := range index.Bodies {
		if e.Stored < 0 || e.Stored > e.Size || e.Stored > info.Size-end {
			return bad("a body lies nowhere")
		}
		if p := b.places[e.SHA256]; p == nil || p.age < index.Age {
			b.places[e.SHA256] = &bodyPlace{
				object:   name,
				at:       end,
				stored:   e.Stored,
				size:     e.Size,
				modified: time.Unix(0, e.Modified),
				age:      index.Age,
			}
		}
		end += e.Stored
	}
	return nil
}

// avoid makes bodies in some objects unknown, also if they are loaded later.
func (b *Bodies) avoid(names map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.avoids = names
}

// place returns where a body lies; nil when that is not known.
func (b *Bodies) place(digest [32]byte) *bodyPlace {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.places[digest]
	if p == nil || b.avoids[p.object] {
		return nil
	}
	found := *p
	return &found
}

// putSmall puts a body into the open pack, and returns how many bytes it has there. The bytes are kept.
func (b *Bodies) putSmall(digest [32]byte, body []byte, modified time.Time) (stored int64, err error) {
	p := &bodyPlace{size: int64(len(body)), modified: modified, data: body}
	if packed := b.codec.enc.EncodeAll(body, nil); len(packed) < len(body)*9/10 {
		p.data = packed
	}
	p.stored = int64(len(p.data))
	b.mu.Lock()
	if b.open == nil {
		b.age++
		b.open = &bodyPack{index: bodyIndex{Age: b.age}}
	}
	pack := b.open
	p.age = pack.index.Age
	pack.places = append(pack.places, p)
	pack.index.Bodies = append(pack.index.Bodies, bodyEntry{
		SHA256:   digest,
		Size:     p.size,
		Stored:   p.stored,
		Modified: modified.UnixNano(),
	})
	b.places[digest] = p
	pack.bytes += p.stored
	isFull := pack.bytes >= segmentSize
	b.mu.Unlock()
	if isFull {
		err = b.Sync()
	}
	return p.stored, err
}

// putLarge puts a body as an object, under another name than that of one that a collection will remove.
func (b *Bodies) putLarge(digest [32]byte, body *io.SectionReader, modified time.Time) error {
	b.mu.Lock()
	avoids := b.avoids
	b.mu.Unlock()
	at := modified.UnixNano()
	name := largeName(digest, body.Size(), at)
	for ; avoids[name]; at++ {
		name = largeName(digest, body.Size(), at)
	}
	if _, err := b.store.Put(b.ctx, name, body, objects.Condition{}); err != nil {
		return err
	}
	return b.loadLarge(name)
}

// take puts a body that is kept elsewhere, and returns how many bytes that took. One whose bytes are not
// those of its digest is store.ErrDamaged.
func (b *Bodies) take(from *blobs.Blobs, digest [32]byte) (int64, error) {
	f, err := from.OpenFile(digest)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	damaged := fmt.Errorf("body %x: %w", digest[:6], disk.ErrDamaged)
	at, canSeek := f.(io.ReadSeeker)
	if fi.Size() >= largeBody && canSeek {
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return 0, err
		}
		if [32]byte(h.Sum(nil)) != digest {
			return 0, damaged
		}
		return fi.Size(), b.putLarge(digest, io.NewSectionReader(seekerAt{at}, 0, fi.Size()), fi.ModTime())
	}
	body, err := io.ReadAll(f)
	switch {
	case err != nil:
		return 0, err
	case digestOf(body) != digest:
		return 0, damaged
	case len(body) >= largeBody:
		return fi.Size(), b.putLarge(digest, objects.Bytes(body), fi.ModTime())
	}
	return b.putSmall(digest, body, fi.ModTime())
}

// seekerAt reads at offsets of what can seek. One goroutine uses it.
type seekerAt struct{ io.ReadSeeker }

func (s seekerAt) ReadAt(p []byte, off int64) (int, error) {
	if _, err := s.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(s.ReadSeeker, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// Sync returns when all bodies that were put are in objects.
func (b *Bodies) Sync() error {
	b.putting.Lock()
	defer b.putting.Unlock()
	b.mu.Lock()
	if b.open != nil {
		b.full = append(b.full, b.open)
		b.open = nil
	}
	full := b.full
	b.mu.Unlock()
	for _, pack := range full {
		name, data, start, err := pack.encode(b.codec.enc)
		if err != nil {
			return err
		}
		if _, err := b.store.Put(b.ctx, name, objects.Bytes(data), objects.Condition{}); err != nil {
			return err // the pack stays for the next call
		}
		b.settle(pack, name, start)
	}
	return nil
}

// settle notes that a pack is an object.
func (b *Bodies) settle(pack *bodyPack, name string, at int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range pack.places {
		p.object, p.at, p.data = name, at, nil
		at += p.stored
	}
	b.loaded[name] = true
	b.full = b.full[1:]
}

// encode returns a pack as an object, and the offset of its first body.
func (p *bodyPack) encode(enc *zstd.Encoder) (name string, data []byte, start int64, err error) {
	index, err := json.Marshal(p.index)
	if err != nil {
		return "", nil, 0, err
	}
	packed := enc.EncodeAll(index, nil)
	data = make([]byte, 0, int64(bodyHeader+len(packed))+p.bytes)
	data = append(data, bodyMagic...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(packed)))
	data = append(data, packed...)
	start = int64(len(data))
	for _, place := range p.places {
		data = append(data, place.data...)
	}
	return bodyFolder + objects.RandomName(), data, start, nil
}

// read returns a body that is in an object. A small one is read at once.
func (b *Bodies) read(digest [32]byte, p *bodyPlace) (io.Reader, error) {
	if p.size >= largeBody {
		return &largeReader{b: b, object: p.object, end: p.size}, nil
	}
	var stored []byte
	if p.stored > 0 {
		var err error
		if stored, _, err = b.store.Get(b.ctx, p.object, p.at, p.stored); err != nil {
			return nil, err
		}
	}
	raw, err := unpack(b.codec.dec, stored, p.size)
	if err != nil {
		return nil, fmt.Errorf("body %x in %s: %w: %w", digest[:6], p.object, disk.ErrDamaged, err)
	}
	return bytes.NewReader(raw), nil
}

func unpack(dec *zstd.Decoder, stored []byte, size int64) (raw []byte, err error) {
	if raw = stored; int64(len(stored)) < size {
		if raw, err = dec.DecodeAll(stored, make([]byte, 0, min(size, math.MaxInt32))); err != nil {
			return nil, err
		}
	}
	if int64(len(raw)) != size {
		return nil, fmt.Errorf("%d bytes in place of %d", len(raw), size)
	}
	return raw, nil
}
