// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store"
	"mirrord/store/record"
)

// PublishedMeta reads phm.json of the published version of a site. It needs neither the database of the site
// nor its lock. The error for a site that has no version is store.ErrNoVersion.
func PublishedMeta(st *store.State, name string) (*phm.Meta, error) {
	root, err := regular.OpenRoot(filepath.Join(st.Dir, "sites", name))
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer root.Close()
	tree, err := root.OpenRoot("current")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("site %s: %w", name, record.ErrNoVersion)
	} else if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	defer tree.Close()
	return phm.OpenMeta(tree.FS())
}

// LostReason is the reason that phm.json gives for a page that was dropped from its version.
const LostReason = "its stored body was lost on the disk, and it was dropped from this version"

// Lacks returns the URLs of which phm.json says that they were lost.
func Lacks(m *phm.Meta) (urls []string) {
	for _, f := range m.Failed {
		if f.Reason == LostReason {
			urls = append(urls, f.URL)
		}
	}
	return urls
}
