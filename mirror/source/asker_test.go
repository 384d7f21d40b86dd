// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/site"
)

// trickle sends bytes until its context ends.
type trickle struct{}

func (trickle) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	res := &fetch.Result{}
	res.Status = 200
	w, err := sink.Begin(&res.Head)
	for err == nil && ctx.Err() == nil {
		_, err = w.Write(make([]byte, 10))
	}
	return res, errors.Join(err, &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled, Err: context.Cause(ctx)})
}

// counter has enough after 100 bytes.
type counter struct {
	n      int
	sized  bool
	enough func()
}

func (c *counter) Sized() { c.sized = true }

func (c *counter) Count(n int) {
	if c.n += n; c.n >= 100 {
		c.enough()
	}
}

// An exchange beside the frontier, of a replica or of its tests, that is given up failed for itself: the run
// does not end.
func TestAskerGivesUp(t *testing.T) {
	errSlow := errors.New("too slow for now")
	came, ended := new(counter), false
	k := source.NewAsker(source.AskerOptions{
		Fetcher: trickle{},
		Turns:   turns{},
		MaxWait: time.Minute,
		Watch: func(ctx context.Context) (context.Context, source.Watcher, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			came.enough = func() { cancel(errSlow) }
			return ctx, came, func() { ended = true; cancel(nil) }
		},
		GivenUp: func(cause error) error {
			if cause == errSlow {
				return fetch.ErrTooSlow
			}
			return nil
		},
	})
	req := fetch.Request{URL: site.Canonical("http://h/")}
	_, err := k.Exchange(t.Context(), req, new(source.PageSink))
	if !errors.Is(err, fetch.ErrTooSlow) || errors.Is(err, fetch.ErrCanceled) || !errors.Is(err, errSlow) {
		t.Error(err)
	}
	if came.n != 100 || !came.sized || !ended {
		t.Error(came.n, came.sized, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = k.Exchange(ctx, req, new(source.PageSink)); errors.Is(err, fetch.ErrTooSlow) {
		t.Errorf("the run ends: %v", err)
	}
}
