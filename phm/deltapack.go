// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"time"

	"mirrord/internal/inorder"
)

// PackDelta writes what a PHM has and a base does not have as a delta archive. base is the tree or the
// archive that the delta builds on. Apply makes the target's archive of the base's and the delta, byte for
// byte: the one that Pack writes; of an archive as base, the one with the base's compressed bytes where it
// has them. All files of target are read, those of the base when it is an archive.
func PackDelta(w io.Writer, base, target fs.FS) (*Delta, error) {
	d, err := newDeltaPacker(base, target).pack(w)
	if err != nil {
		return nil, fmt.Errorf("pack delta: %w", err)
	}
	return d, nil
}

// bodyKey says which bytes lie in an archive: those of a file, compressed if that is worth a try.
type bodyKey struct {
	sum      string
	compress bool
}

func bodyOf(f *File) bodyKey { return bodyKey{f.SHA256, Compressible(f.Type, f.Path)} }

type deltaPacker struct {
	base, target fs.FS
	delta        Delta
	lines        map[string]bool    // paths of the target whose lines the base does not have
	bodies       map[bodyKey]string // what these need, and the path at which the base has it, or ""
	ships        map[string]bool    // paths of the files that the delta has
}

func newDeltaPacker(base, target fs.FS) *deltaPacker {
	return &deltaPacker{
		base:   base,
		target: target,
		bodies: map[bodyKey]string{},
		lines:  map[string]bool{},
		ships:  map[string]bool{},
	}
}

// readTarget checks the file table of the target and begins the delta with its phm.json.
func (p *deltaPacker) readTarget() error {
	m, err := checkTable(p.target, nil)
	if err != nil {
		return err
	}
	text, err := fs.ReadFile(p.target, MetaName)
	p.delta = Delta{
		Format:    deltaFormat,
		Generator: m.Generator,
		Title:     m.Title,
		Target:    DeltaTarget{Version: m.Version},
		Meta:      string(text),
	}
	return err
}

func (p *deltaPacker) pack(w io.Writer) (*Delta, error) {
	old, err := checkTable(p.base, nil)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	if err := p.readTarget(); err != nil {
		return nil, err
	}
	if p.delta.Base = baseOf(old); p.delta.Base.TableSum == "" {
		return nil, fmt.Errorf("base: %w: its %s has no tableSHA256", ErrBase, MetaName)
	}
	if err := p.compare(); err != nil {
		return nil, err
	}
	if err := p.find(); err != nil {
		return nil, err
	}
	if p.delta.Target.Bytes, p.delta.Target.SHA256, err = p.wholeSum(); err != nil {
		return nil, err
	}
	return &p.delta, p.write(w)
}

// compare finds the lines that the base does not have, and those of the base that go.
func (p *deltaPacker) compare() error {
	next, stop := iter.Pull2(tableOf(p.base))
	defer stop()
	at := 0
	old, err, ok := next()
	step := func() {
		at++
		old, err, ok = next()
	}
	goes := func() {
		r := p.delta.Removed
		if k := len(r) - 1; k >= 0 && r[k][0]+r[k][1] == at {
			r[k][1]++
		} else {
			p.delta.Removed = append(r, [2]int{at, 1})
		}
		p.delta.Gone++
		step()
	}
	for f, ferr := range tableOf(p.target) {
		if ferr != nil {
			return ferr
		}
		for err == nil && ok && old.Path < f.Path {
			goes()
		}
		if err != nil {
			return fmt.Errorf("base: %w", err)
		}
		same := false
		if ok && old.Path == f.Path {
			if same, err = equalLines(old, f); err != nil {
				return err
			}
			step()
		}
		if !same {
			p.lines[f.Path] = true
			p.bodies[bodyOf(f)] = ""
		}
	}
	for err == nil && ok {
		goes()
	}
	p.delta.Lines = len(p.lines)
	return err
}

func equalLines(a, b *File) (bool, error) {
	x, err := AppendFile(nil, a)
	if err != nil {
		return false, err
	}
	y, err := AppendFile(nil, b)
	return bytes.Equal(x, y), err
}

// find looks for the bodies of these lines in the base.
func (p *deltaPacker) find() error {
	for f, err := range tableOf(p.base) {
		if err != nil {
			return err
		}
		if at, wanted := p.bodies[bodyOf(f)]; wanted && at == "" {
			p.bodies[bodyOf(f)] = f.Path
		}
	}
	for f, err := range tableOf(p.target) {
		if err != nil {
			return err
		}
		if p.lines[f.Path] && p.bodies[bodyOf(f)] == "" {
			p.ships[f.Path] = true
		}
	}
	p.delta.Bodies = len(p.ships)
	return nil
}

// wholeSum is the size and digest of the target's archive.
func (p *deltaPacker) wholeSum() (int64, string, error) {
	sum := &summed{w: io.Discard, digest: sha256.New(), left: math.MaxInt64}
	z := newZipPacker(sum, inorder.Crew{})
	source := func(item) (*zip.File, error) { return nil, nil }
	if a, ok := p.base.(*Archive); ok {
		source = func(it item) (*zip.File, error) {
			if p.ships[it.Path] {
				return nil, nil
			}
			at := it.Path
			if p.lines[it.Path] {
				at = p.bodies[bodyOf(it.File)]
			}
			return a.files[at], sameBody(a, at, it)
		}
	}
	if _, err := packTree(p.target, &rawPacker{z, source}); err != nil {
		return 0, "", err
	}
	if err := z.Close(); err != nil {
		return 0, "", err
	}
	return math.MaxInt64 - sum.left, hex.EncodeToString(sum.digest.Sum(nil)), nil
}

// sameBody checks that an archive has a file's bytes at a path.
func sameBody(a *Archive, at string, it item) error {
	f := *it.File
	f.Path = at
	if err := (item{a, &f}).copyTo(io.Discard, make([]byte, 64<<10)); err != nil {
		return fmt.Errorf("%w: %w", ErrBaseDamaged, err)
	}
	return nil
}

func (p *deltaPacker) write(w io.Writer) error {
	z := newZipPacker(w, inorder.Crew{})
	meta, err := p.delta.write()
	if err != nil {
		return err
	}
	var table bytes.Buffer
	for f, err := range tableOf(p.target) {
		if err != nil {
			return err
		}
		if !p.lines[f.Path] {
			continue
		}
		line, err := AppendFile(nil, f)
		if err != nil {
			return err
		}
		table.Write(line)
	}
	m, err := OpenMeta(p.target)
	if err != nil {
		return err
	}
	own := *m
	own.TableSum = ""
	if err := packOwn(memoryTree{MetaName: meta, FilesName: table.Bytes()}, &own, z); err != nil {
		return err
	}
	if err := packFiles(p.target, m, chosen{z, p.ships}); err != nil {
		return err
	}
	return z.Close()
}

// chosen packs some files only.
type chosen struct {
	packer
	paths map[string]bool
}

func (c chosen) add(it item) error {
	if !c.paths[it.Path] {
		return nil
	}
	return c.packer.add(it)
}

// memoryTree is a tree of files that are held in memory.
type memoryTree map[string][]byte

func (t memoryTree) Open(name string) (fs.File, error) {
	body, ok := t[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return NewMemoryFile(name, body, time.Time{}), nil
}
