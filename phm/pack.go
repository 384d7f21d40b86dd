// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"mirrord/internal/inorder"
)

// ErrDamaged says that a file is not what phm.files says of it, or that a set is not whole.
var ErrDamaged = errors.New("damaged")

// inMemory is the size in bytes up to which a file is packed in one pass, by way of memory.
const inMemory = 8 << 20

// packLevel is the level of deflate at which archives are packed, and the deltas between them. The level
// after it takes a seventh more time for 1.4 % smaller archives of documentation.
const packLevel = 5

// tableLevel is that of phm.json and phm.files. It stays as it is: who applies a delta packs these two again,
// and must come to the bytes of the archive that another release wrote.
const tableLevel = 6

// PackOptions are the choices of Pack and PackTar.
type PackOptions struct {
	// PackTar only: directory that all names get, such as "samba-v12/"; empty puts phm.json at the root
	Prefix string

	Crew inorder.Crew // reads and compresses beside the caller; fsys must be safe for concurrent use then
}

// Pack writes the archive form of a PHM directory: phm.json, phm.files, then the files in the order of the
// table. Equal trees give equal bytes. Every file is checked against the table while it is read; the first
// that differs ends the packing with ErrDamaged. Files that the table does not name are not packed. fsys
// should not follow links out of the tree (os.Root.FS).
func Pack(w io.Writer, fsys fs.FS, o PackOptions) (*Meta, error) {
	p := newZipPacker(w, o.Crew)
	defer p.stop()
	m, err := packTree(fsys, p)
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := p.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// PackTar writes a PHM directory as a tar that is compressed with zstd (RFC 8878), in the order and under the
// checks of Pack. What was written before an error ends within a frame.
func PackTar(w io.Writer, fsys fs.FS, o PackOptions) (*Meta, error) {
	prefix := ""
	if o.Prefix != "" {
		prefix = strings.TrimSuffix(o.Prefix, "/")
		if err := CheckPath(prefix); err != nil {
			return nil, fmt.Errorf("pack: prefix: %w", err)
		}
		prefix += "/"
	}
	p := newTarPacker(w, prefix, o.Crew)
	defer p.frames.Close()
	m, err := packTree(fsys, p)
	if err == nil {
		err = p.finish()
	}
	if err != nil {
		p.abort()
		return nil, fmt.Errorf("pack: %w", err)
	}
	return m, nil
}

// An item is one file to pack.
type item struct {
	fsys  fs.FS
	*File // SHA256 is "" when nothing is known
}

// packer takes the files of a set in their order.
type packer interface{ add(item) error }

func packTree(fsys fs.FS, p packer) (*Meta, error) {
	m, err := openChecked(fsys)
	if err != nil {
		return nil, err
	}
	if err := (Limits{}).withDefaults().hold(m); err != nil { // no import would take it
		return nil, err
	}
	if err := packOwn(fsys, m, p); err != nil {
		return nil, err
	}
	return m, packFiles(fsys, m, p)
}

// packOwn packs phm.json and phm.files.
func packOwn(fsys fs.FS, m *Meta, p packer) error {
	for _, name := range []string{MetaName, FilesName} {
		f, err := ownFile(fsys, m, name)
		if err != nil {
			return err
		}
		f.Modified = clampTime(f.Modified)
		if err := p.add(item{fsys, f}); err != nil {
			return err
		}
	}
	return nil
}

// ownFile is phm.json or phm.files as a file of the set.
func ownFile(fsys fs.FS, m *Meta, name string) (*File, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Size: info.Size(), Modified: m.Retrieved}
	if name == FilesName {
		f.SHA256 = m.TableSum
	}
	return f, nil
}

// packFiles packs the files of the table, and checks on the way that phm.json agrees with it.
func packFiles(fsys fs.FS, m *Meta, p packer) error {
	for f, err := range agreeing(fsys, m) {
		if err != nil {
			return err
		}
		if f.Modified.IsZero() {
			f.Modified = m.Retrieved
		}
		f.Modified = clampTime(f.Modified)
		if err := p.add(item{fsys, f}); err != nil {
			return err
		}
	}
	return nil
}

// clampTime limits t to the range of both ZIP forms of a time, in whole seconds of UTC.
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
	f, err := OpenRegular(it.fsys, it.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	digest := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(w, digest), onlyReader{io.LimitReader(f, it.Size)}, buf)
	more := 0
	if err == nil && n == it.Size { // an archive's reader checks its sum at the end
		var one [1]byte
		if more, err = io.ReadFull(f, one[:]); err == io.EOF {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("copy %q: %w", it.Path, err)
	}
	return it.check(n+int64(more), digest.Sum(nil))
}

// check compares size and digest of a file that was read.
func (it item) check(size int64, digest []byte) error {
	if size != it.Size {
		return fmt.Errorf("copy %q: %w: its size is not %d", it.Path, ErrDamaged, it.Size)
	}
	if sum := hex.EncodeToString(digest); it.SHA256 != "" && sum != it.SHA256 {
		return fmt.Errorf("copy %q: %w: its SHA-256 is %s, not %s", it.Path, ErrDamaged, sum, it.SHA256)
	}
	return nil
}

// read reads the file into a buffer, which it may replace, and checks its size and digest.
func (it item) read(buf []byte) ([]byte, error) {
	f, err := OpenRegular(it.fsys, it.Path)
	if err != nil {
		return nil, err
	}
	return it.readFrom(f, buf)
}

// readFrom is read of the file when it is open. It closes it.
func (it item) readFrom(f fs.File, buf []byte) ([]byte, error) {
	defer f.Close()
	if int64(cap(buf)) <= it.Size { // one more byte would be too many
		buf = make([]byte, it.Size+1+it.Size/4)
	}
	n, err := io.ReadFull(f, buf[:it.Size+1])
	if err == io.EOF || err == io.ErrUnexpectedEOF { // an archive's reader checks its sum at the end
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("copy %q: %w", it.Path, err)
	}
	digest := sha256.Sum256(buf[:n])
	return buf[:n], it.check(int64(n), digest[:])
}

// onlyReader hides WriterTo, so that a copy uses the buffer it is given.
type onlyReader struct{ io.Reader }

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
