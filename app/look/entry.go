// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"fmt"
	"path/filepath"

	"mirrord/app/env"
	"mirrord/mirror/render"
	"mirrord/store/record"
)

// EntryFile is the path of the entry page of a published mirror.
func EntryFile(a *env.App, name string) (string, error) {
	if err := env.KnownJob(a, name); err != nil {
		return "", err
	}
	st, err := a.MustState()
	if err != nil {
		return "", err
	}
	defer st.Close()
	meta, err := render.PublishedMeta(st, name)
	if errors.Is(err, record.ErrNoVersion) {
		return "", fmt.Errorf("%w: mirrord run-now %s makes it", err, name)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(st.Dir, "sites", name, "current", filepath.FromSlash(meta.Entry)), nil
}
