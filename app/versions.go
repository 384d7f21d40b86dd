// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"

	"mirrord/job"
	"mirrord/store"
)

// Versions reads the versions of a site, oldest first; it is an error when there are none.
func Versions(a *App, name string) ([]store.Version, error) {
	if !job.ValidName(name) {
		return nil, Usagef("%q cannot name a job", name)
	}
	st, err := a.MustState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.ReadSite(name)
	if err != nil {
		return nil, err
	}
	vs, err := s.Versions.List()
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("site %s: %w", name, store.ErrNoVersion)
	}
	return vs, nil
}
