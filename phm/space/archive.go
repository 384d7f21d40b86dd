// SPDX-License-Identifier: Apache-2.0

package space

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
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/site"
)

// ArchiveName is the file by which the folder of an exported space is known.
const ArchiveName = "space.json"

// Names in an exported space, next to the files to open or serve.
const (
	phmsFolder      = "phm"       // of a folder for each mirror
	publishedFolder = "published" // in it: the pages of which the space has others, as they were published
	changedName     = "space.pages"
)

// Archived says what an exported space holds.
type Archived struct {
	Format  int              `json:"space_format"` // 1
	Name    string           `json:"name"`
	Mirrors []ArchivedMirror `json:"mirrors"` // sorted by name
}

// ArchivedMirror is a mirror of an exported space.
type ArchivedMirror struct {
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Files   int      `json:"files"`
	Pages   int      `json:"pages"`  // of which the space has others than the mirror
	Places  []string `json:"places"` // what its scope surrounds: host and path of prefixes, or "*." and a domain
}

const archiveFormat = 1

// errBusy says that a space cannot be read as a whole now.
var errBusy = errors.New("it is being updated; try again")

// Export writes a space into an empty folder: the files to open or serve, and those that make each mirror a
// PHM of its own again. open is that of Options. Every file is compared with its digest.
func Export(
	ctx context.Context, state, name string, out *os.Root, open func(name string) (*Source, error),
) (*Archived, error) {
	a, err := export(ctx, state, name, out, open)
	if err != nil {
		return nil, fmt.Errorf("space %s: %w", name, err)
	}
	return a, nil
}

func export(
	ctx context.Context, state, name string, out *os.Root, open func(name string) (*Source, error),
) (*Archived, error) {
	u, done, err := look(state, name)
	if err != nil {
		return nil, err
	}
	defer done()
	lock, err := u.root.Open(u.at(lockName))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		return nil, errBusy
	}
	if _, err := u.root.Lstat(u.at(todoName)); err == nil {
		return nil, errors.New("its update was interrupted; mirrord space --update continues it")
	}
	x := &exporter{update: u, out: out}
	a := &Archived{Format: archiveFormat, Name: name}
	for _, m := range u.mirrors.sorted() {
		if err := x.mirror(ctx, m, open); err != nil {
			return nil, fmt.Errorf("mirror %s: %w", m.Name, err)
		}
		a.Mirrors = append(a.Mirrors, ArchivedMirror{
			Name:    m.Name,
			Version: m.Version,
			Files:   m.Files,
			Pages:   len(m.pages),
			Places:  m.Places,
		})
	}
	if err := x.copy(u.at(filesFolder, indexName), indexName, "", time.Time{}); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(a, "", "\t")
	if err != nil {
		return nil, err
	}
	return a, out.WriteFile(ArchiveName, append(data, '\n'), 0o644)
}

// exporter copies the files of a space.
type exporter struct {
	*update
	out *os.Root
}

// mirror copies the files of a mirror.
func (x *exporter) mirror(ctx context.Context, m *mirror, open func(name string) (*Source, error)) error {
	if len(m.Stale) > 0 || m.Gone {
		return errors.New("pages that lead to it, or of it, could not be made again: mirrord space says which")
	}
	pages, err := x.pagesOf(m)
	if err != nil {
		return err
	}
	folder := path.Join(phmsFolder, MirrorFolder(m.Name))
	for f, err := range m.files() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		digest := f.SHA256
		if p := pages[f.Path]; p != nil {
			digest = p.SHA256
		}
		if p := pages[f.Path]; p != nil && !isLast(f.Path) {
			was := path.Join(folder, publishedFolder, f.Path)
			if err := x.copy(x.body(m.Name, p.From), was, f.SHA256, f.Modified); err != nil {
				return err
			}
		}
		to := path.Join(MirrorFolder(m.Name), f.Path)
		if err := x.copy(x.file(m.Name, f.Path), to, digest, f.Modified); err != nil {
			return err
		}
	}
	if err := x.table(m, path.Join(folder, phm.FilesName)); err != nil {
		return err
	}
	changed := x.disk.note(m.Name, pagesSuffix)
	if err := x.copy(changed, path.Join(folder, changedName), "", time.Time{}); gone(err) != nil {
		return err
	}
	src, err := open(m.Name)
	if err != nil {
		return err
	}
	defer src.Close() // read only: nothing can be lost
	meta, err := src.Tree.ReadFile(phm.MetaName, regular.MaxSmall)
	if err != nil {
		return err
	}
	if is, err := phm.ReadMeta(strings.NewReader(string(meta))); err != nil || is.TableSum != m.Table {
		return errors.Join(err, errors.New("the space does not have its published version; "+
			"mirrord space --update updates it"))
	}
	return x.out.WriteFile(path.Join(folder, phm.MetaName), meta, 0o644)
}

// table writes the lines of a mirror's published files.
func (x *exporter) table(m *mirror, to string) error {
	var lines []byte
	for f, err := range m.files() {
		if err == nil && !isLast(f.Path) {
			lines, err = phm.AppendFile(lines, f)
		}
		if err != nil {
			return err
		}
	}
	if sum := sha256.Sum256(lines); hex.EncodeToString(sum[:]) != m.Table {
		return fmt.Errorf("what the space knows of %s: %w", m.Name, errIndex)
	}
	if err := x.out.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	return x.out.WriteFile(to, lines, 0o644)
}

// copy copies a file of the state. digest is what it must have; "" is any.
func (x *exporter) copy(from, to, digest string, modified time.Time) (err error) {
	if err := x.out.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	src, err := x.root.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := x.out.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(dst, io.TeeReader(src, sum))
	if err = errors.Join(err, dst.Close()); err != nil {
		return err
	}
	if digest != "" && hex.EncodeToString(sum.Sum(nil)) != digest {
		return fmt.Errorf("%s has other bytes than it must have; mirrord space --update --verify makes it again",
			to)
	}
	if modified.IsZero() {
		return nil
	}
	return x.out.Chtimes(to, modified, modified)
}

// ExportedFolder is an exported space, opened. It may come from anybody.
type ExportedFolder struct {
	Archived
	root regular.Root
}

// maxArchived bounds the bytes read of space.json.
const maxArchived = 16 << 20

// IsArchive reports whether a folder says that it is an exported space.
func IsArchive(dir string) bool {
	fi, err := os.Lstat(path.Join(dir, ArchiveName))
	return err == nil && fi.Mode().IsRegular()
}

// OpenArchive opens the folder of an exported space.
func OpenArchive(dir string) (_ *ExportedFolder, err error) {
	root, err := regular.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", ArchiveName, errors.Join(err, root.Close()))
		}
	}()
	a := &ExportedFolder{root: root}
	f, err := phm.OpenRegular(root.FS(), ArchiveName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := json.NewDecoder(io.LimitReader(f, maxArchived)).Decode(&a.Archived); err != nil {
		return nil, err
	}
	if a.Format != archiveFormat {
		return nil, fmt.Errorf("format %d of spaces is not known", a.Format)
	}
	named := map[string]bool{}
	for _, name := range append(names(a.Mirrors), a.Name) {
		if err := site.CheckJobName(name); err != nil {
			return nil, err
		}
	}
	for _, m := range a.Mirrors {
		if named[m.Name] {
			return nil, fmt.Errorf("mirror %s is there twice", m.Name)
		}
		named[m.Name] = true
	}
	return a, nil
}

func names(mirrors []ArchivedMirror) (all []string) {
	for _, m := range mirrors {
		all = append(all, m.Name)
	}
	return all
}

// Close closes the folder.
func (a *ExportedFolder) Close() error { return a.root.Close() }

// PHM returns a mirror as it was published. It can be listed; phm.json and phm.files are in it.
func (a *ExportedFolder) PHM(mirror string) fs.FS { return archivedPHM{a.root.FS(), mirror} }

// archivedPHM puts together what an exported space has of a mirror.
type archivedPHM struct {
	fsys   fs.FS
	mirror string
}

// at returns the path of a file of the PHM in the space.
func (p archivedPHM) at(name string) string {
	if name == phm.MetaName || name == phm.FilesName {
		return path.Join(phmsFolder, MirrorFolder(p.mirror), name)
	}
	was := path.Join(phmsFolder, MirrorFolder(p.mirror), publishedFolder, name)
	if fi, err := fs.Lstat(p.fsys, was); err == nil && !fi.IsDir() {
		return was
	}
	return path.Join(MirrorFolder(p.mirror), name)
}

// Open opens a file or folder of the PHM.
func (p archivedPHM) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return p.fsys.Open(p.at(name))
}

// Stat does not open what it describes.
func (p archivedPHM) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	return fs.Stat(p.fsys, p.at(name))
}

// ReadDir lists a folder of the PHM.
func (p archivedPHM) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(p.fsys, path.Join(MirrorFolder(p.mirror), name))
	if name != "." || err != nil {
		return entries, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.Name() == LastFolder })
	for _, own := range []string{phm.FilesName, phm.MetaName} {
		if fi, err := p.Stat(own); err == nil {
			entries = append(entries, fs.FileInfoToDirEntry(fi))
		}
	}
	return entries, nil
}

// Verify returns the errors in the links between the mirrors of an exported space: pages of which the
// space has others than the mirror that are missing or have other bytes, and files to which they lead that
// are missing. The mirrors themselves are PHMs.
func (a *ExportedFolder) Verify(ctx context.Context) (findings []Discrepancy, err error) {
	for _, m := range a.Mirrors {
		f, err := phm.OpenRegular(a.root.FS(), path.Join(phmsFolder, MirrorFolder(m.Name), changedName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		for dec := json.NewDecoder(f); dec.More(); {
			var p Page
			if err := errors.Join(dec.Decode(&p), ctx.Err()); err != nil {
				return nil, errors.Join(fmt.Errorf("%s of %s: %w", changedName, m.Name, err), f.Close())
			}
			what, err := wrong(a.root, path.Join(MirrorFolder(m.Name), p.Path), p.SHA256)
			if err != nil {
				what = err.Error()
			}
			for _, what := range append(p.missing(a.root, ""), what) {
				if what != "" {
					findings = append(findings, Discrepancy{m.Name, p.Path, what})
				}
			}
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return findings, nil
}
