// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"mirrord/internal/inorder"
)

// Apply writes the target archive of a delta from its base archive. It fails with ErrBase for another
// archive, before it writes anything, and when the result is not what the delta promises: the caller must
// then discard the output.
func Apply(w io.Writer, old, delta *Archive) (*Delta, error) {
	d, err := ReadDelta(delta)
	if err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	if err := d.apply(w, old, delta); err != nil {
		return nil, fmt.Errorf("apply: %w", err)
	}
	return d, nil
}

func (d *Delta) apply(w io.Writer, old, delta *Archive) error {
	if err := d.fits(old); err != nil {
		return err
	}
	source, err := d.sources(old, delta)
	if err != nil {
		return err
	}
	_, target, err := d.targetTree(old, delta)
	if err != nil {
		return err
	}
	out := &summed{w: w, digest: sha256.New(), left: d.Target.Bytes}
	z := newZipPacker(out, inorder.Crew{})
	if _, err = packTree(target, &rawPacker{z, source}); err == nil {
		err = z.Close()
	}
	if errors.Is(err, errLonger) || (err == nil && (out.left > 0 || hex.EncodeToString(out.digest.Sum(nil)) !=
		d.Target.SHA256)) {
		err = fmt.Errorf("%w: what comes out is not the archive that %s wrote: one of the two is damaged "+
			"(mirrord verify tells), or another release packed it; get the whole archive", ErrBase, d.Generator)
	}
	return err
}

// fits returns an error unless an archive is the one that the delta builds on.
func (d *Delta) fits(old *Archive) error {
	m, err := OpenMeta(old)
	if err != nil {
		return fmt.Errorf("old archive: %w", err)
	}
	got, err := sumOf(old, FilesName)
	if err != nil {
		return fmt.Errorf("old archive: %w", err)
	}
	if got == d.Base.TableSum {
		return nil
	}
	is := baseOf(m)
	if is.TableSum = got; is.Version == d.Target.Version && is.Primary == d.Base.Primary {
		return fmt.Errorf("%w: it builds on %s, and the old archive is version %d already", ErrBase, d.Base,
			is.Version)
	}
	return fmt.Errorf("%w: it builds on %s, and the old archive is %s", ErrBase, d.Base, is)
}

// sources returns where the compressed bytes of the target's files lie.
func (d *Delta) sources(old, delta *Archive) (func(item) (*zip.File, error), error) {
	from, moved := map[bodyKey]string{}, map[string]bool{}
	for f, err := range tableOf(delta) {
		if err != nil {
			return nil, fmt.Errorf("delta: %w", err)
		}
		if delta.files[f.Path] == nil {
			from[bodyOf(f)], moved[f.Path] = "", true
		}
	}
	for f, err := range tableOf(old) {
		if err != nil {
			return nil, fmt.Errorf("old archive: %w", err)
		}
		if _, wanted := from[bodyOf(f)]; wanted {
			from[bodyOf(f)] = f.Path
		}
	}
	return func(it item) (*zip.File, error) {
		f := delta.files[it.Path]
		switch {
		case f != nil:
		case moved[it.Path]:
			f = old.files[from[bodyOf(it.File)]]
		default:
			f = old.files[it.Path]
		}
		if f == nil || f.UncompressedSize64 != uint64(it.Size) {
			return nil, fmt.Errorf("%q: %w: neither archive has it with %d bytes", it.Path, ErrDamaged, it.Size)
		}
		return f, nil
	}, nil
}

// rawPacker packs files by their compressed bytes where source knows these.
type rawPacker struct {
	*zipPacker
	source func(item) (*zip.File, error)
}

func (p *rawPacker) add(it item) error {
	if it.Path == MetaName || it.Path == FilesName {
		return p.zipPacker.add(it)
	}
	f, err := p.source(it)
	if err != nil {
		return err
	}
	if f == nil {
		return p.zipPacker.add(it)
	}
	if err := p.flush(); err != nil {
		return err
	}
	h := it.header()
	h.Method, h.CRC32 = f.Method, f.CRC32
	if h.Flags = f.Flags & zipDescriptor; f.UncompressedSize64 <= inMemory || h.Method != zip.Deflate {
		h.Flags = 0 // as zipPacker writes it, regardless of f's writer
	}
	raw, err := f.OpenRaw()
	if err != nil {
		return err
	}
	w, err := p.createRaw(h, f.CompressedSize64)
	if err != nil {
		return err
	}
	if _, err := io.CopyBuffer(w, onlyReader{raw}, p.buf); err != nil {
		return fmt.Errorf("copy %q: %w", it.Path, err)
	}
	if h.Flags&zipDescriptor != 0 {
		h.ReaderVersion = f.ReaderVersion // 45 for the large ones, in the directory only
	}
	return nil
}

// zipDescriptor is bit 3 of an entry's flags: its sizes stand behind its bytes.
const zipDescriptor = 0x8

var errLonger = errors.New("more bytes than announced")

// summed hashes its input, and accepts at most so many bytes.
type summed struct {
	w      io.Writer
	digest hash.Hash
	left   int64
}

func (s *summed) Write(p []byte) (int, error) {
	if int64(len(p)) > s.left {
		return 0, errLonger
	}
	n, err := s.w.Write(p)
	s.digest.Write(p[:n])
	s.left -= int64(n)
	return n, err
}
