// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/look"
	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/disk"
)

// Export writes a version of a mirror. Every file is checked against its digest on the way; a file is read
// back as a whole before it replaces an older one. What goes to Stream is not read back, and of it nothing is
// returned.
func Export(ctx context.Context, a *env.App, o ExportRequest) (_ *Exported, err error) {
	name := strings.TrimSuffix(o.Job, scheduler.Suffix)
	switch {
	case o.Format == "" && (o.Out == "" || o.Out == "-"):
		o.Format = archive.PHM
	case o.Format == "":
		o.Format = archive.Named(o.Out).Name
	}
	form, ok := archive.Find(o.Format)
	if !ok {
		return nil, env.Fieldf(env.FieldFormat, "format %s: known are %s", o.Format,
			env.Joined(archive.Names(), "and"))
	}
	if o.Out == "-" && form.Folder() {
		return nil, env.Usagef("a directory cannot be written to standard output")
	}
	hasDeltas := form.Name == archive.PHM || form.Captures != nil
	if o.Since != "" && (!hasDeltas || o.changes()) {
		return nil, env.Fieldf(env.FieldSince, "since: only PHM archives of all files and web archives have deltas")
	}
	if (o.Out == "") && o.Since == "" && o.Single == "" {
		o.Out = defaultOutput(name, o, form)
	}
	how := phm.Derivation{Flatten: o.Flatten, Relink: render.NewRelink(), Linked: render.Linked}
	if len(o.Mask) > 0 {
		if how.Mask, err = phm.NewTypes(o.Mask...); err != nil {
			return nil, env.Fieldf(env.FieldMask, "mask: %w; write for example images,pdf,font/*", err)
		}
	}
	if _, err := o.programs(); err != nil {
		return nil, err
	}
	if err := o.hasPlace(form); err != nil {
		return nil, err
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	defer func() { err = o.sayRoom(err) }()
	e := exporting{
		ExportRequest: o,
		app:           a,
		st:            st,
		name:          name,
		form:          form,
		how:           how,
	}
	switch err := o.canHold(form); {
	case o.Single != "":
		return e.single(ctx)
	case form.Captures != nil:
		return e.captures(ctx)
	case err != nil:
		return nil, err
	case o.Since != "":
		return e.delta(ctx)
	}
	return e.whole(ctx)
}

// whole exports a whole version.
func (o *exporting) whole(ctx context.Context) (*Exported, error) {
	tree, damage, err := o.begin(o.form.Leads && !o.Flatten)
	if err != nil {
		return nil, err
	}
	streams := o.Out == "-" && !o.form.Placed
	if streams && damage == nil { // a stream cannot begin again
		if damage, err = o.look(); err != nil {
			return nil, errors.Join(err, tree.Close())
		}
	}
	if damage != nil {
		if tree != nil {
			damage = errors.Join(damage, tree.Close())
		}
		return o.stored(ctx, damage)
	}
	if tree, err = o.withHistory(ctx, tree, nil); err != nil {
		return nil, sayDamage(o.name, err)
	}
	out, err := o.version(ctx, tree)
	if why := o.damageOf(ctx, err); why != nil && !streams {
		return o.stored(ctx, why)
	}
	return out, sayDamage(o.name, err)
}

// damageOf is the damage of the published tree that an export has met; nil: none, or it is not exported.
func (o *exporting) damageOf(ctx context.Context, err error) error {
	if err == nil || o.Version != 0 || ctx.Err() != nil {
		return nil
	}
	if damage, lerr := o.look(); lerr == nil && damage != nil {
		return damage // such as a file that is missing
	}
	if !isDamage(err) {
		return nil
	}
	return err
}

// look checks the published tree, if that is exported. damage describes its damage.
func (o *exporting) look() (damage, err error) {
	o.ofPublished()
	if o.Version != 0 {
		return nil, nil
	}
	return treeDamage(env.View(o.st, o.name, func(s *store.Site) error {
		return render.CheckTree(render.MaterialOf(o.st, s))
	}))
}

// treeDamage tells damage of a tree from an error that says what to do. Other errors of such a check are
// ignored: the code that opens the tree reports them.
func treeDamage(err error) (damage, other error) {
	if _, database := errors.AsType[*db.DatabaseError](err); database {
		return nil, err // which says what to do
	}
	if errors.Is(err, disk.ErrDamaged) {
		damage = err
	}
	return damage, nil
}

// canHold returns an error when a form of trees cannot hold the requested content.
func (o *ExportRequest) canHold(form archive.Form) error {
	switch {
	case o.Sign != "":
		return badFormat(o.Format, "only WACZ files are signed")
	case o.Cookies:
		return badFormat(o.Format, "only web archives (warc, wacz) hold cookies")
	case !o.AllVersions:
		return nil
	case form.Placed, o.changes():
		return badFormat(o.Format, "all versions are in a web archive (warc, wacz), or beside all files of a PHM "+
			"(phm, tar.zst, dir)")
	}
	if _, err := strconv.Atoi(o.Since); err == nil {
		return env.Fieldf(env.FieldSince, "since: a delta with all versions builds on an archive: give its file")
	}
	return nil
}

// stored exports the published version, whose tree is damaged, from the stored bodies, of which it is
// made. why is the damage of the tree.
func (o *exporting) stored(ctx context.Context, why error) (out *Exported, err error) {
	past, err := look.OpenPast(o.st, o.name, 0)
	if err != nil {
		return nil, fmt.Errorf("%w; %w (mirrord run-now %s repairs the published tree)", why, err, o.name)
	}
	o.app.Warning(treeDamaged(o.name, why))
	tree, err := o.withHistory(ctx, past, nil)
	if err == nil {
		out, err = o.version(ctx, tree)
	}
	return out, sayDamage(o.name, err)
}

// treeDamaged says that an export is made of the stored bodies.
func treeDamaged(name string, why error) string {
	return fmt.Sprintf("the published tree of %s is damaged (%v): exporting from the stored bodies; mirrord "+
		"verify %s finds all damage, and then mirrord run-now %s repairs it", name, why, name, name)
}

// isDamage reports whether an error says that a file is not what it was, or that the disk has lost it.
func isDamage(err error) bool {
	return errors.Is(err, phm.ErrDamaged) || errors.Is(disk.Unreadable(err), disk.ErrDamaged)
}

// sayDamage adds to an error of an export what to do when it says that a file is damaged.
func sayDamage(name string, err error) error {
	if lost, ok := errors.AsType[*disk.UnreadableError](disk.Unreadable(err)); ok {
		return fmt.Errorf("export: %w", lost)
	}
	if errors.Is(err, phm.ErrDamaged) {
		err = fmt.Errorf("%w (mirrord verify %s finds all damage, and then mirrord run-now %s repairs it)", err,
			name, name)
	}
	return err
}

// changes reports whether a form of trees gets others than the mirror's.
func (o *ExportRequest) changes() bool { return o.Flatten || len(o.Mask) > 0 || len(o.With) > 0 }

// defaultOutput names an export without Out. A derived mirror has a name of its own, so that it does not
// replace an export of all files.
func defaultOutput(name string, o ExportRequest, form archive.Form) string {
	if o.Flatten {
		name += "-flat"
	}
	if len(o.Mask) > 0 {
		name += "-masked"
	}
	if len(o.With) > 0 {
		name += "-changed"
	}
	if !form.Folder() {
		name += "." + form.Name
	}
	return name
}

// version writes a version, and closes its tree.
func (o *exporting) version(ctx context.Context, version files.VersionTree) (_ *Exported, err error) {
	defer version.Close()
	tree := o.watch(ctx, version)
	if err := o.room(tree); err != nil {
		return nil, err
	}
	if o.changes() {
		var derived files.VersionTree
		if derived, err = o.derive(ctx, tree); err != nil {
			return nil, fmt.Errorf("export to %s: %w", o.Out, err)
		}
		defer env.Close(&err, derived)
		tree = files.Interruptible{FS: derived, Ctx: ctx}
	}
	if o.Out == "-" {
		return nil, files.PackStream(ctx, o.Stream, tree, o.form, files.Packing(o.name, o.redirects))
	}
	if err := files.ExportRedirecting(ctx, tree, o.Out, o.form, o.redirects); err != nil {
		return nil, err
	}
	return o.done(tree)
}

// done says what was written.
func (o *exporting) done(tree fs.FS) (*Exported, error) {
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return nil, err
	}
	out := &Exported{
		Job:         o.name,
		Version:     m.Version,
		Format:      o.Format,
		Path:        o.Out,
		Files:       m.Files,
		Bytes:       m.Bytes,
		Derived:     m.Derived,
		Masked:      m.Masked,
		MaskedFiles: m.MaskedFiles,
		MaskedBytes: m.MaskedBytes,
		Lacks:       render.Lacks(m),
	}
	if fi, err := os.Stat(o.Out); err == nil && !fi.IsDir() {
		out.Packed = fi.Size()
	}
	return out, nil
}

// derivedTree is a tree that is made for one export and removed after it.
type derivedTree struct {
	published
	done func() error
}

func (d derivedTree) Close() error { return errors.Join(d.published.Close(), d.done()) }

// derive makes another PHM of a tree in a directory beside the place of the export, or in that for
// temporary files if the export has no place on the disk.
func (o *exporting) derive(ctx context.Context, tree fs.FS) (_ files.VersionTree, err error) {
	above := ""
	if o.Out != "-" {
		if o.form.Folder() { // before the work rather than after it
			if err := files.CheckOutput(o.Out); err != nil {
				return nil, err
			}
		} else if err := files.Replaceable(o.Out, o.form); err != nil {
			return nil, err
		}
		above = filepath.Dir(o.Out)
	}
	dir, done, err := files.AsideDir(above)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()
	at := filepath.Join(dir, copyFolder)
	if err := os.Mkdir(at, 0o700); err != nil {
		return nil, err
	}
	root, err := regular.OpenRoot(at)
	if err != nil {
		return nil, err
	}
	_, err = phm.Derive(tree, files.TreeSink{Root: root.Root}, o.how)
	if err == nil {
		err = o.change(ctx, dir, root)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return derivedTree{published{root.FS(), root}, done}, nil
}

// ofPublished makes the number of the published version, if that can be read, the 0 that means it.
func (o *exporting) ofPublished() {
	if o.Version == 0 {
		return
	}
	last := 0
	err := env.View(o.st, o.name, func(s *store.Site) error {
		v, err := s.Versions.Last()
		last = v.Number
		return err
	})
	if err == nil && last == o.Version {
		o.Version = 0
	}
}

// published is the published tree.
type published struct {
	fs.FS
	io.Closer
}

// Sub opens a folder of the tree.
func (p published) Sub(dir string) (fs.FS, error) { return fs.Sub(p.FS, dir) }

// openVersion opens a version; 0 is the published one, which can be had also while a run writes the site.
func openVersion(st *store.State, name string, number int) (files.VersionTree, error) {
	if number != 0 {
		return look.OpenPast(st, name, number)
	}
	root, err := env.OpenTree(st, name)
	if err != nil {
		return nil, err
	}
	return published{root.FS(), root}, nil
}
