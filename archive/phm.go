// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/zip"
	"io"
	"io/fs"

	"mirrord/phm"
)

// PHM is the archive form of PHM, a ZIP.
func (forms) PHM() Form {
	return Form{
		Name: PHM,
		Doc:  "one portable archive (phm, a ZIP)",
		Pack: func(w io.Writer, tree fs.FS, o Packing) (*phm.Meta, error) {
			return phm.Pack(w, tree, phm.PackOptions{Crew: o.Crew})
		},
		Open:   phm.Open,
		Seeks:  true,
		Claims: begins("PK"),

		Replaceable: func(r io.ReaderAt, size int64) error {
			if size == 0 {
				return nil
			}
			z, err := zip.NewReader(r, size)
			if err != nil {
				return err
			}
			f, err := z.Open(phm.MetaName)
			if err != nil {
				return err
			}
			return f.Close()
		},
		place: 1,
	}
}

// Dir is the directory form of PHM.
func (forms) Dir() Form {
	return Form{Name: Dir, Doc: "a directory (dir)", place: 2}
}
