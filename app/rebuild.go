// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"

	"mirrord/job"
)

// Rebuilt is what Rebuild did.
type Rebuilt struct {
	Job     string `json:"job"`
	Rebuilt bool   `json:"rebuilt"`
	Known   int    `json:"known,omitempty"` // URLs
}

// Rebuild makes the database of a job again if it cannot be read.
func Rebuild(ctx context.Context, a *App, name string) (*Rebuilt, error) {
	if !job.ValidName(name) {
		return nil, Usagef("%q cannot name a job", name)
	}
	st, err := a.MustWriteState()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	out := Rebuilt{Job: name}
	if out.Rebuilt, err = st.Unreadable(ctx, name); err != nil {
		return nil, err
	}
	if out.Rebuilt {
		if out.Known, err = st.Rebuild(name); err != nil {
			return nil, err
		}
	}
	return &out, nil
}
