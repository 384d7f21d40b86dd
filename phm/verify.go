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
	NotRegular ProblemKind = "type"    // a link, a device, or a directory in the place of a file
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
	Problems []Problem `json:"problems,omitempty"`
	More     int       `json:"more,omitempty"` // problems beyond VerifyOptions.MaxProblems
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
// does not exist. raw is valid until it returns.
type LinkChecker func(f *File, raw []byte, exists func(path string) bool) (broken []string)

// VerifyOptions are the choices of Verify. The zero value checks all but links.
type VerifyOptions struct {
	Links       LinkChecker      // nil: links are not checked
	Linked      func(*File) bool // the files for which Links is called; nil: all
	MaxProblems int              // kept in the report; default 1000
}

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
	if o.MaxProblems <= 0 {
		o.MaxProblems = 1000
	}
	v := &verifier{
		fsys:   fsys,
		o:      o,
		report: &Report{Meta: m},
		listed: map[string]struct{}{},
		buf:    make([]byte, 64<<10),
	}
	v.table()
	v.files()
	v.extra()
	if a, ok := fsys.(*Archive); ok && (a.order[0] != MetaName || a.order[1] != FilesName) {
		v.problem(BadOrder, "", "the archive begins with %q and %q", a.order[0], a.order[1])
	}
	return v.report, nil
}

type verifier struct {
	fsys   fs.FS
	o      VerifyOptions
	report *Report
	listed map[string]struct{} // paths of the table
	buf    []byte
}

func (v *verifier) problem(kind ProblemKind, path, format string, args ...any) {
	if len(v.report.Problems) >= v.o.MaxProblems {
		v.report.More++
		return
	}
	v.report.Problems = append(v.report.Problems, Problem{kind, path, fmt.Sprintf(format, args...)})
}

// table checks phm.files as a whole and against phm.json.
func (v *verifier) table() {
	m := v.report.Meta
	var sum Table
	owned := false
	for f, err := range tableOf(v.fsys) {
		var line *LineError
		switch {
		case err == nil:
			v.listed[f.Path] = struct{}{}
			owned = owned || hasOrigin(f.URL, m.Primary)
			sum.Files++
			sum.Bytes += f.Size
		case errors.Is(err, ErrTaken), errors.Is(err, ErrPath):
			v.problem(BadName, "", "%v", err)
		case errors.As(err, &line):
			v.problem(BadTable, "", "%v", err)
		default:
			v.problem(Unreadable, FilesName, "%v", err)
		}
	}
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
			v.problem(Unreadable, FilesName, "%v", err)
		} else if got != m.TableSum {
			v.problem(BadDigest, FilesName, "its SHA-256 is %s, %s states %s", got, MetaName, abbreviate(m.TableSum))
		}
	}
}

// files checks every file of the table.
func (v *verifier) files() {
	for f, err := range inReach(v.fsys) {
		if err == nil {
			v.file(f)
		}
	}
}

func (v *verifier) file(f *File) {
	r, err := OpenRegular(v.fsys, f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.problem(Missing, f.Path, "it does not exist")
		return
	case errors.Is(err, errNotRegular):
		v.problem(NotRegular, f.Path, "%v", err)
		return
	case err != nil:
		v.problem(Unreadable, f.Path, "%v", err)
		return
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		v.problem(Unreadable, f.Path, "%v", err)
		return
	}
	if info.Size() != f.Size {
		v.problem(BadSize, f.Path, "it has %d bytes, not %d", info.Size(), f.Size)
		return
	}
	digest := sha256.New()
	w := io.Writer(digest)
	var raw []byte
	check := v.o.Links != nil && f.Size <= maxLinked && (v.o.Linked == nil || v.o.Linked(f))
	if check {
		raw = make([]byte, 0, f.Size)
		w = io.MultiWriter(digest, (*appendWriter)(&raw))
	}
	n, err := io.CopyBuffer(w, onlyReader{io.LimitReader(r, f.Size+1)}, v.buf)
	if err != nil {
		v.problem(Unreadable, f.Path, "%v", err)
		return
	}
	if n != f.Size {
		v.problem(BadSize, f.Path, "it does not have %d bytes", f.Size)
		return
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != f.SHA256 {
		v.problem(BadDigest, f.Path, "its SHA-256 is %s, not %s", got, f.SHA256)
		return
	}
	v.report.Files++
	v.report.Bytes += n
	if check {
		v.report.Linked++
		for _, broken := range v.o.Links(f, raw, v.exists) {
			v.problem(BrokenLink, f.Path, "%s", broken)
		}
	}
}

func (v *verifier) exists(path string) bool {
	_, ok := v.listed[path]
	return ok
}

// extra finds what lies in the tree beside the files of the table.
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
			v.problem(Unreadable, strings.ToValidUTF8(path, "�"), "%v", err)
		case d.IsDir():
		case other(path):
			v.problem(Unlisted, strings.ToValidUTF8(path, "�"), "%s does not name it", FilesName)
		case !d.Type().IsRegular():
			v.problem(NotRegular, path, "it is not a regular file but %s", d.Type())
		}
		return nil
	})
	if err != nil {
		v.problem(Unreadable, ".", "%v", err)
	}
}

// appendWriter appends what is written to a slice.
type appendWriter []byte

func (a *appendWriter) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
