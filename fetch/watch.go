// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"mirrord/internal/count"
)

// limitError is the cause with which a watch ends an attempt.
type limitError struct {
	class error
	what  string
	after time.Duration
}

func (e *limitError) Error() string { return fmt.Sprintf("%s after %s", e.what, count.Span(e.after)) }

// The phases of an attempt, as far as its clock is concerned.
const (
	phaseConnect = iota // no connection yet
	phaseHeader         // the request is on its way or sent
	phasePaused         // a body, but the network is not waited for
	phaseRead           // a Read of the body is waiting
	phaseDrain          // an unwanted body is being read
)

const drainTime = 3 * time.Second

// watch is the context of one attempt and its watchdog: one timer that re-arms itself, for any number of
// reads. It works the same for HTTP/1.1 and for a stream of HTTP/2, where a deadline of the connection would
// not see a single stream starve.
type watch struct {
	context.Context // ends with the attempt, because of the limit that is its cause
	cancel          context.CancelCauseFunc

	*Options
	start time.Time
	timer *time.Timer
	in    wire // the body
	// of the connection; as reused, conn and sent, written by gotConn before RoundTrip returns
	reused bool
	seen   *seenHead // head of the answer; nil when the connection keeps none
	sent   int       // connections that the request was given to: over 1 when net/http repeats it
	h2     bool

	phase   atomic.Int32
	since   atomic.Int64 // nanoseconds after start when the phase began
	reading atomic.Int64 // nanoseconds spent in reads that have returned
	bytes   atomic.Int64 // of the body as it came

	windowRead  int64 // state of the timer's function alone: reading and bytes when the rate window began
	windowBytes int64
}

// watch begins the watch of an attempt.
func (c *Client) watch(ctx context.Context) *watch {
	o := &c.Options
	w := &watch{Options: o, start: time.Now()}
	w.Context, w.cancel = context.WithCancelCause(ctx)
	first := o.HeaderTimeout
	if o.TotalTimeout > 0 {
		first = min(first, o.TotalTimeout)
	}
	if o.MaxConnsPerHost == 0 {
		first = min(first, o.connectLimit())
	}
	if o.MinRate > 0 {
		first = min(first, o.MinRateWindow)
	}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.timer.Reset(min(first, o.IdleTimeout)) // only now: check must find all in its place
	return w
}

// stop ends the watch; everything that still uses its context is canceled.
func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// gotConn is called when net/http has a connection for the request, before it is sent. When net/http repeats
// a request because a used connection ended, it must not continue with the next used one, which may end
// likewise, and so on: on a closed one it sends nothing and continues, until it makes a new one, after which
// it does not repeat.
func (w *watch) gotConn(info httptrace.GotConnInfo) {
	if w.Proxy != "" {
		info.Conn.SetDeadline(time.Time{}) // of dialProxy
	}
	if w.reused = info.Reused; w.reused && w.sent > 0 && !w.h2 {
		info.Conn.Close()
		return
	}
	w.sent++
	if c, ok := info.Conn.(*tls.Conn); ok {
		w.h2 = c.ConnectionState().NegotiatedProtocol == "h2"
	}
	if c, ok := info.Conn.(*headConn); ok && !w.NoHeads {
		w.seen = c.expect()
	}
	w.enter(phaseHeader)
}

func (w *watch) enter(phase int32) {
	w.since.Store(int64(time.Since(w.start)))
	w.phase.Store(phase)
}

// leave ends a read of n bytes.
func (w *watch) leave(n int) {
	w.phase.Store(phasePaused)
	w.reading.Add(int64(time.Since(w.start)) - w.since.Load())
	w.bytes.Add(int64(n))
}

// check runs in the timer's goroutine: it ends the attempt or asks to be called again when the next limit may
// be reached.
func (w *watch) check() {
	if w.Err() != nil {
		return // over, or stopped while the timer was firing
	}
	now := time.Since(w.start)
	next, err := w.next(now)
	if err != nil {
		w.cancel(err)
		return
	}
	w.timer.Reset(max(next-now, time.Millisecond))
}

func (w *watch) next(now time.Duration) (time.Duration, *limitError) {
	phase := w.phase.Load()
	since := time.Duration(w.since.Load())
	o := w.Options
	next := now + o.IdleTimeout
	switch phase {
	case phaseConnect:
		// With a cap on connections the wait for a free one is the caller's doing; dial and handshake have limits
		// of their own.
		limit := o.connectLimit()
		if o.MaxConnsPerHost == 0 && now >= limit {
			return 0, &limitError{ErrTimeout, "no connection", now}
		}
		if o.MaxConnsPerHost == 0 {
			next = min(next, limit)
		}
		next = min(next, now+o.HeaderTimeout)
	case phaseHeader:
		if now >= since+o.HeaderTimeout {
			return 0, &limitError{ErrTimeout, "no header", now - since}
		}
		next = min(next, since+o.HeaderTimeout)
	case phaseRead:
		if now >= since+o.IdleTimeout {
			return 0, &limitError{ErrTimeout, "no byte of the body", now - since}
		}
		next = min(next, since+o.IdleTimeout)
	case phaseDrain:
		if now >= since+drainTime {
			return 0, &limitError{ErrTimeout, "unwanted body", now - since}
		}
		next = min(next, since+drainTime)
	}
	if o.MinRate > 0 {
		if phase == phasePaused || phase == phaseRead {
			if err := w.rate(now, since, phase); err != nil {
				return 0, err
			}
		}
		next = min(next, now+o.MinRateWindow/2)
	}
	if o.TotalTimeout > 0 {
		if now >= o.TotalTimeout {
			return 0, &limitError{ErrTimeout, "not finished", now}
		}
		next = min(next, o.TotalTimeout)
	}
	return next, nil
}

// connectLimit bounds everything before a connection is ready: dial, proxy and handshake, which have less
// each.
func (o *Options) connectLimit() time.Duration { return 2*o.ConnectTimeout + time.Second }

// rate judges the last window of time spent reading.
func (w *watch) rate(now, since time.Duration, phase int32) *limitError {
	read := w.reading.Load()
	if phase == phaseRead {
		read += int64(now - since)
	}
	window := time.Duration(read - w.windowRead)
	if window < w.MinRateWindow {
		return nil
	}
	got := w.bytes.Load() - w.windowBytes
	if float64(got) < float64(w.MinRate)*window.Seconds() {
		return &limitError{ErrTooSlow, fmt.Sprintf("%d bytes", got), window}
	}
	w.windowRead, w.windowBytes = read, w.bytes.Load()
	return nil
}
