// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"io"
	"io/fs"

	"mirrord/phm"
)

// Zstd is a tar of the directory form, compressed with zstd (RFC 8878).
func (forms) Zstd() Form {
	return Form{
		Name:   "tar.zst",
		Doc:    "a compressed tar (tar.zst)",
		Pack:   packZstd,
		Open:   phm.Open,
		Claims: begins("\x28\xb5\x2f\xfd"),
		place:  3,
	}
}

func packZstd(w io.Writer, tree fs.FS, o Packing) (*phm.Meta, error) {
	return phm.PackTar(w, tree, phm.PackOptions{Prefix: o.Name + "/", Crew: o.Crew})
}

// Gzip is the same compressed with gzip, which is read and not written.
func (forms) Gzip() Form {
	return Form{
		Name:   "tar.gz",
		Doc:    "a tar (tar.gz)",
		Open:   phm.Open,
		Claims: begins("\x1f\x8b"),
		place:  7,
	}
}

// Tar is the same without compression, which is read and not written.
func (forms) Tar() Form {
	claims := func(head []byte) bool { return len(head) > 262 && bytes.Equal(head[257:262], []byte("ustar")) }
	return Form{
		Name:   "tar",
		Doc:    "a tar (tar)",
		Open:   phm.Open,
		Claims: claims,
		place:  8,
	}
}
