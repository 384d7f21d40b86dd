// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
)

// An update is a delta archive for a program that has the files of a version, and not its archive: it has
// neither size nor digest of a resulting archive, and has each file whose bytes differ from those that the
// base has at its path. The result is checked by the file table alone.

// UpdateOptions are the choices of PackUpdate.
type UpdateOptions struct {
	// Charset returns the encoding that the origin named for a file, which the table does not have; "": none.
	Charset func(path string) string
	NoFiles bool // only the table
}

// PackUpdate writes what a PHM has and an older version of it does not have. Without a base that is
// everything. Only the files that are written are read.
func PackUpdate(w io.Writer, base, target fs.FS, o UpdateOptions) (*Delta, error) {
	whole := base == nil
	if whole {
		base = memoryTree{FilesName: nil}
	}
	d, err := newDeltaPacker(base, target).packUpdate(w, whole, o)
	if err != nil {
		return nil, fmt.Errorf("pack update: %w", err)
	}
	return d, nil
}

func (p *deltaPacker) packUpdate(w io.Writer, whole bool, o UpdateOptions) (*Delta, error) {
	if err := p.readTarget(); err != nil {
		return nil, err
	}
	p.delta.Base = DeltaBase{TableSum: TableSum(nil)}
	if !whole {
		old, err := checkTable(p.base, nil)
		if err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
		p.delta.Base = baseOf(old)
		if p.delta.Base.TableSum, err = sumOf(p.base, FilesName); err != nil {
			return nil, fmt.Errorf("base: %w", err)
		}
	}
	if err := p.compare(); err != nil {
		return nil, err
	}
	if !o.NoFiles {
		if err := p.shipChanged(o); err != nil {
			return nil, err
		}
	}
	return &p.delta, p.write(w)
}

// shipChanged takes the files whose bytes the base does not have at their paths.
func (p *deltaPacker) shipChanged(o UpdateOptions) error {
	old := map[string]string{} // digests
	for f, err := range tableOf(p.base) {
		if err != nil {
			return err
		}
		if p.lines[f.Path] {
			old[f.Path] = f.SHA256
		}
	}
	for f, err := range tableOf(p.target) {
		if err != nil {
			return err
		}
		if !p.lines[f.Path] || old[f.Path] == f.SHA256 {
			continue
		}
		p.ships[f.Path] = true
		if charset := o.Charset(f.Path); charset != "" {
			if p.delta.Charsets == nil {
				p.delta.Charsets = map[string]string{}
			}
			p.delta.Charsets[f.Path] = charset
		}
	}
	p.delta.Bodies = len(p.ships)
	return nil
}

// TableSum is the digest of a phm.files as phm.json has it.
func TableSum(table []byte) string {
	sum := sha256.Sum256(table)
	return hex.EncodeToString(sum[:])
}

// Update is an update that was opened, with its resulting table.
type Update struct {
	*Delta
	Target *Meta
	Table  []byte   // phm.files of the target
	Gone   []string // paths of the base that the target does not have

	files *Archive
}

// OpenUpdate opens an update and makes its resulting table from that of its base, which is nil for an
// update that has everything. It fails with ErrBase for another base.
func OpenUpdate(a *Archive, base []byte) (*Update, error) {
	u, err := openUpdate(a, base)
	if err != nil {
		return nil, fmt.Errorf("open update: %w", err)
	}
	return u, nil
}

func openUpdate(a *Archive, base []byte) (*Update, error) {
	d, err := readDelta(a)
	if err != nil {
		return nil, err
	}
	if got := TableSum(base); got != d.Base.TableSum {
		return nil, fmt.Errorf("%w: it builds on %s, not on the table %.12s", ErrBase, d.Base, got)
	}
	u := &Update{Delta: d, files: a}
	old := memoryTree{FilesName: base}
	target, tree, err := d.targetTree(old, a)
	if err != nil {
		return nil, err
	}
	u.Target, u.Table = target, tree[FilesName]
	if u.Target.TableSum == "" || TableSum(u.Table) != u.Target.TableSum {
		return nil, fmt.Errorf("%w: %s that comes of it is not that of version %d", ErrDamaged, FilesName,
			u.Target.Version)
	}
	u.Gone, err = u.gone(old)
	return u, err
}

// gone lists the paths of the base that the target does not have.
func (u *Update) gone(old fs.FS) (paths []string, err error) {
	next, stop := iter.Pull2(tableOf(memoryTree{FilesName: u.Table}))
	defer stop()
	now, err, ok := next()
	for f, ferr := range tableOf(old) {
		for ok && err == nil && now.Path < f.Path {
			now, err, ok = next()
		}
		if err = errors.Join(err, ferr); err != nil {
			return nil, err
		}
		if !ok || now.Path != f.Path {
			paths = append(paths, f.Path)
		}
	}
	return paths, nil
}

// Has reports whether the update has the bytes of a file of the target.
func (u *Update) Has(f *File) bool {
	info, err := u.files.Stat(f.Path)
	return err == nil && info.Size() == f.Size
}

// CopyBody writes the bytes of a file that the update has, and checks them against its line.
func (u *Update) CopyBody(w io.Writer, f *File) error {
	return item{u.files, f}.copyTo(w, make([]byte, 64<<10))
}
