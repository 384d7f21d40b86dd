// SPDX-License-Identifier: Apache-2.0

// Package archive is the registry of the forms in which a mirror leaves a state directory and enters one.
//
// What all forms carry is a PHM (package phm): a tree with a table of its files. A form says how such a tree
// becomes one file and comes back from it. Each form is a method of forms in a file of its own, so that
// adding one is adding a file; mirrord export, import, verify and get, their help and their checks take the
// forms from here. The directory form is no file: those who export write it themselves.
package archive

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"mirrord/archive/kiwix"
	"mirrord/archive/projects"
	"mirrord/archive/zim"
	"mirrord/internal/inorder"
	"mirrord/internal/parts"
	"mirrord/phm"
)

// The forms that the program names itself: the default, and the one that is no file.
const (
	PHM = "phm"
	Dir = "dir"
)

// Form is one form. Its functions are safe for concurrent use.
type Form struct {
	Name  string // as --format has it; the name of a file in this form ends in a dot and this
	Short string // another name that --format takes, "" for none
	Doc   string // for the help: "a compressed tar (tar.zst)"

	// Pack writes a tree as one file and returns its phm.json. Nil: the form is only read.
	Pack func(w io.Writer, tree fs.FS, o Packing) (*phm.Meta, error)

	// Placed says that Pack needs a w that is a zim.File, such as an *os.File that may be read and written.
	Placed bool

	// Leads says that Pack writes redirects.
	Leads bool

	// Captures begins a file of what URLs yielded, in place of a tree. Nil: the form is one of trees.
	Captures func(w io.Writer, a About) (CaptureWriter, error)

	// Lists says that Captures lists pages with what they say, and signs the file.
	Lists bool

	// Open opens a file of the form as the tree that it was made of. It refuses unsafe files, as phm.Open
	// does; a tree that cannot list its directories has the method Names. Needed with Pack and Unpack.
	Open func(r io.ReaderAt, size int64, l phm.Limits) (fs.FS, error)

	// Seeks says that the files of an opened tree are read in any order, not from the beginning to the end.
	Seeks bool

	// Replaceable returns an error unless a file that stands where one is to be written is one of this form.
	// Nil: any regular file is.
	Replaceable func(r io.ReaderAt, size int64) error

	// Claims reports whether a file that begins with head, up to HeadSize bytes, is of this form. Nil: the form
	// is only written.
	Claims func(head []byte) bool

	// Holds looks at more of a file that Claims takes for one of the form, which then is the only form that has
	// it. Nil: Claims decides.
	Holds func(r io.ReaderAt, size int64) bool

	// Verify reads a file of the form that is no tree as a whole; a report with problems is no error. The crew
	// reads beside the caller. Nil: the form is one of trees.
	Verify func(r io.ReaderAt, size int64, crew inorder.Crew) (*phm.Report, error)

	// Browse opens a file of the form that has entries at paths, and no file table. Nil: it has something else.
	Browse func(r io.ReaderAt, size int64) (*zim.Reader, error)

	// Convert writes the answers in a file of the form as records. Nil: they are records, or the form has none.
	Convert func(r io.Reader, o Converting) (projects.Taken, error)

	place int // among the forms, for people
}

// Packing says how a tree is packed.
type Packing struct {
	Name string       // what a folder inside is called
	Crew inorder.Crew // reads and compresses beside the caller; the tree must be safe for concurrent use then

	// Redirects are those to files of the tree, for forms with Leads, in an order that is always the same.
	Redirects []Redirect
}

// Redirect is an address without a file that redirects to one.
type Redirect = kiwix.Redirect

// HeadSize is how much of a file Claims looks at, in bytes.
const HeadSize = 512

// Folder reports whether the form is a directory, not a file.
func (f Form) Folder() bool { return f.Name == Dir }

// forms is the registry: each exported method returns one form.
type forms struct{}

// Forms returns all forms in the order in which they are shown.
func Forms() []Form {
	all := parts.Of[Form](forms{})
	slices.SortStableFunc(all, func(a, b Form) int { return cmp.Compare(a.place, b.place) })
	return all
}

// Exports returns the forms that can be written.
func Exports() []Form {
	return slices.DeleteFunc(Forms(), func(f Form) bool {
		return (f.Pack == nil) && (f.Captures == nil) && !f.Folder()
	})
}

// Names returns the names of the forms that can be written.
func Names() (names []string) {
	for _, f := range Exports() {
		names = append(names, cmp.Or(f.Short, f.Name))
	}
	return names
}

// Docs says of each of them what it is.
func Docs() (docs []string) {
	for _, f := range Exports() {
		docs = append(docs, f.Doc)
	}
	return docs
}

// Find returns the form for an export of that name.
func Find(name string) (Form, bool) {
	all := Exports()
	i := slices.IndexFunc(all, func(f Form) bool { return name == f.Name || name == cmp.Or(f.Short, f.Name) })
	if i < 0 {
		return Form{}, false
	}
	return all[i], true
}

// Named returns the form that the name of a file stands for; what has no known ending is a directory.
func Named(file string) Form {
	folder := Form{}
	for _, f := range Exports() {
		if f.Folder() {
			folder = f
		} else if _, ok := f.Cut(file); ok {
			return f
		}
	}
	return folder
}

// Cut returns the name of a file without the ending that stands for the form; ok is false when it has none.
func (f Form) Cut(file string) (rest string, ok bool) {
	if rest, ok = strings.CutSuffix(file, "."+f.Name); !ok && f.Short != "" {
		rest, ok = strings.CutSuffix(file, "."+f.Short)
	}
	return rest, ok
}

// Unpack checks a file in any form and writes its tree to sink; see phm.Unpack. A file that no form claims
// is treated as the archive form of PHM, whose errors are returned.
func Unpack(r io.ReaderAt, size int64, sink phm.Sink) (*phm.Meta, error) {
	tree, err := Open(r, size, phm.Limits{})
	if err != nil {
		return nil, err
	}
	return phm.Unpack(tree, sink)
}

// Open opens a file in any form as a tree; see phm.Open. A file that no form claims is treated as the archive
// form of PHM, whose errors are returned.
func Open(r io.ReaderAt, size int64, l phm.Limits) (fs.FS, error) {
	f, err := treeForm(r, size)
	if err != nil {
		return nil, err
	}
	return f.Open(r, size, l)
}

// treeForm is FormOf for those who need a tree.
func treeForm(r io.ReaderAt, size int64) (Form, error) {
	f, err := FormOf(r, size)
	if err == nil && f.Open == nil {
		err = fmt.Errorf("%w: it is %s", phm.ErrNotPHM, f.Doc)
	}
	return f, err
}

// FormOf returns the form that a file is in. A file that no form claims is treated as the archive form
// of PHM.
func FormOf(r io.ReaderAt, size int64) (Form, error) {
	head := make([]byte, HeadSize)
	n, err := r.ReadAt(head[:min(size, HeadSize)], 0)
	if err != nil && err != io.EOF {
		return Form{}, err
	}
	if err := notRead(head[:n]); err != nil {
		return Form{}, err
	}
	claims := slices.DeleteFunc(Forms(), func(f Form) bool { return f.Claims == nil || !f.Claims(head[:n]) })
	for _, f := range claims {
		if f.Holds != nil && f.Holds(r, size) {
			return f, nil
		}
	}
	for _, f := range claims {
		if f.Holds == nil {
			return f, nil
		}
	}
	return forms{}.PHM(), nil
}

// CheckSum adds to a report of a tree the errors of the file that it was opened from, as a whole. Most
// forms have no digest of all of it.
func CheckSum(tree fs.FS, report *phm.Report) {
	if s, ok := tree.(interface{ CheckSum() error }); ok {
		if err := s.CheckSum(); err != nil {
			report.Problems = append(report.Problems, phm.Problem{Kind: phm.BadDigest, Detail: err.Error()})
		}
	}
}

// begins returns a Claims for forms that begin with certain bytes.
func begins(magic ...string) func([]byte) bool {
	return func(head []byte) bool {
		return slices.ContainsFunc(magic, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) })
	}
}
