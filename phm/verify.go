// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"mirrord/internal/inorder"
)

// A ProblemKind says in what way a PHM is not what it says.
type ProblemKind string

// The kinds of a Problem.
const (
	BadMeta    ProblemKind = "meta"    // phm.json disagrees with the files
	BadTable   ProblemKind = "table"   // a line of phm.files breaks a rule
	BadName    ProblemKind = "name"    // two paths are one name on some file system, or a name is unsafe
	Missing    ProblemKind = "missing" // in the table and not in the tree
	Unlisted   ProblemKind = "extra"   // in the tree and not in the table
	NotRegular ProblemKind = "type"    // a link, a device, or a directory instead of a file
	BadSize    ProblemKind = "size"
	BadDigest  ProblemKind = "digest"
	Unreadable ProblemKind = "read"
	BrokenLink ProblemKind = "link"
	BadOrder   ProblemKind = "order" // phm.json and phm.files are not the first entries of the archive
)

// A Problem is one thing that Verify found.
type Problem struct {
	Kind   ProblemKind `json:"kind"`
	Path   string      `json:"path,omitempty"`
	Detail string      `json:"detail"`
	Err    error       `json:"-"` // of an Unreadable one
}

func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("%s: %s", p.Kind, p.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", p.Kind, p.Path, p.Detail)
}

// A Report is what Verify found.
type Report struct {
	Meta     *Meta     `json:"meta"`
	Files    int       `json:"files"` // read and right in size and digest
	Bytes    int64     `json:"bytes"`
	Linked   int       `json:"linked"` // files whose links were checked
	Delta    *DeltaSum `json:"delta,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
	More     int       `json:"more,omitempty"`  // problems beyond maxProblems
	Notes    []string  `json:"notes,omitempty"` // sentences about oddities that are no problem
}

// Err returns nil when nothing was found, else an ErrDamaged that names the first problem.
func (r *Report) Err() error {
	switch n := len(r.Problems) + r.More; n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("verify: %w: %s", ErrDamaged, r.Problems[0])
	default:
		return fmt.Errorf("verify: %w: %s, and %d more", ErrDamaged, r.Problems[0], n-1)
	}
}

// A LinkChecker returns a sentence for each link of a file that leads nowhere: a relative one to a path that
// does not exist. raw is valid until it returns. With workers it must be safe for concurrent use.
type LinkChecker func(f *File, raw []byte, exists func(path string) bool) (broken []string)

// VerifyOptions are the choices of Verify. The zero value checks all but links.
type VerifyOptions struct {
	Links  LinkChecker      // nil: links are not checked
	Linked func(*File) bool // the files for which Links is called; nil: all
	Crew   inorder.Crew     // reads files side by side; the tree must be safe for concurrent use then
}

// maxProblems is how many problems are kept in a report.
const maxProblems = 1000

// maxLinked is the size in bytes of a file whose links are read: it is held in memory.
const maxLinked = 256 << 20

// Verify reads a whole PHM and reports every problem. It fails only when there is nothing to verify:
// ErrNotPHM, ErrNewer. On a directory fsys must be able to list it; an Archive or a Tar is listed by its
// Names.
func Verify(fsys fs.FS, o VerifyOptions) (*Report, error) {
	m, err := OpenMeta(fsys)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v := newVerifier(fsys, o)
	v.report.Meta = m
	v.table()
	v.files()
	v.extra()
	if a, ok := fsys.(*Archive); ok {
		v.order(a)
	}
	return v.report, nil
}

// DeltaSum says what a delta archive has, in a Report whose Meta is that of the target.
type DeltaSum struct {
	Base    DeltaBase `json:"base"`
	Version int       `json:"version"` // of the target
	Lines   int       `json:"lines"`   // files that are new or changed
	Gone    int       `json:"gone"`    // lines of the base's table that go without another in their place
}

// VerifyDelta reads a whole delta archive and reports every problem of what it has. Whether it fits another
// archive, and the files whose bytes come from there, Apply checks. It fails with ErrNotDelta for another
// archive. Links are not checked.
func VerifyDelta(a *Archive) (*Report, error) {
	d, err := readDelta(a)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v := newVerifier(a, VerifyOptions{})
	v.part = func(path string) bool { return a.files[path] != nil }
	if v.report.Meta, err = ReadMeta(strings.NewReader(d.Meta)); err != nil {
		v.problem(BadMeta, "", "of the target: %v", err)
	}
	v.lines(func(*File) {})
	v.files()
	v.extra()
	v.order(a)
	v.report.Delta = &DeltaSum{d.Base, d.Target.Version, len(v.listed), d.Gone}
	return v.report, nil
}

type verifier struct {
	fsys fs.FS
	VerifyOptions
	report *Report
	listed map[string]struct{}    // paths of the table
	part   func(path string) bool // which files are there at all; nil: those of the table
}

func newVerifier(fsys fs.FS, o VerifyOptions) *verifier {
	return &verifier{
		fsys:          fsys,
		VerifyOptions: o,
		report:        new(Report),
		listed:        map[string]struct{}{},
	}
}

func (v *verifier) problem(kind ProblemKind, path, format string, args ...any) {
	v.add(Problem{Kind: kind, Path: path, Detail: fmt.Sprintf(format, args...)})
}

func unreadable(path string, err error) Problem { return Problem{Unreadable, path, err.Error(), err} }

func (v *verifier) add(p Problem) {
	if len(v.report.Problems) >= maxProblems {
		v.report.More++
		return
	}
	v.report.Problems = append(v.report.Problems, p)
}

// order checks what an archive begins with.
func (v *verifier) order(a *Archive) {
	if a.order[0] != MetaName || a.order[1] != FilesName {
		v.problem(BadOrder, "", "the archive begins with %q and %q", a.order[0], a.order[1])
	}
}

// lines checks each line of phm.files, and calls good for those that are right.
func (v *verifier) lines(good func(*File)) {
	for f, err := range tableOf(v.fsys) {
		var line *LineError
		switch {
		case err == nil:
			v.listed[f.Path] = struct{}{}
			good(f)
		case errors.Is(err, ErrTaken), errors.Is(err, ErrPath):
			v.problem(BadName, "", "%v", err)
		case errors.As(err, &line):
			v.problem(BadTable, "", "%v", err)
		default:
			v.add(unreadable(FilesName, err))
		}
	}
}

// table checks phm.files as a whole and against phm.json.
func (v *verifier) table() {
	m := v.report.Meta
	var sum Table
	owned := false
	v.lines(func(f *File) {
		owned = owned || hasOrigin(f.URL, m.Primary)
		sum.Files++
		sum.Bytes += f.Size
	})
	if _, ok := v.listed[m.Entry]; !ok {
		v.problem(BadMeta, MetaName, "the entry point %q is not in %s", m.Entry, FilesName)
	}
	if err := m.checkAddresses(owned); err != nil {
		v.problem(BadMeta, "", "%v", err)
	}
	if m.Files != sum.Files {
		v.problem(BadMeta, MetaName, "it states %d files, %s has %d", m.Files, FilesName, sum.Files)
	}
	if m.Bytes != sum.Bytes {
		v.problem(BadMeta, MetaName, "it states %d bytes, %s has %d", m.Bytes, FilesName, sum.Bytes)
	}
	if m.TableSum != "" {
		if got, err := sumOf(v.fsys, FilesName); err != nil {
			v.add(unreadable(FilesName, err))
		} else if got != m.TableSum {
			v.problem(BadDigest, FilesName, "its SHA-256 is %s, %s states %s", got, MetaName, abbreviate(m.TableSum))
		}
	}
}

// files checks every file of the table.
func (v *verifier) files() {
	files := inorder.New(v.Crew, packAhead, func(c checked, _ error) error {
		for _, p := range c.problems {
			v.add(p)
		}
		if c.right {
			v.report.Files++
			v.report.Bytes += c.size
		}
		if c.linked {
			v.report.Linked++
		}
		return nil
	})
	defer files.Close()
	readers := make([]fileReader, files.Workers())
	for f, err := range inReach(v.fsys) {
		if err != nil || (v.part != nil && !v.part(f.Path)) {
			continue // of an error, lines has said so
		}
		weight := int64(len(readers[0].buf))
		if v.links(f) {
			weight = f.Size
		}
		_ = files.Add(weight, func(worker int) (checked, error) { return v.file(f, &readers[worker]), nil })
	}
	_ = files.Flush()
}

// links reports whether the links of a file are checked.
func (v *verifier) links(f *File) bool {
	return v.Links != nil && f.Size <= maxLinked && (v.Linked == nil || v.Linked(f))
}

// checked is what was found of a file.
type checked struct {
	problems []Problem
	size     int64
	right    bool // it is the file of the table
	linked   bool // its links were checked
}

func (c *checked) problem(kind ProblemKind, f *File, format string, args ...any) {
	c.problems = append(c.problems, Problem{Kind: kind, Path: f.Path, Detail: fmt.Sprintf(format, args...)})
}

// fileReader is the memory of a worker.
type fileReader struct {
	buf [64 << 10]byte
	raw []byte
}

// maxRaw is how many bytes of memory for a file are used again.
const maxRaw = 1 << 20

func (v *verifier) file(f *File, m *fileReader) (c checked) {
	r, err := OpenRegular(v.fsys, f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.problem(Missing, f, "it does not exist")
		return c
	case errors.Is(err, errNotRegular):
		c.problem(NotRegular, f, "%v", err)
		return c
	case err != nil:
		c.problems = append(c.problems, unreadable(f.Path, err))
		return c
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		c.problems = append(c.problems, unreadable(f.Path, err))
		return c
	}
	if info.Size() != f.Size {
		c.problem(BadSize, f, "it has %d bytes, not %d", info.Size(), f.Size)
		return c
	}
	digest := sha256.New()
	w := io.Writer(digest)
	links := v.links(f)
	raw := m.raw[:0]
	if links {
		raw = slices.Grow(raw, int(f.Size))
		w = io.MultiWriter(digest, (*appendWriter)(&raw))
		if cap(raw) <= maxRaw {
			m.raw = raw
		}
	}
	n, err := io.CopyBuffer(w, onlyReader{io.LimitReader(r, f.Size+1)}, m.buf[:])
	if err != nil {
		c.problems = append(c.problems, unreadable(f.Path, err))
		return c
	}
	if n != f.Size {
		c.problem(BadSize, f, "it does not have %d bytes", f.Size)
		return c
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != f.SHA256 {
		c.problem(BadDigest, f, "its SHA-256 is %s, not %s", got, f.SHA256)
		return c
	}
	c.right, c.size = true, n
	if links {
		c.linked = true
		for _, broken := range v.Links(f, raw, v.exists) {
			c.problem(BrokenLink, f, "%s", broken)
		}
	}
	return c
}

func (v *verifier) exists(path string) bool {
	_, ok := v.listed[path]
	return ok
}

// extra finds files of the tree that are not in the table.
func (v *verifier) extra() {
	other := func(path string) bool {
		return path != MetaName && path != FilesName && !v.exists(path)
	}
	if a, ok := v.fsys.(interface{ Names() []string }); ok {
		for _, path := range slices.Sorted(slices.Values(a.Names())) {
			if other(path) {
				v.problem(Unlisted, path, "%s does not name it", FilesName)
			}
		}
		return
	}
	err := fs.WalkDir(v.fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			v.add(unreadable(strings.ToValidUTF8(path, "�"), err))
		case d.IsDir():
		case other(path):
			v.problem(Unlisted, strings.ToValidUTF8(path, "�"), "%s does not name it", FilesName)
		case !d.Type().IsRegular():
			v.problem(NotRegular, path, "it is not a regular file but %s", d.Type())
		}
		return nil
	})
	if err != nil {
		v.add(unreadable(".", err))
	}
}

// appendWriter appends its input to a slice.
type appendWriter []byte

func (a *appendWriter) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
