// SPDX-License-Identifier: Apache-2.0

package care

import (
	"context"
	"errors"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/store"
	"mirrord/store/disk"
)

// Rebuilt is what Rebuild did.
type Rebuilt struct {
	Job     string `json:"job"`
	Rebuilt bool   `json:"rebuilt"`
	Whole   bool   `json:"whole,omitempty"` // from its log: nothing was lost
	Known   int    `json:"known,omitempty"` // URLs, of one that is not whole
}

// Rebuild makes the database of a job again if it cannot be read: from its log, or else from the published
// version.
func Rebuild(ctx context.Context, a *env.App, name string) (*Rebuilt, error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	st, err := a.MustWriteState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out := Rebuilt{Job: name}
	why, err := st.Unreadable(ctx, name)
	if err != nil {
		return nil, err
	}
	if out.Rebuilt = why != nil; !out.Rebuilt {
		return &out, nil
	}
	switch err := store.Redo(st, name, why); {
	case err == nil:
		out.Whole = true
		return &out, nil
	case !errors.Is(err, disk.ErrDamaged):
		return nil, err
	}
	out.Known, err = st.Rebuild(name)
	return &out, err
}
