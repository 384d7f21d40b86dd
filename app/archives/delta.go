// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/look"
	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store"
)

// delta writes what a version has and an older one, or an archive, does not have.
func (o *exporting) delta(ctx context.Context) (_ *Exported, err error) {
	base, label, err := openBase(ctx, o.st, o.name, o.Since)
	if err != nil {
		return nil, err
	}
	defer env.Close(&err, base)
	if o.Out == "" {
		o.Out = o.name + "-since-" + label + "." + archive.PHM
	}
	tree, err := openVersion(o.st, o.name, o.Version)
	if err != nil {
		return nil, err
	}
	out, err := o.writeDelta(ctx, base.FS, tree)
	if errors.Is(err, phm.ErrBaseDamaged) {
		return nil, fmt.Errorf("%w; mirrord verify %s finds all damage: build on another archive, or on a version",
			err, o.Since)
	}
	why := o.damageOf(ctx, err)
	if why == nil {
		return out, sayDamage(o.name, err)
	}
	past, err := look.OpenPast(o.st, o.name, 0)
	if err != nil {
		return nil, sayDamage(o.name, why)
	}
	if out, err = o.writeDelta(ctx, base.FS, past); err != nil {
		return nil, sayDamage(o.name, err)
	}
	o.app.Warning(treeDamaged(o.name, why))
	return out, nil
}

// writeDelta writes what a tree has and a base does not have. It closes the tree. Before anything is written,
// all of the tree was read and checked.
func (o *exporting) writeDelta(
	ctx context.Context, base fs.FS, tree files.VersionTree,
) (_ *Exported, err error) {
	if tree, err = o.withHistory(ctx, tree, base); err != nil {
		return nil, err
	}
	defer env.Close(&err, tree)
	target := o.watch(ctx, tree)
	if o.Out == "-" {
		_, err := phm.PackDelta(o.Stream, base, target)
		return nil, err
	}
	var d *phm.Delta
	form, _ := archive.Find(archive.PHM)
	size, err := files.WriteOutput(ctx, o.Out, form, func(to *files.Output) (err error) {
		d, err = phm.PackDelta(to, base, target)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := o.done(tree)
	if err != nil {
		return nil, err
	}
	out.Packed = size
	out.Delta = &ExportedDelta{
		Base:    d.Base.Version,
		Carried: d.Bodies,
		Lines:   d.Lines,
		Removed: d.Gone,
		Whole:   d.Target.Bytes,
	}
	return out, nil
}

// openBase opens what a delta builds on: a version by its number, or an archive. label is for names of files.
func openBase(
	ctx context.Context, st *store.State, name, since string,
) (_ published, label string, err error) {
	if n, err := strconv.Atoi(since); err == nil {
		tree, err := openVersion(st, name, n)
		if err != nil {
			return published{}, "", err
		}
		return published{files.Interruptible{FS: tree, Ctx: ctx}, tree}, since, nil
	}
	a, f, err := openArchive(since)
	if err != nil {
		return published{}, "", fmt.Errorf("%s: %w", since, err)
	}
	m, err := phm.OpenMeta(a)
	if err != nil {
		return published{}, "", errors.Join(fmt.Errorf("%s: %w", since, err), f.Close())
	}
	return published{a, f}, strconv.Itoa(m.Version), nil
}

// openArchive opens a file in the archive form of PHM.
func openArchive(name string) (*phm.Archive, *os.File, error) {
	f, fi, err := regular.OpenInfo(name)
	if err != nil {
		return nil, nil, err
	}
	a, err := phm.OpenArchive(f, fi.Size(), phm.Limits{})
	if err == nil {
		return a, f, nil
	}
	return nil, nil, errors.Join(err, f.Close())
}

// ApplyRequest asks for the archive that an older one and a delta give.
type ApplyRequest struct {
	Old, Delta string // files
	Out        string // file; "" replaces Old
}

// Updated is what ApplyDelta wrote.
type Updated struct {
	Path    string `json:"path"`
	Base    int    `json:"base"`    // version of the old archive
	Version int    `json:"version"` // of the new one
	Bytes   int64  `json:"bytes"`   // of the file
	SHA256  string `json:"sha256"`  // of the file
}

// ApplyDelta writes the archive that an older one and a delta give: byte for byte that of which the delta was
// made. When something is wrong with either, the destination keeps its previous content.
func ApplyDelta(ctx context.Context, a *env.App, r ApplyRequest) (*Updated, error) {
	if r.Out == "" {
		r.Out = r.Old
	}
	old, oldFile, err := openArchive(r.Old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Old, err)
	}
	defer oldFile.Close()
	delta, deltaFile, err := openArchive(r.Delta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Delta, err)
	}
	defer deltaFile.Close()
	d, err := phm.ReadDelta(delta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Delta, err)
	}
	form, _ := archive.Find(archive.PHM)
	if err := errors.Join(files.Replaceable(r.Out, form), roomFor(r.Out, d.Target.Bytes)); err != nil {
		return nil, err
	}
	f, err := files.PendingOutput(r.Out)
	if err != nil {
		return nil, err
	}
	defer f.Cleanup()
	out := shownWriter{
		files.InterruptibleWriter{Writer: f, Ctx: ctx},
		&shownBytes{what: r.Old, total: d.Target.Bytes, say: a.Note},
	}
	if _, err := phm.Apply(out, old, delta); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Delta, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return nil, err
	}
	return &Updated{
		Path:    r.Out,
		Base:    d.Base.Version,
		Version: d.Target.Version,
		Bytes:   d.Target.Bytes,
		SHA256:  d.Target.SHA256,
	}, nil
}
