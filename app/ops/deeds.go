// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"context"
	"errors"
	"fmt"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/life"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/scheduler/control"
)

// The operations below change the state directory. Once begun they are done, whether or not the client waits.

// Removing is how a job is removed.
type Removing struct {
	Dry bool `json:"dry_run,omitempty"` // say what would go, and remove nothing; needs no If-Match
	// keep nothing of it for mirrors of its space that link to it
	Now bool `json:"now,omitempty" doc:"keep nothing of it for mirrors of its space that link to it"`
}

func remove(ctx context.Context, a Act, in *Removing) (*life.Removal, error) {
	plan, err := life.PlanRemoval(a.App, a.Job, in.Now)
	if err != nil || in.Dry {
		return plan, err
	}
	return plan, life.Remove(context.WithoutCancel(ctx), a.App, plan)
}

// NewName is the new name of a job.
type NewName struct {
	To string `json:"to" doc:"new name"` // the new name
}

// About is what the audit log says of it.
func (r *NewName) About() string { return "to " + r.To }

func rename(ctx context.Context, a Act, in *NewName) (*life.Renamed, error) {
	return life.Rename(context.WithoutCancel(ctx), a.App, a.Job, in.To)
}

// Forget is the argument of a take-down.
type Forget struct {
	Dry    bool   `json:"dry_run,omitempty"`                     // say what would go, and delete nothing; needs no If-Match
	What   string `json:"what" doc:"URL, or pattern of URLs"`    // URL, or a pattern of scope.exclude
	Reason string `json:"reason" doc:"why, as explain shows it"` // why: explain shows it
}

// About is what the audit log says of it.
func (f *Forget) About() string { return f.What + ": " + f.Reason }

func forget(ctx context.Context, a Act, in *Forget) (*care.Forgetting, error) {
	plan, err := care.PlanForget(a.App, a.Job, in.What, in.Reason, 20) // other mirrors: a page waits
	if err != nil || in.Dry {
		return plan, err
	}
	return plan, care.Forget(context.WithoutCancel(ctx), a.App, plan)
}

// OlderVersion is the version that is published again.
type OlderVersion struct {
	To      int `json:"to,omitempty"`      // its number; without it the one before the current version
	Current int `json:"current,omitempty"` // the current version, when the request is refused if another one is
}

// About is what the audit log says of it.
func (r *OlderVersion) About() string { return fmt.Sprintf("from version %d to %d", r.Current, r.To) }

// ErrChanged says that a request is about a state that has changed.
var ErrChanged = control.WithCode(errors.New("it has changed since this page was shown; look at it again"),
	control.ErrConflict)

// RolledBack is what became of it.
type RolledBack struct {
	Job     string `json:"job"`
	Version int    `json:"version"` // the current one, which is as the older one
}

func rollback(ctx context.Context, a Act, in *OlderVersion) (out RolledBack, err error) {
	if in.Current != 0 {
		vs, err := look.Versions(a.App, a.Job)
		if err != nil {
			return out, err
		}
		if vs[len(vs)-1].Number != in.Current {
			return out, ErrChanged
		}
	}
	sum, err := runs.Rollback(context.WithoutCancel(ctx), a.App, a.Job, in.To)
	if err == nil {
		out = RolledBack{a.Job, sum.Version}
	}
	return out, err
}

// Collecting is how space is freed.
type Collecting struct {
	Dry bool `json:"dry_run,omitempty"` // say what would be freed
}

func collect(ctx context.Context, a Act, in *Collecting) (*care.Collected, error) {
	c, err := care.Collect(context.WithoutCancel(ctx), a.App, []string{a.Job}, in.Dry)
	e, is := errors.AsType[*env.Error](err)
	if c == nil || !is {
		return c, err
	}
	why := c.Busy
	for _, s := range c.Sites {
		if s.Problem != "" {
			why = s.Problem
		}
	}
	return c, &env.Error{Kind: e.Kind, Err: errors.New(why)}
}
