// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"mirrord/mirror/ledger"
	"mirrord/phm"
	"mirrord/store"
)

// mendTree is the first thing that a run does with a site that has a published version. It looks at what readers see and makes again, from the
// stored bodies and without a request, what is missing, cut or wrong, so that nothing of it goes on into the next version. It looks at current,
// at the bytes of phm.json and phm.files, and at what the folders say of each file: that it is there, is a file, has its size, and was not written
// since the version was published. Bytes are read only of files that were, and of those that Verify found wrong.
func mendTree(ctx context.Context, st *store.State, s *store.Site, live *store.Version) (treeDamage, error) {
	m := &treeMender{ctx: ctx, st: st, s: s, live: live, meta: metaOf(live)}
	noted, err := s.WrongFiles()
	if err != nil {
		return m.left, err
	}
	if err := m.mend(noted); err != nil {
		return m.left, fmt.Errorf("mend the published tree of %s: %w", s.Name, err)
	}
	if len(m.damaged) > 0 {
		known, err := s.Damaged()
		if err == nil {
			err = s.NoteDamaged(append(known, m.damaged...))
		}
		if err != nil {
			return m.left, err
		}
	}
	if len(noted) > 0 {
		err = s.NoteWrongFiles(slices.Sorted(maps.Keys(m.left.wrong)))
	}
	return m.left, err
}

// treeDamage is what became of the damage of a published tree.
type treeDamage struct {
	mended []string        // what was made again
	wrong  map[string]bool // mirror paths of files whose stored body is damaged too: made again when it has come
	lost   error           // why the file table is not known: the next version is made without it
}

// allFiles among the paths that Verify noted stands for more than it could list.
const allFiles = "*"

type treeMender struct {
	ctx     context.Context
	st      *store.State
	s       *store.Site
	live    *store.Version
	meta    *phm.Meta // of live; nil: none is kept
	damaged []string  // URLs whose stored bodies are damaged
	left    treeDamage
}

func (m *treeMender) mend(noted []string) error {
	tree, err := m.open()
	if err != nil {
		return err
	}
	if tree == nil {
		return m.rebuild()
	}
	defer tree.Close()
	var describe []string // phm.json and phm.files, as far as they are wrong
	raw, err := tree.ReadFile(phm.MetaName)
	if m.meta == nil {
		if m.meta, err = phm.ReadMeta(bytes.NewReader(raw)); err != nil {
			return m.lose(fmt.Errorf("%s: %w: %v", phm.MetaName, store.ErrDamaged, err))
		}
	} else if err != nil || !bytes.Equal(raw, m.live.Meta) {
		describe = append(describe, phm.MetaName)
	}
	suspects := map[string]bool{}
	for _, p := range noted {
		suspects[p] = true
	}
	wrong, err := m.wrong(tree, suspects, func(f func(*phm.File) error) error { return scanTable(tree, m.meta, f) })
	var table []byte
	if errors.Is(err, store.ErrDamaged) {
		p, derr := derivePast(m.st, m.s, m.live)
		if errors.Is(derr, store.ErrDamaged) {
			return m.lose(fmt.Errorf("%w; it cannot be made again: %w", err, derr))
		}
		if derr != nil {
			return derr
		}
		table, describe = p.table, append(describe, phm.FilesName)
		wrong, err = m.wrong(tree, suspects, func(f func(*phm.File) error) error {
			for i := range p.files {
				if err := f(&p.files[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	delete(suspects, allFiles)
	var extra []string // the suspects that are left, as the table does not name them
	for p := range suspects {
		if fi, err := tree.Lstat(p); (err == nil) && !fi.IsDir() && p != phm.MetaName && p != phm.FilesName {
			extra = append(extra, p)
		}
	}
	if len(wrong)+len(describe)+len(extra) == 0 {
		return nil
	}
	return m.replace(wrong, describe, table, extra)
}

// open opens the published tree, after making current lead to it; nil when there is none any more.
func (m *treeMender) open() (*os.Root, error) {
	fits := func(tree *os.Root) bool {
		raw, err := tree.ReadFile(phm.MetaName)
		if m.meta != nil {
			return (err == nil) && bytes.Equal(raw, m.live.Meta)
		}
		meta, err := phm.ReadMeta(bytes.NewReader(raw))
		return (err == nil) && max(meta.Version, 1) == m.live.Number
	}
	tree, err := m.s.Current()
	if (err == nil) && fits(tree) {
		return tree, nil
	}
	if (err != nil) && !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrNoVersion) {
		return nil, err
	}
	found, rerr := m.s.Repoint(fits)
	if rerr != nil {
		return nil, rerr
	}
	if found {
		if tree != nil {
			tree.Close()
		}
		m.left.mended = append(m.left.mended, "current")
		return m.s.Current()
	}
	if errors.Is(err, store.ErrNoVersion) {
		return nil, nil
	}
	return tree, nil // with a bad phm.json, or nil
}

// wrong returns the files of a table that are not in the tree as their lines say. The bytes of suspects are read, and the suspects that the
// table names are taken out of the set.
func (m *treeMender) wrong(tree *os.Root, suspects map[string]bool, each func(func(*phm.File) error) error) (wrong []phm.File, err error) {
	l := store.NewTreeLooker(tree)
	defer l.Close()
	seen := []string{}
	n := 0
	err = each(func(f *phm.File) error {
		if n++; n%4096 == 0 && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		suspect := suspects[f.Path]
		if suspect {
			seen = append(seen, f.Path)
		}
		good, err := m.good(tree, l, f, suspect || suspects[allFiles])
		if !good {
			wrong = append(wrong, *f)
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

// good reports whether a file of the published tree is what its line says. A file that was written since the version was published, and whose
// bytes are right all the same, gets an older time again.
func (m *treeMender) good(tree *os.Root, l *store.TreeLooker, f *phm.File, suspect bool) (bool, error) {
	good, written, err := lookAt(tree, l, f, m.live, suspect)
	if good && written {
		at := m.live.Time
		if !f.Modified.IsZero() {
			at = f.Modified
		}
		err = m.s.SetTime(f.Path, at)
	}
	return good, err
}

// lookAt reports whether a file of the published tree is what its line says, and whether it was written since the version was published: then, and
// when it is a suspect, its bytes are read.
func lookAt(tree *os.Root, l *store.TreeLooker, f *phm.File, live *store.Version, suspect bool) (good, written bool, err error) {
	st, err := l.Stat(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil || !st.Regular || st.Size != f.Size {
		return false, false, err
	}
	written = writtenSince(st, f, live)
	if !written && !suspect {
		return true, false, nil
	}
	file, err := tree.Open(f.Path)
	if err != nil {
		return false, written, nil
	}
	defer file.Close()
	return isDigestOf(file, f.SHA256), written, nil
}

// CheckTree looks at the published tree of a site as a run does, and changes nothing. Damage is store.ErrDamaged.
func CheckTree(s *store.Site) error {
	vs, err := s.Versions()
	if err != nil {
		return err
	}
	if len(vs) == 0 {
		return fmt.Errorf("site %s: %w", s.Name, store.ErrNoVersion)
	}
	live := &vs[len(vs)-1]
	tree, err := s.Current()
	if errors.Is(err, store.ErrNoVersion) {
		return fmt.Errorf("current: %w: it is missing", store.ErrDamaged)
	}
	if err != nil {
		return err
	}
	defer tree.Close()
	meta := metaOf(live)
	if raw, err := tree.ReadFile(phm.MetaName); (err != nil) || (meta != nil && !bytes.Equal(raw, live.Meta)) {
		return fmt.Errorf("%s: %w", phm.MetaName, store.ErrDamaged)
	}
	l := store.NewTreeLooker(tree)
	defer l.Close()
	return scanTable(tree, meta, func(f *phm.File) error {
		good, _, err := lookAt(tree, l, f, live, false)
		if (err == nil) && !good {
			err = fmt.Errorf("%s: %w", f.Path, store.ErrDamaged)
		}
		return err
	})
}

// writtenSince reports whether a file of a tree was written after the version was published, by its time. mirrord gives each file a time before.
func writtenSince(st store.FileStat, f *phm.File, live *store.Version) bool {
	return (live != nil) && st.Time.After(live.Time) && !st.Time.Equal(f.Modified)
}

// isDigestOf reads r to its end. What cannot be read has another digest.
func isDigestOf(r io.Reader, want string) bool {
	h := sha256.New()
	_, err := io.Copy(h, r)
	return (err == nil) && hex.EncodeToString(h.Sum(nil)) == want
}

// replace puts good files in the place of wrong ones, each by a rename, and removes files that the table does not name.
func (m *treeMender) replace(wrong []phm.File, describe []string, table []byte, extra []string) error {
	t, err := m.s.MendTree()
	if err != nil {
		return err
	}
	defer t.Discard()
	defer t.Close()
	paths, err := m.fill(t, wrong)
	if err != nil {
		return err
	}
	for _, name := range describe {
		data := m.live.Meta
		if name == phm.FilesName {
			data = table
		}
		if err := writeFile(t, name, data); err != nil {
			return err
		}
	}
	paths = append(paths, describe...)
	if err := t.Replace(paths, extra); err != nil {
		return err
	}
	m.left.mended = append(append(m.left.mended, paths...), extra...)
	return nil
}

// rebuild makes the whole tree again.
func (m *treeMender) rebuild() error {
	gone := fmt.Errorf("the published tree: %w: it is missing", store.ErrDamaged)
	p, err := derivePast(m.st, m.s, m.live)
	if errors.Is(err, store.ErrDamaged) {
		return m.lose(fmt.Errorf("%w; it cannot be made again: %w", gone, err))
	}
	if err != nil {
		return err
	}
	t, err := m.s.BuildTreeAnew()
	if err != nil {
		return err
	}
	defer t.Close()
	if _, err := m.fill(t, p.files); err != nil {
		return err
	}
	if n := len(m.left.wrong); n > 0 {
		m.left.wrong = nil
		return m.lose(fmt.Errorf("%w; %d of its stored bodies are damaged", gone, n))
	}
	if err := errors.Join(writeFile(t, phm.FilesName, p.table), writeFile(t, phm.MetaName, m.live.Meta)); err != nil {
		return err
	}
	if err := t.PublishAgain(*m.live); err != nil {
		return err
	}
	m.left.mended = append(m.left.mended, "all files")
	return nil
}

// fill makes files of the published version in a tree, and returns their paths. Those whose stored bodies are damaged are left out.
func (m *treeMender) fill(t *store.Tree, files []phm.File) (paths []string, err error) {
	w := t.Writer()
	defer w.Close()
	past, err := m.s.Past(m.live.Number)
	if err != nil {
		return nil, err
	}
	left := files
	for _, all := range []records{past.Resources, presentRecords(m.s)} {
		if len(left) == 0 {
			break
		}
		p := newPast(m.st, m.s, *m.live)
		p.files = left
		if err := p.load(all); err != nil {
			return nil, err
		}
		var still []phm.File
		for i := range left {
			if err := m.ctx.Err(); err != nil {
				return nil, err
			}
			switch err := p.place(w, i); {
			case errors.Is(err, store.ErrDamaged):
				still = append(still, left[i])
			case err != nil:
				return nil, err
			default:
				paths = append(paths, left[i].Path)
			}
		}
		left = still
	}
	for i := range left {
		if m.left.wrong == nil {
			m.left.wrong = map[string]bool{}
		}
		m.left.wrong[left[i].Path] = true
		m.damaged = append(m.damaged, left[i].URL)
	}
	return paths, nil
}

// place makes file i of the version in a tree, when the stored body is good. A body for which there is no record may be a blob.
func (p *PastFS) place(w *store.TreeWriter, i int) error {
	f, b := &p.files[i], &p.bodies[i]
	if b.kind == store.PackBody {
		doc, err := p.document(f, b)
		if err != nil {
			return err
		}
		defer doc.Close()
		return w.Stream(f.Path, time.Unix(b.time, 0), func(to io.Writer) error {
			_, err := io.Copy(to, doc)
			return err
		})
	}
	blob, err := p.open(f, &pastBody{kind: store.BlobBody})
	if err != nil {
		return err
	}
	defer blob.Close()
	if !isDigestOf(blob, f.SHA256) {
		return fmt.Errorf("%s: %w: its blob has other bytes", f.Path, store.ErrDamaged)
	}
	d, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return err
	}
	return w.LinkBlob(f.Path, [32]byte(d))
}

func (m *treeMender) lose(err error) error {
	m.left.lost = err
	return nil
}

// say tells the reader of a report what was found.
func (d *treeDamage) say(r *run) {
	if n := len(d.mended); n > 0 {
		names := d.mended
		if n > ledger.MaxExamples {
			names = append(slices.Clone(names[:ledger.MaxExamples]), fmt.Sprintf("and %d more", n-ledger.MaxExamples))
		}
		r.log.Warn("published tree mended", "files", n)
		r.notes.Cap("damage of the published tree was repaired from the stored bodies: " + strings.Join(names, ", "))
	}
	if n := len(d.wrong); n > 0 {
		r.log.Warn("published files are damaged, and so are their stored bodies", "files", n)
		r.notes.Cap(fmt.Sprintf("%d published files are damaged, and so are their stored bodies: they are requested again", n))
	}
	if d.lost != nil {
		r.log.Warn("published tree is damaged", "err", d.lost)
		r.notes.Cap(fmt.Sprintf("the published tree is damaged (%v): the next complete run publishes all files anew", d.lost))
	}
}
