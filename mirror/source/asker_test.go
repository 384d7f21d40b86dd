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

// An exchange beside the frontier, of a replica or of its tests, that is given up failed for itself: the run
// does not end.
func TestAskerGivesUp(t *testing.T) {
	errSlow := errors.New("too slow for now")
	came, ended := 0, false
	k := source.NewAsker(source.AskerOptions{
		Fetcher: trickle{},
		Turns:   turns{},
		MaxWait: time.Minute,
		Watch: func(ctx context.Context) (context.Context, func(int), func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			count := func(n int) {
				if came += n; came >= 100 {
					cancel(errSlow)
				}
			}
			return ctx, count, func() { ended = true; cancel(nil) }
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
	if came != 100 || !ended {
		t.Error(came, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = k.Exchange(ctx, req, new(source.PageSink)); errors.Is(err, fetch.ErrTooSlow) || ctx.Err() == nil {
		t.Errorf("the run ends: %v", err)
	}
}
