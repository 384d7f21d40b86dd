// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	"mirrord/archive"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/site"
)

// A PHM with history has, beside the files of a version, what the site answered in all versions: WARC files
// in the folder historyDir, in which a later one builds on the earlier ones. The member historyMember of
// phm.json lists them.
const (
	historyDir    = "phm.history"
	historyMember = "mirrord.history"
	historyType   = "application/warc"
)

// packedHistory returns the mirror paths of the history that a PHM has; none for one without.
func packedHistory(m *phm.Meta) (paths []string, err error) {
	raw, ok := m.Extra[historyMember]
	if !ok {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &paths); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", phm.MetaName, historyMember, err)
	}
	return paths, nil
}

// historyTree is a tree with history: its additional files are in a folder that is made for one export.
type historyTree struct {
	files.VersionTree
	added derivedTree
	older fs.FS // has the history of before; nil for none
	from  map[string]fs.FS
}

func (t *historyTree) Open(name string) (fs.File, error) {
	if from, ok := t.from[name]; ok {
		return from.Open(name)
	}
	return t.VersionTree.Open(name)
}

func (t *historyTree) Close() error { return errors.Join(t.VersionTree.Close(), t.added.Close()) }

// withHistory adds its history to a version, if that is wanted. base is what the archive builds on, whose
// history stays as it is; nil for nothing. The tree is closed with the one that is returned.
func (o *exporting) withHistory(
	ctx context.Context, tree files.VersionTree, base fs.FS,
) (_ files.VersionTree, err error) {
	if !o.AllVersions {
		return tree, nil
	}
	dir, done, err := o.historyRoom()
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	t := &historyTree{VersionTree: tree, older: base}
	t.added = derivedTree{published{dir.FS(), dir}, done}
	if err := t.add(ctx, *o, dir); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// historyRoom makes a folder beside the place of the export. done removes it.
func (o *ExportRequest) historyRoom() (root *os.Root, done func() error, err error) {
	above := ""
	if o.Out != "-" {
		above = filepath.Dir(o.Out)
	}
	dir, done, err := files.AsideDir(above)
	if err != nil {
		return nil, nil, err
	}
	in, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Join(err, done())
	}
	return in.Root, done, nil
}

// add writes the history, and table and description of the tree with it.
func (t *historyTree) add(ctx context.Context, x exporting, dir *os.Root) error {
	m, err := phm.OpenMeta(t.VersionTree)
	if err != nil {
		return err
	}
	x.ExportRequest = ExportRequest{Format: "warc", Version: m.Version, AllVersions: true}
	paths, lines, err := t.before(m, &x.ExportRequest)
	if err != nil {
		return err
	}
	if x.Version > 0 {
		path := fmt.Sprintf("%s/%06d.warc.gz", historyDir, m.Version)
		if err := dir.Mkdir(historyDir, 0o755); err != nil {
			return err
		}
		x.Out = filepath.Join(dir.Name(), filepath.FromSlash(path))
		x.form, _ = archive.Find(x.Format)
		if _, err := x.captures(ctx); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		f, err := historyLine(dir.FS(), path, m)
		if err != nil {
			return err
		}
		paths, lines = append(paths, path), append(lines, f)
		t.from[path] = t.added.FS
	}
	if err := t.table(dir, m, lines); err != nil {
		return err
	}
	raw, err := json.Marshal(paths)
	if err != nil {
		return err
	}
	if m.Extra == nil {
		m.Extra = map[string]json.RawMessage{}
	}
	m.Extra[historyMember] = raw
	f, err := dir.Create(phm.MetaName)
	if err != nil {
		return err
	}
	t.from[phm.MetaName], t.from[phm.FilesName] = t.added.FS, t.added.FS
	return errors.Join(phm.WriteMeta(f, m), f.Close())
}

// before returns the history of the older archive, whose versions are not written again.
func (t *historyTree) before(m *phm.Meta, x *ExportRequest) (paths []string, lines []*phm.File, err error) {
	t.from = map[string]fs.FS{}
	if t.older == nil {
		return nil, nil, nil
	}
	old, err := phm.OpenMeta(t.older)
	if err != nil {
		return nil, nil, err
	}
	if paths, err = packedHistory(old); err != nil || len(paths) == 0 {
		return nil, nil, err // all of it is new
	}
	lines, err = historyLines(t.older, paths)
	for _, path := range paths {
		t.from[path] = t.older
	}
	x.Since, x.AllVersions = strconv.Itoa(old.Version), false
	if old.Version >= m.Version {
		x.Version = 0
	}
	return paths, lines, err
}

// historyLines returns the lines of a table for the history, in their order.
func historyLines(tree fs.FS, paths []string) ([]*phm.File, error) {
	table, err := phm.OpenRegular(tree, phm.FilesName)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	found := map[string]*phm.File{}
	for _, path := range paths {
		found[path] = nil
	}
	for f, err := range phm.Files(table) {
		if err != nil {
			return nil, err
		}
		if _, ok := found[f.Path]; ok {
			found[f.Path] = f
		}
	}
	lines := make([]*phm.File, len(paths))
	for i, path := range paths {
		if lines[i] = found[path]; lines[i] == nil {
			return nil, fmt.Errorf("%s: %s names %q, which is not in %s", phm.MetaName, historyMember, path,
				phm.FilesName)
		}
	}
	return lines, nil
}

// historyLine describes a file of history.
func historyLine(tree fs.FS, path string, m *phm.Meta) (*phm.File, error) {
	f, err := tree.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return &phm.File{
		Path:   path,
		URL:    site.Canonical(m.Primary + "/" + path).String(),
		Type:   historyType,
		Size:   n,
		SHA256: hex.EncodeToString(sum.Sum(nil)),
	}, err
}

// table writes the table of the version with the lines of the history.
func (t *historyTree) table(dir *os.Root, m *phm.Meta, lines []*phm.File) (err error) {
	table, err := phm.OpenRegular(t.VersionTree, phm.FilesName)
	if err != nil {
		return err
	}
	defer table.Close()
	to, err := dir.Create(phm.FilesName)
	if err != nil {
		return err
	}
	defer env.Close(&err, to)
	w := phm.NewFilesWriter(to)
	for f, err := range phm.Files(table) {
		if err != nil {
			return err
		}
		if first, _, _ := strings.Cut(f.Path, "/"); strings.EqualFold(first, historyDir) {
			return fmt.Errorf("the site has %q itself, where the history lies; a web archive (wacz) of all versions "+
				"has them", f.Path)
		}
		for len(lines) > 0 && lines[0].Path < f.Path {
			if err := w.Write(lines[0]); err != nil {
				return err
			}
			lines = lines[1:]
		}
		if err := w.Write(f); err != nil {
			return err
		}
	}
	for _, f := range lines {
		if err := w.Write(f); err != nil {
			return err
		}
	}
	done, err := w.Finish()
	m.Count(done)
	return err
}
