// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"io"
	"io/fs"

	"mirrord/archive/kiwix"
	"mirrord/archive/zim"
	"mirrord/internal/inorder"
	"mirrord/phm"
)

// errNotPlaced is a fault of the program that any test finds.
var errNotPlaced = errors.New("a ZIM file is written to a file, not to a stream")

// Zim is a file for Kiwix.
func (forms) Zim() Form {
	return Form{
		Name:   "zim",
		Doc:    "a file for Kiwix (zim)",
		Placed: true,
		Leads:  true,
		Pack: func(w io.Writer, tree fs.FS, o Packing) (*phm.Meta, error) {
			f, ok := w.(zim.File)
			if !ok {
				return nil, errNotPlaced
			}
			return kiwix.Pack(f, tree, kiwix.Options{Name: o.Name, Crew: o.Crew, Redirects: o.Redirects})
		},
		Seeks: true,
		Open: func(r io.ReaderAt, size int64, l phm.Limits) (fs.FS, error) {
			return kiwix.Open(r, size, l)
		},
		Claims: begins("ZIM\x04"),
		place:  4,

		Replaceable: func(r io.ReaderAt, size int64) error {
			if size == 0 {
				return nil
			}
			_, err := zim.Open(r, size)
			return err
		},
	}
}

// ForeignZim is a ZIM file of another program, which has entries and no file table.
func (forms) ForeignZim() Form {
	return Form{
		Name:   "zim",
		Doc:    "a ZIM file of another program",
		Claims: begins("ZIM\x04"),
		Holds:  kiwix.Foreign,
		Browse: zim.Open,
		Verify: func(r io.ReaderAt, size int64, _ inorder.Crew) (*phm.Report, error) {
			b, err := zim.Open(r, size)
			if err != nil {
				return nil, err
			}
			out := new(phm.Report)
			s := b.Survey(func(err error) {
				p := phm.Problem{Kind: phm.Unreadable, Detail: err.Error()}
				if out.Problems = append(out.Problems, p); len(out.Problems) > mostProblems {
					out.Problems, out.More = out.Problems[:mostProblems], out.More+1
				}
			})
			out.Files, out.Bytes = s.Entries, s.Bytes
			return out, nil
		},
		place: 7,
	}
}
