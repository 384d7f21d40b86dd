// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mirrord/internal/regular"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// Mend is the first thing that a run does with a site that has a published version. It looks at what
// readers see and makes again, from the stored bodies and without a request, files that are missing, cut or
// wrong, so that none of them enters the next version. It looks at current, at the bytes of phm.json and
// phm.files, and at what the folders say of each file: that it is there, is a file, has its size, and was
// not written since the version was published. Bytes are read only of files that were, and of those that
// Verify found wrong.
func Mend(ctx context.Context, o Mending, live *record.Version) (TreeDamage, error) {
	m := &treeMender{Mending: o, live: live, meta: render.MetaOf(live)}
	noted, err := o.Notes.WrongFiles()
	if err != nil {
		return m.left, err
	}
	if err := m.mend(ctx, noted); err != nil {
		return m.left, fmt.Errorf("mend the published tree of %s: %w", o.From.Name, err)
	}
	if len(m.damaged) > 0 {
		known, err := o.Notes.Damaged()
		if err == nil {
			err = o.Notes.NoteDamaged(append(known, m.damaged...))
		}
		if err != nil {
			return m.left, err
		}
	}
	if len(noted) > 0 {
		err = o.Notes.NoteWrongFiles(slices.Sorted(maps.Keys(m.left.Wrong)))
	}
	return m.left, err
}

// TreeDamage is what became of the damage of a published tree.
type TreeDamage struct {
	Repaired []string        // files that were made again
	Wrong    map[string]bool // mirror paths of files whose stored body is damaged too: made again when it comes
	Lost     error           // why the file table is not known: the next version is made without it
}

// Mending is what Mend works with. All fields are needed.
type Mending struct {
	From  render.Material  // what the published files are made of
	Trees *trees.SiteTrees // of the site
	Notes *store.SiteNotes // what was found damaged
}

// MendingOf returns what Mend works with for a site that is open for writing.
func MendingOf(st *store.State, s *store.Site) Mending {
	return Mending{From: render.MaterialOf(st, s), Trees: s.Trees, Notes: s.Notes}
}

type treeMender struct {
	Mending
	live    *record.Version
	meta    *phm.Meta // of live; nil: none is kept
	damaged []string  // URLs whose stored bodies are damaged
	left    TreeDamage
}

func (m *treeMender) mend(ctx context.Context, noted []string) error {
	tree, err := m.open()
	if err != nil {
		return err
	}
	if tree.Root == nil {
		return m.rebuild(ctx)
	}
	defer tree.Close()
	d, lost, err := m.inspect(ctx, tree, noted)
	if err != nil {
		return err
	}
	if lost != nil {
		return m.lose(lost)
	}
	if len(d.files)+len(d.describe)+len(d.extra) == 0 {
		return nil
	}
	return m.replace(ctx, &d)
}

// defects are the errors of a published tree.
type defects struct {
	files    []phm.File // missing, or not what their lines say
	describe []string   // phm.json and phm.files, as far as they are wrong
	table    []byte     // what phm.files is to be, when it is wrong
	extra    []string   // files that the table does not name
}

// inspect looks at a published tree. noted are the paths that a check found wrong. lost says why the
// files cannot be checked.
func (m *treeMender) inspect(ctx context.Context, tree regular.Root, noted []string) (
	d defects, lost, err error) {
	raw, err := tree.ReadFile(phm.MetaName, regular.MaxSmall)
	if m.meta == nil {
		if m.meta, err = phm.ReadMeta(bytes.NewReader(raw)); err != nil {
			return d, fmt.Errorf("%s: %w: %v", phm.MetaName, disk.ErrDamaged, err), nil
		}
	} else if err != nil || !bytes.Equal(raw, m.live.Meta) {
		d.describe = append(d.describe, phm.MetaName)
	}
	suspects := map[string]bool{}
	for _, p := range noted {
		suspects[p] = true
	}
	d.files, err = m.wrong(ctx, tree, suspects, func(f func(*phm.File) error) error {
		return render.ScanTable(tree, m.meta, f)
	})
	if errors.Is(err, disk.ErrDamaged) {
		p, derr := render.DerivePast(m.From, m.live)
		if errors.Is(derr, disk.ErrDamaged) {
			return d, fmt.Errorf("%w; it cannot be made again: %w", err, derr), nil
		}
		if derr != nil {
			return d, nil, derr
		}
		d.table, d.describe = p.Table(), append(d.describe, phm.FilesName)
		d.files, err = m.wrong(ctx, tree, suspects, func(f func(*phm.File) error) error {
			files := p.Files()
			for i := range files {
				if err := f(&files[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return d, nil, err
	}
	delete(suspects, store.AllFiles)
	for p := range suspects { // that are left, as the table does not name them
		if fi, err := tree.Lstat(p); (err == nil) && !fi.IsDir() && p != phm.MetaName && p != phm.FilesName {
			d.extra = append(d.extra, p)
		}
	}
	return d, nil, nil
}

// open opens the published tree, after making current point to it; the zero value without one.
func (m *treeMender) open() (regular.Root, error) {
	fits := func(tree regular.Root) bool {
		raw, err := tree.ReadFile(phm.MetaName, regular.MaxSmall)
		if m.meta != nil {
			return (err == nil) && bytes.Equal(raw, m.live.Meta)
		}
		meta, err := phm.ReadMeta(bytes.NewReader(raw))
		return (err == nil) && max(meta.Version, 1) == m.live.Number
	}
	tree, err := m.Trees.Current()
	if (err == nil) && fits(tree) {
		return tree, nil
	}
	if (err != nil) && !errors.Is(err, disk.ErrDamaged) && !errors.Is(err, record.ErrNoVersion) {
		return regular.Root{}, err
	}
	found, rerr := m.Trees.Repoint(fits)
	if rerr != nil {
		return regular.Root{}, rerr
	}
	if found {
		if tree.Root != nil {
			tree.Close()
		}
		m.left.Repaired = append(m.left.Repaired, "current")
		return m.Trees.Current()
	}
	if errors.Is(err, record.ErrNoVersion) {
		return regular.Root{}, nil
	}
	return tree, nil // with a bad phm.json, or none
}

// wrong returns the files of a table that are not in the tree as their lines say. The bytes of suspects are
// read, and the suspects that the table names are taken out of the set.
func (m *treeMender) wrong(ctx context.Context, tree regular.Root, suspects map[string]bool,
	each func(func(*phm.File) error) error) (wrong []phm.File, err error) {
	l := &disk.OpenDirs{Root: tree, Look: true}
	defer l.Close()
	seen := []string{}
	n := 0
	err = each(func(f *phm.File) error {
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		suspect := suspects[f.Path]
		if suspect {
			seen = append(seen, f.Path)
		}
		st, err := render.LookAt(l, f, m.live, suspect || suspects[store.AllFiles])
		switch {
		case !st.Good:
			wrong = append(wrong, *f)
		case st.Written: // since the version was published; its bytes are right all the same
			at := m.live.Time
			if !f.Modified.IsZero() {
				at = f.Modified
			}
			err = m.Trees.SetTime(f.Path, at)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, p := range seen {
		delete(suspects, p)
	}
	return wrong, nil
}

// replace replaces wrong files by good ones, each by a rename, and removes files that the table
// does not name.
func (m *treeMender) replace(ctx context.Context, d *defects) error {
	t, err := m.Trees.Mend()
	if err != nil {
		return err
	}
	defer t.Discard()
	defer t.Close()
	paths, err := m.fill(ctx, t, d.files)
	if err != nil {
		return err
	}
	for _, name := range d.describe {
		data := m.live.Meta
		if name == phm.FilesName {
			data = d.table
		}
		if err := writeFile(t, name, data); err != nil {
			return err
		}
	}
	paths = append(paths, d.describe...)
	if err := t.Replace(paths, d.extra); err != nil {
		return err
	}
	m.left.Repaired = append(append(m.left.Repaired, paths...), d.extra...)
	return nil
}

func (m *treeMender) rebuild(ctx context.Context) error {
	gone := fmt.Errorf("the published tree: %w: it is missing", disk.ErrDamaged)
	p, err := render.DerivePast(m.From, m.live)
	if errors.Is(err, disk.ErrDamaged) {
		return m.lose(fmt.Errorf("%w; it cannot be made again: %w", gone, err))
	}
	if err != nil {
		return err
	}
	t, err := m.Trees.BuildEmpty()
	if err != nil {
		return err
	}
	defer t.Close()
	if _, err := m.fill(ctx, t, p.Files()); err != nil {
		return err
	}
	if n := len(m.left.Wrong); n > 0 {
		m.left.Wrong = nil
		return m.lose(fmt.Errorf("%w; %d of its stored bodies are damaged", gone, n))
	}
	err = errors.Join(writeFile(t, phm.FilesName, p.Table()), writeFile(t, phm.MetaName, m.live.Meta))
	if err != nil {
		return err
	}
	if err := t.PublishAgain(*m.live, nil); err != nil {
		return err
	}
	m.left.Repaired = append(m.left.Repaired, "all files")
	return nil
}

// fill makes files of the published version in a tree, and returns their paths. Those whose stored bodies
// are damaged are left out.
func (m *treeMender) fill(ctx context.Context, t *trees.Tree, files []phm.File) (paths []string, err error) {
	w := t.Writer()
	defer w.Close()
	paths, damaged, err := render.Restore(ctx, m.From, m.live, files, w)
	if err != nil {
		return nil, err
	}
	for i := range damaged {
		if m.left.Wrong == nil {
			m.left.Wrong = map[string]bool{}
		}
		m.left.Wrong[damaged[i].Path] = true
		m.damaged = append(m.damaged, damaged[i].URL)
	}
	return paths, nil
}

func (m *treeMender) lose(err error) error {
	m.left.Lost = err
	return nil
}
