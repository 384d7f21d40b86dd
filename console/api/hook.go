// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"mirrord/app/access"
	"mirrord/app/shares"
	"mirrord/internal/webhook"
	"mirrord/scheduler/control"
	"mirrord/store/shared"
)

// A release makes several calls: of the tag, its files, its page. A run starts when there was none for
// hookQuiet, or hookMost after the first.
const (
	hookQuiet = 15 * time.Second
	hookMost  = 2 * time.Minute
)

// Bounds of the signed calls for one job.
const (
	hookEvery = 2 * time.Second
	hookBurst = 60
	seenFor   = 2 * webhook.Tolerance // identifiers of calls; an older call is refused by its time
	mostHook  = 256 << 10             // bytes of a body: it is signed, and not looked at
)

// hooks starts runs for signed calls.
type hooks struct {
	calls *access.Limit // signed calls, by job
	wake  chan struct{} // of 1: a call came

	mu    sync.Mutex
	going map[string]bool // jobs with a goroutine that starts their run
}

func newHooks() *hooks {
	return &hooks{
		calls: access.NewLimit(hookEvery, hookBurst),
		wake:  make(chan struct{}, 1),
		going: map[string]bool{},
	}
}

// taken is the answer to a signed call.
type taken struct {
	Job      string    `json:"job"`
	Due      time.Time `json:"due"`                // when the run starts, unless another call comes
	Repeated bool      `json:"repeated,omitempty"` // this call came before, and counts once
}

// due is when a run starts for the calls that wait.
func due(f shared.HookFact) time.Time {
	quiet, most := f.Last.Add(hookQuiet), f.First.Add(hookMost)
	if quiet.After(most) {
		return most
	}
	return quiet
}

// takeHook takes a signed call. A caller without the key learns nothing, not even which jobs there are.
func takeHook(c *call) error {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, mostHook))
	if err != nil {
		return err
	}
	h := c.r.Header
	err = c.Book.CheckCall(c.job, webhook.Signed{
		ID:        h.Get(webhook.HeaderID),
		Time:      h.Get(webhook.HeaderTime),
		Signature: h.Get(webhook.HeaderSignature),
		Body:      body,
	})
	switch {
	case errors.Is(err, webhook.ErrSignature):
		return c.wrongly("signed call", errUnsigned)
	case errors.Is(err, webhook.ErrTime), errors.Is(err, webhook.ErrHeaders):
		return c.wrongly("signed call", fmt.Errorf("%w: %w", errUnsigned, err))
	case err != nil:
		return err
	}
	now := c.Now()
	if _, err := c.Daemon.Progress(c.job); err != nil {
		return err
	}
	if !c.hooks.calls.Allow(c.job, now) {
		return errCallsHere
	}
	out := taken{Job: c.job}
	err = c.Facts.ChangeHook(c.job, func(was *shared.HookFact) (*shared.HookFact, error) {
		f := noted(was, h.Get(webhook.HeaderID), now)
		out.Repeated = f == nil
		if f == nil {
			f = was
		}
		out.Due = due(*f).UTC()
		return f, nil
	})
	if err != nil {
		return err
	}
	if !out.Repeated {
		c.who = "webhook"
		c.audit("signed call", "call "+h.Get(webhook.HeaderID), nil)
		shares.Kick(c.hooks.wake)
	}
	c.send(http.StatusAccepted, out)
	return nil
}

// noted adds a call to those known; nil when it came before.
func noted(was *shared.HookFact, id string, now time.Time) *shared.HookFact {
	f := shared.HookFact{Seen: map[string]time.Time{}}
	if was != nil {
		f.First, f.Last = was.First, was.Last
		maps.Copy(f.Seen, was.Seen)
	}
	if _, ok := f.Seen[id]; ok {
		return nil
	}
	maps.DeleteFunc(f.Seen, func(_ string, at time.Time) bool { return now.Sub(at) > seenFor })
	f.Seen[id] = now.UTC()
	if f.Last.IsZero() {
		f.First = now.UTC()
	}
	f.Last = now.UTC()
	return &f
}

// Run starts the runs that signed calls want, until ctx ends. What waits then is stored, and continues with
// the next process.
func (s *Server) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		wait := s.startDue(ctx, &wg)
		select {
		case <-ctx.Done():
			return
		case <-s.hooks.wake:
		case <-time.After(wait):
		}
	}
}

// hookLook is how often is looked whether a call waits, when none is known to.
const hookLook = time.Minute

// startDue starts the runs that are due, each in a goroutine of its own, and returns how long it is to the
// next one.
func (s *Server) startDue(ctx context.Context, wg *sync.WaitGroup) time.Duration {
	all, err := s.Facts.Hooks()
	if err != nil {
		s.Log.Error("signed calls are not known", "err", err)
	}
	wait, now := hookLook, s.Now()
	for name, f := range all {
		if f.Last.IsZero() {
			continue
		}
		if left := due(f).Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		s.hooks.mu.Lock()
		start := !s.hooks.going[name]
		s.hooks.going[name] = true
		s.hooks.mu.Unlock()
		if start {
			wg.Go(func() { s.startRun(ctx, name, f.Last) })
		}
	}
	return wait
}

// startRun runs a job for the calls until last. A run that was under way already may have seen the site as it
// was before: another one follows.
func (s *Server) startRun(ctx context.Context, name string, last time.Time) {
	forgotten := false
	defer func() {
		s.hooks.mu.Lock()
		delete(s.hooks.going, name)
		s.hooks.mu.Unlock()
		if forgotten { // else it is tried again after hookLook
			shares.Kick(s.hooks.wake)
		}
	}()
	for {
		run, attached, err := s.Daemon.Run(name, control.RunRequest{})
		if ctx.Err() != nil {
			return
		}
		if err != nil || !attached {
			forgotten = s.started(name, last, err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-run.Done():
		}
	}
}

// started forgets calls whose run was started, or cannot be, and reports whether that is stored.
func (s *Server) started(name string, last time.Time, err error) bool {
	e := shared.AuditEntry{
		At:    s.Now().UTC(),
		Who:   "webhook",
		What:  "run",
		Job:   name,
		About: "after signed calls",
	}
	access.Record(s.Log, "api", s.Facts, e, err)
	cerr := s.Facts.ChangeHook(name, func(f *shared.HookFact) (*shared.HookFact, error) {
		switch {
		case f == nil:
			return nil, nil
		case f.Last.Equal(last):
			return &shared.HookFact{Seen: f.Seen}, nil
		}
		return &shared.HookFact{First: f.Last, Last: f.Last, Seen: f.Seen}, nil // more calls came
	})
	if cerr != nil {
		s.Log.Error("signed calls that a run was started for are known still", "job", name, "err", cerr)
	}
	return cerr == nil
}
