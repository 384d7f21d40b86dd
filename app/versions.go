// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"mirrord/store"
)

// Versions reads the versions of a site, oldest first; it is an error when there are none.
func Versions(a *App, name string) ([]store.Version, error) {
	var vs []store.Version
	err := viewState(a, name, func(_ *store.State, s *store.Site) (err error) {
		vs, err = s.Versions.List()
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
	}
	return vs, nil
}
