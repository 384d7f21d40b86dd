// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/store/disk"
)

// ImportedFiles is a published version without stored bodies: it was imported, or the database was rebuilt
// from it. Its files are all that there is of a URL until a run has got that. The file table is read when the
// first file is looked for; some 40 bytes of memory for each file follow. Safe for concurrent use.
type ImportedFiles struct {
	tree regular.Root

	once  sync.Once
	table *os.File
	index *phm.TableIndex // nil: the table cannot be read
}

// NewImportedFiles returns the version whose files lie in tree, which Close closes.
func NewImportedFiles(tree regular.Root) *ImportedFiles { return &ImportedFiles{tree: tree} }

// Close lets go of the tree. It may be called on nil.
func (m *ImportedFiles) Close() {
	if m == nil {
		return
	}
	if m.table != nil {
		m.table.Close()
	}
	m.tree.Close()
}

// Find returns the line of the file of a URL; nil without one. It may be called on nil. A table that
// cannot be read has no lines: the run reports that otherwise.
func (m *ImportedFiles) Find(u site.URL) *phm.File {
	if m == nil {
		return nil
	}
	return m.line(u.String(), (*phm.TableIndex).ByURL)
}

// line returns the line that has a name; nil when no line has it, or it cannot be read.
func (m *ImportedFiles) line(
	name string, by func(t *phm.TableIndex, r io.ReaderAt, name string) (*phm.File, error),
) *phm.File {
	m.once.Do(func() {
		var err error
		if m.table, err = m.tree.Open(phm.FilesName); err == nil {
			m.index, _ = phm.IndexTable(m.table, 0)
		}
	})
	if m.index == nil {
		return nil
	}
	f, err := by(m.index, m.table, name)
	if err != nil {
		return nil
	}
	return f
}

// IsDocument reports whether the links of a file lead to other files.
func (m *ImportedFiles) IsDocument(f *phm.File) bool {
	_, unscanned := f.Extra[phm.UnscannedField]
	return !unscanned && relocate.MaySplice(f.Type, site.Canonical(f.URL), f.Path)
}

// Open opens a file. The caller closes it.
func (m *ImportedFiles) Open(f *phm.File) (fs.File, error) {
	return phm.OpenRegular(m.tree.FS(), f.Path)
}

// Document returns a document as if the site had sent it: links to other files become links to their URLs. A
// reference that does so by itself is left as it is. Bytes that are not those of the line are
// store.ErrDamaged.
func (m *ImportedFiles) Document(f *phm.File) ([]byte, error) {
	file, err := m.Open(f)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, f.Size+1))
	if err != nil {
		return nil, err
	}
	if d := sha256.Sum256(raw); hex.EncodeToString(d[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s: %w: it is not what %s says", f.Path, disk.ErrDamaged, phm.FilesName)
	}
	var here, there relocate.Doc // as it is in the mirror, and as it would read on the site
	has, err := scanPublished(&here, f, raw)
	if err == nil && has {
		u := site.Canonical(f.URL)
		err = there.Scan(raw, relocate.Input{URL: u, Format: here.Format, MaxLinks: 1 << 24})
	}
	if err != nil || !has {
		return raw, nil // it was published with its links as they were
	}
	here.Edits = nil
	return here.Splice(nil, raw, func(i int) ([]byte, bool, bool) {
		l := &here.Links[i]
		if (l.URL == nil) || l.Absolute || (l.Kind == relocate.InScript) {
			return nil, false, false
		}
		path, _ := insidePath(l.URL)
		to := m.line(path, (*phm.TableIndex).ByPath)
		if to == nil {
			return nil, false, false
		}
		if (i < len(there.Links)) && string(there.Links[i].URL) == to.URL {
			return nil, true, false
		}
		return []byte(to.URL), true, true
	}), nil
}
