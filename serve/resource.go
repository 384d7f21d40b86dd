// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"encoding/hex"
	"fmt"
	"io/fs"

	"mirrord/phm"
	"mirrord/site"
)

// resourceOf turns a line into a resource.
func resourceOf(f *phm.File) (Resource, error) {
	r := Resource{
		URL:      site.Canonical(f.URL),
		Path:     f.Path,
		MIME:     f.Type,
		Modified: f.Modified,
		Size:     f.Size,
	}
	if n, err := hex.Decode(r.Digest[:], []byte(f.SHA256)); err != nil || n != len(r.Digest) || r.URL.IsZero() ||
		!fs.ValidPath(f.Path) {
		return Resource{}, fmt.Errorf("%s: %q: %w", phm.FilesName, f.Path, phm.ErrTable)
	}
	return r, nil
}
