package main

import (
	"context"
	"errors"
	"fmt"

	"mirrord/job"
	"mirrord/store"
)

// rebuilt is the report of verify --rebuild.
type rebuilt struct {
	Job     string `json:"job"`
	Rebuilt bool   `json:"rebuilt"`
	Known   int    `json:"known,omitempty"` // URLs
}

// rebuild makes the database of a job anew if it cannot be read.
func (a *app) rebuild(ctx context.Context, name string) error {
	if !job.ValidName(name) {
		return usagef("%q cannot name a job", name)
	}
	st, err := a.mustWriteState()
	if err != nil {
		return err
	}
	defer st.Close()
	out := rebuilt{Job: name}
	if out.Rebuilt, err = unreadable(ctx, st, name); err != nil {
		return err
	}
	if out.Rebuilt {
		if out.Known, err = st.Rebuild(name); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		return a.printJSON(out)
	case out.Rebuilt:
		a.printf("%s: %d URLs are known again from the published version; what was there is in the site's folder \"damaged\"\n", name, out.Known)
		a.printf("mirrord run-now %s brings the rest\n", name)
	default:
		a.printf("%s: its database can be read; nothing was changed\n", name)
	}
	return nil
}

// unreadable reports whether the pages of a site's database are damaged.
func unreadable(ctx context.Context, st *store.State, name string) (bad bool, err error) {
	s, err := st.ReadSite(name)
	if errors.Is(err, store.ErrDamaged) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	bad, err = s.Unreadable(ctx)
	return bad, errors.Join(err, s.Close())
}

// damagedHint says what to do about a database that cannot be read.
func damagedHint(name string, err error) error {
	if errors.Is(err, store.ErrDamaged) {
		return fmt.Errorf("%w (mirrord verify --rebuild %s makes it anew from the published version)", err, name)
	}
	return err
}
