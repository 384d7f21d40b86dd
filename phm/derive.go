// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A Relink returns a file with its links changed for a derived PHM. f is the file as it was, and its relative
// links are resolved against f.Path; to says what becomes of a path of the old PHM:
//
//	to(path) = (new, true)   it lies at new: write a link relative to to(f.Path)
//	to(path) = (URL, false)  it is left out: write the absolute URL
//	to(path) = ("", false)   it never was in the set: leave the link as it stands
//
// It may return raw itself. raw is not valid after the return.
type Relink func(f *File, raw []byte, to func(path string) (ref string, inside bool)) ([]byte, error)

// A Derivation says how Derive makes one PHM from another.
type Derivation struct {
	Flatten bool             // all files lie in one folder
	Mask    *Types           // these files are left out; nil leaves out none
	Relink  Relink           // called for every file that Linked names
	Linked  func(*File) bool // whether a file may have links to change
}

// Derive writes a PHM that is made from another, and notes in its phm.json what was done. Flattened, each
// file keeps the last segment of its path where that is free, the entry point before all others, and is
// qualified otherwise. Of a mask links to files that are left out become absolute URLs of their origin; the
// entry point stays.
func Derive(fsys fs.FS, sink Sink, o Derivation) (*Meta, error) {
	m, err := OpenMeta(fsys)
	if err != nil {
		return nil, fmt.Errorf("derive: %w", err)
	}
	d := &derivation{
		fsys:   fsys,
		sink:   sink,
		relink: o.Relink,
		linked: o.Linked,
		meta:   *m,
	}
	names := new(Namer)
	entry := m.Entry
	if o.Flatten {
		entry = flatName(names, m.Entry)
	}
	err = d.read(func(f *File) (string, bool) {
		switch {
		case f.Path == m.Entry:
			return entry, true
		case o.Mask != nil && o.Mask.Has(f.Type, f.Path):
			return "", false
		case o.Flatten:
			return flatName(names, f.Path), true
		}
		return f.Path, true
	})
	if err == nil {
		d.note(o)
		err = d.write(o.Flatten)
	}
	if err != nil {
		return nil, fmt.Errorf("derive: %w", err)
	}
	return &d.meta, nil
}

// note appends a derivation to those in phm.json.
func (d *derivation) note(o Derivation) {
	m := &d.meta
	flat, masked := o.Flatten || strings.Contains(m.Derived, derivedFlat), o.Mask != nil ||
		strings.Contains(m.Derived, derivedMask)
	var what []string
	if flat {
		what = append(what, derivedFlat)
	}
	if masked {
		what = append(what, derivedMask)
	}
	m.Derived = strings.Join(what, "+")
	if o.Mask == nil {
		return
	}
	m.Masked = slices.Clone(m.Masked)
	for _, w := range o.Mask.Words() {
		if !slices.Contains(m.Masked, w) {
			m.Masked = append(m.Masked, w)
		}
	}
	m.MaskedFiles += len(d.lost)
	m.MaskedBytes += d.lostBytes
}

// The words of Meta.Derived.
const (
	derivedFlat = "flatten"
	derivedMask = "mask"
)

// flatName returns a free name for the file at path in a tree without directories.
func flatName(names *Namer, path string) string {
	base := protect(path[strings.LastIndexByte(path, '/')+1:], true)
	if CheckPath(base) == nil && names.claim(base) {
		return base
	}
	stem, ext := splitExtension(base)
	stem = cut(stem, MaxSegment-hashLen-len(ext)-edgeRoom)
	for salt := path; ; salt += " " {
		if name := protect(stem+qualifier(salt)+ext, true); names.claim(name) {
			return name
		}
	}
}

// derivation makes one PHM from another: read decides where each file goes, write does it.
type derivation struct {
	fsys   fs.FS
	sink   Sink
	relink Relink
	linked func(*File) bool
	meta   Meta // the old one until write has finished

	kept  []derived
	index map[string]int32 // old path to kept, or the bitwise complement of an index of lost
	lost  []string         // URLs of the files that are left out

	lostBytes int64
}

type derived struct {
	File
	old string
}

var errNoRelink = errors.New("no functions to find and change links were given")

func (d *derivation) read(place func(*File) (string, bool)) error {
	if d.relink == nil || d.linked == nil {
		return errNoRelink
	}
	d.index = map[string]int32{}
	for f, err := range tableOf(d.fsys) {
		if err != nil {
			return err
		}
		path, keep := place(f)
		if !keep {
			d.index[f.Path] = ^int32(len(d.lost))
			d.lost = append(d.lost, f.URL)
			d.lostBytes += f.Size
			continue
		}
		d.index[f.Path] = int32(len(d.kept))
		k := derived{*f, f.Path}
		k.Path = path
		d.kept = append(d.kept, k)
	}
	i, ok := d.index[d.meta.Entry]
	if !ok {
		return fmt.Errorf("entry point %q: %w: %s does not name it", d.meta.Entry, ErrDamaged, FilesName)
	}
	entry := &d.kept[i]
	d.meta.Entry = entry.Path
	if !slices.ContainsFunc(d.kept, func(k derived) bool { return hasOrigin(k.URL, d.meta.Primary) }) {
		d.meta.Primary = originOf(entry.URL)
	}
	return nil
}

func (d *derivation) to(path string) (string, bool) {
	i, ok := d.index[path]
	switch {
	case !ok:
		return "", false
	case i < 0:
		return d.lost[^i], false
	}
	return d.kept[i].Path, true
}

// write copies and relinks the files, then writes the table and phm.json. With from each file records its old
// path.
func (d *derivation) write(from bool) error {
	buf := make([]byte, 64<<10)
	var raw bytes.Buffer
	for i := range d.kept {
		k := &d.kept[i]
		old := k.File
		old.Path = k.old
		it := item{d.fsys, &old}
		if d.linked(&old) && k.Size <= maxLinked {
			raw.Reset()
			if err := it.copyTo(&raw, buf); err != nil {
				return err
			}
			body, err := d.relink(&old, raw.Bytes(), d.to)
			if err != nil {
				return fmt.Errorf("relink %q: %w", k.old, err)
			}
			if err := writeFile(d.sink, k.Path, k.Modified, body); err != nil {
				return err
			}
			sum := sha256.Sum256(body)
			k.Size, k.SHA256 = int64(len(body)), hex.EncodeToString(sum[:])
		} else {
			w, err := d.sink.Create(k.Path, k.Modified)
			if err != nil {
				return fmt.Errorf("create %q: %w", k.Path, err)
			}
			if err := it.copyInto(w, buf); err != nil {
				return err
			}
		}
		if from && k.From == "" {
			k.From = k.old
		}
	}
	slices.SortFunc(d.kept, func(a, b derived) int { return cmp.Compare(a.Path, b.Path) })
	return writeTable(d.sink, &d.meta, func(yield func(*File) bool) {
		for i := range d.kept {
			if !yield(&d.kept[i].File) {
				return
			}
		}
	})
}

// writeTable writes phm.files and then phm.json, whose counts it sets.
func writeTable(sink Sink, m *Meta, files func(yield func(*File) bool)) error {
	w, err := sink.Create(FilesName, m.Retrieved)
	if err != nil {
		return fmt.Errorf("create %s: %w", FilesName, err)
	}
	fw := NewFilesWriter(w)
	for f := range files {
		if err := fw.Write(f); err != nil {
			w.Close()
			return err
		}
	}
	t, err := fw.Finish()
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	m.Count(t)
	m.DescribeFormats()
	var meta bytes.Buffer
	if err := WriteMeta(&meta, m); err != nil {
		return err
	}
	return writeFile(sink, MetaName, m.Retrieved, meta.Bytes())
}
