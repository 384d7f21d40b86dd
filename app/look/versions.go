// SPDX-License-Identifier: Apache-2.0

package look

import (
	"fmt"
	"strings"

	"mirrord/app/env"
	"mirrord/store"
	"mirrord/store/record"
)

// Versions reads the versions of a site, oldest first; it is an error when there are none.
func Versions(a *env.App, name string) ([]record.Version, error) {
	var vs []record.Version
	err := env.ViewState(a, name, func(_ *store.State, s *store.Site) (err error) {
		vs, err = s.Versions.List()
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("site %s: %w", name, record.ErrNoVersion)
	}
	return vs, nil
}

// VersionNote describes a remarkable version; current says that readers see it.
func VersionNote(v record.Version, current bool) string {
	note := ""
	if v.Accepted {
		note = "accepted"
	}
	if v.Restores > 0 {
		note = fmt.Sprintf("rolled back to %d", v.Restores)
	}
	if current {
		note = strings.TrimSuffix("current, "+note, ", ")
	}
	return note
}
