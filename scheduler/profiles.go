// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mirrord/internal/regular"
	"mirrord/site/profile"
)

// ProfilesDir is where the profiles of a directory of job files lie.
func ProfilesDir(jobs string) string {
	return filepath.Join(filepath.Dir(filepath.Clean(jobs)), "profiles.d")
}

// Profiles returns the profiles for a directory of job files: those of mirrord, and those of ProfilesDir, if
// there is one. What cannot be read is left out, with an error each.
func Profiles(jobs string) (*profile.Catalog, []error) {
	path := ProfilesDir(jobs)
	root, err := regular.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return profile.Known(), nil
	}
	if err != nil {
		return profile.Known(), []error{fmt.Errorf("read profiles: %w", err)}
	}
	defer root.Close()
	if fi, err := os.Stat(path); (err == nil) && othersWrite(path, fi) {
		return profile.Known(), []error{fmt.Errorf(
			"read profiles: anybody may write into %s (mode %04o); chmod o-w %s", path, fi.Mode().Perm(), path)}
	}
	return profile.Known().With(root.FS())
}
