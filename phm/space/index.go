// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"
	"golang.org/x/sys/unix"

	"mirrord/internal/regular"
)

// errIndex says that a file of the space is not what was written. The mirror that it is of is made again.
var errIndex = errors.New("damaged index of a space")

// seed makes hashes unpredictable to others.
type seed uint64

// seedOf reads the file of a space that has its seed.
func seedOf(data []byte) seed {
	var b [8]byte
	copy(b[:], data)
	return seed(binary.LittleEndian.Uint64(b[:]))
}

func (s seed) of(text string) uint64 { return xxh3.HashStringSeed(text, uint64(s)) }

// held says that a mirror holds a URL. The file of them is sorted by url.
type held struct {
	url  uint64 // hash
	path uint64 // hash of the mirror path at which it lies, after redirects
	at   int64  // where the line of that file begins in the mirror's phm.files
}

const (
	heldMagic = "mHd1"
	heldSize  = 24
)

func appendHeld(b []byte, all []held) []byte {
	b = append(b, heldMagic...)
	for _, h := range all {
		b = binary.LittleEndian.AppendUint64(b, h.url)
		b = binary.LittleEndian.AppendUint64(b, h.path)
		b = binary.LittleEndian.AppendUint64(b, uint64(h.at))
	}
	return b
}

// sortHeld sorts; of two of one URL the first that was added stays.
func sortHeld(all []held) []held {
	slices.SortStableFunc(all, func(a, b held) int { return cmp.Compare(a.url, b.url) })
	return slices.CompactFunc(all, func(a, b held) bool { return a.url == b.url })
}

// heldIndex reads a file of held.
type heldIndex struct{ mapped }

func (x heldIndex) len() int { return len(x.data) / heldSize }

func (x heldIndex) at(i int) held {
	b := x.data[i*heldSize:]
	return held{
		url:  binary.LittleEndian.Uint64(b),
		path: binary.LittleEndian.Uint64(b[8:]),
		at:   int64(binary.LittleEndian.Uint64(b[16:])),
	}
}

func (x heldIndex) find(url uint64) (held, bool) {
	i := sort.Search(x.len(), func(i int) bool { return x.at(i).url >= url })
	if i == x.len() {
		return held{}, false
	}
	h := x.at(i)
	return h, h.url == url
}

// moved returns the URLs that two indexes hold at different paths, some twice, or of which one holds none.
func moved(was, is heldIndex) (urls []uint64) {
	for _, pair := range [][2]heldIndex{{was, is}, {is, was}} {
		for i := range pair[0].len() {
			a := pair[0].at(i)
			if b, ok := pair[1].find(a.url); !ok || a.path != b.path {
				urls = append(urls, a.url)
			}
		}
	}
	return urls
}

// link says that a document of a mirror links to a URL of another site. The file of them is sorted by url
// and doc, without duplicates; 20 bytes each.
type link struct {
	url, doc uint64 // hashes
	host     uint32 // number of the URL's host in the file
}

const (
	linksMagic = "mLk1"
	linkSize   = 20
)

func compareLinks(a, b link) int { return cmp.Or(cmp.Compare(a.url, b.url), cmp.Compare(a.doc, b.doc)) }

// linkBuilder makes a file of links.
type linkBuilder struct {
	hosts   []string
	numbers map[string]uint32
	all     []link
}

func (b *linkBuilder) host(name string) uint32 {
	n, ok := b.numbers[name]
	if !ok {
		if b.numbers == nil {
			b.numbers = map[string]uint32{}
		}
		n = uint32(len(b.hosts))
		b.hosts, b.numbers[name] = append(b.hosts, name), n
	}
	return n
}

// keep takes over the links of the documents of another file that keep says.
func (b *linkBuilder) keep(x linkIndex, keep func(doc uint64) bool) {
	for i := range x.len() {
		if l := x.at(i); keep(l.doc) {
			l.host = b.host(x.hosts[l.host])
			b.all = append(b.all, l)
		}
	}
}

func (b *linkBuilder) bytes() []byte {
	slices.SortFunc(b.all, compareLinks)
	b.all = slices.CompactFunc(b.all, func(a, b link) bool { return compareLinks(a, b) == 0 })
	out := binary.LittleEndian.AppendUint32([]byte(linksMagic), uint32(len(b.hosts)))
	for _, h := range b.hosts {
		out = binary.AppendUvarint(out, uint64(len(h)))
		out = append(out, h...)
	}
	for _, l := range b.all {
		out = binary.LittleEndian.AppendUint64(out, l.url)
		out = binary.LittleEndian.AppendUint64(out, l.doc)
		out = binary.LittleEndian.AppendUint32(out, l.host)
	}
	return out
}

// linkIndex reads a file of links.
type linkIndex struct {
	mapped
	hosts []string
}

func (x linkIndex) len() int { return len(x.data) / linkSize }

func (x linkIndex) at(i int) link {
	b := x.data[i*linkSize:]
	return link{
		url:  binary.LittleEndian.Uint64(b),
		doc:  binary.LittleEndian.Uint64(b[8:]),
		host: binary.LittleEndian.Uint32(b[16:]),
	}
}

// to calls f for each document that links to a URL.
func (x linkIndex) to(url uint64, f func(doc uint64)) {
	i := sort.Search(x.len(), func(i int) bool { return x.at(i).url >= url })
	for ; i < x.len(); i++ {
		l := x.at(i)
		if l.url != url {
			return
		}
		f(l.doc)
	}
}

// mapped is an immutable file that is mapped into memory. The zero value is an empty one.
type mapped struct {
	data []byte // not yet read
	all  []byte
}

func (m mapped) close() {
	if m.all != nil {
		unix.Munmap(m.all) // read only: nothing can be lost
	}
}

// openMapped maps a file after its magic; a file that does not exist is empty.
func openMapped(root regular.Root, name, magic string) (m mapped, err error) {
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	} else if err != nil {
		return m, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return m, err
	}
	if fi.Size() == 0 && magic == "" {
		return m, nil
	}
	if fi.Size() < int64(len(magic)) {
		return m, fmt.Errorf("%s: %w", name, errIndex)
	}
	if m.all, err = unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return m, fmt.Errorf("map %s: %w", name, err)
	}
	rest, ok := bytes.CutPrefix(m.all, []byte(magic))
	if !ok {
		m.close()
		return mapped{}, fmt.Errorf("%s: %w", name, errIndex)
	}
	m.data = rest
	return m, nil
}

func openHeld(root regular.Root, name string) (x heldIndex, err error) {
	if x.mapped, err = openMapped(root, name, heldMagic); err == nil && len(x.data)%heldSize != 0 {
		x.close()
		return heldIndex{}, fmt.Errorf("%s: %w", name, errIndex)
	}
	return x, err
}

func openLinks(root regular.Root, name string) (x linkIndex, err error) {
	if x.mapped, err = openMapped(root, name, linksMagic); err != nil || x.all == nil {
		return x, err
	}
	if err = x.readHosts(); err != nil {
		x.close()
		return linkIndex{}, fmt.Errorf("%s: %w", name, errIndex)
	}
	return x, nil
}

func (x *linkIndex) readHosts() error {
	r := bytes.NewReader(x.data)
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return err
	}
	for range n {
		size, err := binary.ReadUvarint(r)
		if err != nil || size > uint64(r.Len()) {
			return io.ErrUnexpectedEOF
		}
		host := make([]byte, size)
		if _, err := io.ReadFull(r, host); err != nil {
			return err
		}
		x.hosts = append(x.hosts, string(host))
	}
	x.data = x.data[len(x.data)-r.Len():]
	if len(x.data)%linkSize != 0 {
		return io.ErrUnexpectedEOF
	}
	for i := range x.len() {
		if x.at(i).host >= n {
			return io.ErrUnexpectedEOF
		}
	}
	return nil
}
