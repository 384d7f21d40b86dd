// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/klauspost/compress/flate"
)

// ErrDamaged says that a file is not what phm.files says of it, or that a set is not whole.
var ErrDamaged = errors.New("damaged")

// inMemory is the size in bytes up to which a file is packed in one pass, by way of memory.
const inMemory = 8 << 20

// packLevel is the level of deflate at which archives are packed, and the deltas between them.
const packLevel = 6

// PackOptions are the choices of Pack and PackTar.
type PackOptions struct {
	Level int // of deflate, 1 to 9; 0 is packLevel
	// PackTar only: directory that all names get, such as "samba-v12/"; empty puts phm.json at the root
	Prefix string
}

// Pack writes the archive form of a PHM directory: phm.json, phm.files, then the files in the order of the
// table. Equal trees give equal bytes. Every file is checked against the table while it is read; the first
// that differs ends the packing with ErrDamaged. Files that the table does not name are not packed. fsys
// should not follow links out of the tree (os.Root.FS).
func Pack(w io.Writer, fsys fs.FS, o PackOptions) (*Meta, error) {
	if o.Level == 0 {
		o.Level = packLevel
	}
	p, err := newZipPacker(w, o.Level)
	if err != nil {
		return nil, fmt.Errorf("pack: level %d: %w", o.Level, err)
	}
	m, err := packTree(fsys, p)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := p.zip.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// PackTar writes a PHM directory as a tar, in the order and under the checks of Pack. Compression is the
// caller's.
func PackTar(w io.Writer, fsys fs.FS, o PackOptions) (*Meta, error) {
	prefix := ""
	if o.Prefix != "" {
		prefix = strings.TrimSuffix(o.Prefix, "/")
		if err := CheckPath(prefix); err != nil {
			return nil, fmt.Errorf("pack: prefix: %w", err)
		}
		prefix += "/"
	}
	p := &tarPacker{tar: tar.NewWriter(w), prefix: prefix, buf: make([]byte, 64<<10)}
	m, err := packTree(fsys, p)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := p.tar.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// An item is one file to pack.
type item struct {
	fsys     fs.FS
	path     string
	mime     string
	size     int64
	sum      string // SHA-256 in hex, or "" when nothing is known
	modified time.Time
}

// packer takes the files of a set in their order.
type packer interface{ add(item) error }

func packTree(fsys fs.FS, p packer) (*Meta, error) {
	m, err := checkTable(fsys)
	if err != nil {
		return nil, err
	}
	if err := packOwn(fsys, m, p); err != nil {
		return nil, err
	}
	return m, packFiles(fsys, m, p)
}

// packOwn packs phm.json and phm.files.
func packOwn(fsys fs.FS, m *Meta, p packer) error {
	for _, it := range []item{
		{path: MetaName, mime: "application/json"}, {path: FilesName, mime: "application/jsonl", sum: m.TableSum},
	} {
		info, err := fs.Stat(fsys, it.path)
		if err != nil {
			return err
		}
		it.fsys, it.size, it.modified = fsys, info.Size(), clampTime(m.Retrieved)
		if err := p.add(it); err != nil {
			return err
		}
	}
	return nil
}

// packFiles packs the files of the table.
func packFiles(fsys fs.FS, m *Meta, p packer) error {
	modified := clampTime(m.Retrieved)
	for f, err := range tableOf(fsys) {
		if err != nil {
			return err
		}
		it := item{
			fsys:     fsys,
			path:     f.Path,
			mime:     f.Type,
			size:     f.Size,
			sum:      f.SHA256,
			modified: modified,
		}
		if !f.Modified.IsZero() {
			it.modified = clampTime(f.Modified)
		}
		if err := p.add(it); err != nil {
			return err
		}
	}
	return nil
}

// clampTime brings t into what both ZIP forms of a time can say, in whole seconds of UTC.
func clampTime(t time.Time) time.Time {
	first, last := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	switch t = t.UTC().Truncate(time.Second); {
	case t.Before(first):
		return first
	case t.After(last):
		return last
	}
	return t
}

// copyTo writes the file to w and checks its size and digest.
func (it item) copyTo(w io.Writer, buf []byte) error {
	f, err := OpenRegular(it.fsys, it.path)
	if err != nil {
		return err
	}
	defer f.Close()
	digest := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(w, digest), onlyReader{io.LimitReader(f, it.size)}, buf)
	more := 0
	if err == nil && n == it.size { // an archive's reader checks its sum at the end
		var one [1]byte
		if more, err = io.ReadFull(f, one[:]); err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("copy %q: %w", it.path, err)
	}
	if n != it.size || more > 0 {
		return fmt.Errorf("copy %q: %w: its size is not %d", it.path, ErrDamaged, it.size)
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); it.sum != "" && sum != it.sum {
		return fmt.Errorf("copy %q: %w: its SHA-256 is %s, not %s", it.path, ErrDamaged, sum, it.sum)
	}
	return nil
}

// onlyReader hides WriterTo, so that a copy uses the buffer it is given.
type onlyReader struct{ io.Reader }

type zipPacker struct {
	zip      *zip.Writer
	deflater *flate.Writer
	raw      bytes.Buffer
	packed   bytes.Buffer
	buf      []byte
}

func newZipPacker(w io.Writer, level int) (*zipPacker, error) {
	deflater, err := flate.NewWriter(io.Discard, level)
	if err != nil {
		return nil, err
	}
	p := &zipPacker{zip: zip.NewWriter(w), deflater: deflater, buf: make([]byte, 64<<10)}
	p.zip.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return newBoundedDeflate(w, level)
	})
	return p, nil
}

// header begins the header of a file.
func (it item) header() *zip.FileHeader {
	h := &zip.FileHeader{Name: it.path, Modified: it.modified, UncompressedSize64: uint64(it.size)}
	h.SetMode(0o644)
	return h
}

// add stores what does not shrink and deflates the rest. A stored entry always has its size and checksum in
// front, since readers of a stream cannot find its end otherwise; a large one is read twice for that.
func (p *zipPacker) add(it item) error {
	h := it.header()
	shrinks := Compressible(it.mime, it.path)
	switch {
	case it.size <= inMemory:
		p.raw.Reset()
		if err := it.copyTo(&p.raw, p.buf); err != nil {
			return err
		}
		body := p.raw.Bytes()
		h.CRC32 = crc32.ChecksumIEEE(body)
		if shrinks && len(body) > 0 {
			p.packed.Reset()
			p.deflater.Reset(&p.packed)
			if _, err := p.deflater.Write(body); err != nil {
				return err
			}
			if err := p.deflater.Close(); err != nil {
				return err
			}
			if n := p.packed.Len(); n < len(body) && len(body) <= packRatio*(n+zipHeaders) {
				h.Method, body = zip.Deflate, p.packed.Bytes()
			}
		}
		w, err := p.createRaw(h, uint64(len(body)))
		if err != nil {
			return err
		}
		_, err = w.Write(body)
		return err
	case shrinks:
		h.Method = zip.Deflate
		w, err := p.zip.CreateHeader(h)
		if err != nil {
			return err
		}
		return it.copyTo(w, p.buf)
	}
	sum := crc32.NewIEEE()
	if err := it.copyTo(sum, p.buf); err != nil {
		return err
	}
	h.CRC32 = sum.Sum32()
	w, err := p.createRaw(h, h.UncompressedSize64)
	if err != nil {
		return err
	}
	return it.copyTo(w, p.buf)
}

// createRaw begins an entry whose sizes are known, with what CreateHeader would set.
func (p *zipPacker) createRaw(h *zip.FileHeader, compressed uint64) (io.Writer, error) {
	h.CompressedSize64 = compressed
	h.CreatorVersion = h.CreatorVersion&0xff00 | 20
	h.ReaderVersion = 20
	if marked(h.Name) {
		h.Flags |= zipUTF8
	}
	t := h.Modified
	//lint:ignore SA1019 CreateRaw writes this field as it stands and reads Modified not at all
	h.ModifiedDate = uint16(t.Day() + int(t.Month())<<5 + (t.Year()-1980)<<9)
	//lint:ignore SA1019 the same
	h.ModifiedTime = uint16(t.Second()/2 + t.Minute()<<5 + t.Hour()<<11)
	s := uint32(t.Unix())
	// extended timestamp
	h.Extra = []byte{0x55, 0x54, 5, 0, 1, byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
	return p.zip.CreateRaw(h)
}

// zipHeaders is what an entry takes beside its body, in bytes, at least.
const zipHeaders = 30 + 46

// zipUTF8 is bit 11 of an entry's flags: its name is UTF-8.
const zipUTF8 = 0x800

// marked reports whether a mirror path needs zipUTF8: it has a character for which some code page has another
// one. archive/zip counts "~" among these, so that earlier releases refuse an archive without the mark.
func marked(path string) bool {
	return strings.ContainsFunc(path, func(r rune) bool { return r > '}' })
}

// Compressible reports whether it is worth a try to compress a file of a type and path.
func Compressible(mime, path string) bool {
	switch e := essence(mime); {
	case strings.HasPrefix(e, "text/"), strings.HasSuffix(e, "+xml"), strings.HasSuffix(e, "+json"):
		return true
	case strings.HasPrefix(e, "image/"):
		return e == "image/bmp" || e == "image/x-ms-bmp" || e == "image/x-icon" || e == "image/vnd.microsoft.icon"
	case strings.HasPrefix(e, "video/"), strings.HasPrefix(e, "audio/"):
		return e == "audio/wav" || e == "audio/x-wav"
	case e == "font/woff", e == "font/woff2", e == "application/zip", e == "application/gzip",
		e == "application/x-gzip",
		e == "application/x-xz", e == "application/x-bzip2", e == "application/zstd",
		e == "application/x-7z-compressed",
		e == "application/pdf", e == "application/java-archive", e == "application/epub+zip":
		return false
	}
	_, ext := splitExtension(path)
	return !contains(" .gz .tgz .bz2 .xz .txz .zst .zip .7z .rar .jar .deb .rpm .apk .iso .img "+
		".png .jpg .jpeg .gif .webp .mp3 .mp4 .webm .pdf .woff .woff2 ", ext)
}

type tarPacker struct {
	tar    *tar.Writer
	prefix string
	buf    []byte
}

func (p *tarPacker) add(it item) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     p.prefix + it.path,
		Size:     it.size,
		Mode:     0o644,
		ModTime:  it.modified,
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("add %q: %w", it.path, err)
	}
	return it.copyTo(p.tar, p.buf)
}
