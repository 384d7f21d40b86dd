// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"sync"
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
	phaseDrain          // a body that nobody wants is being read
)

const drainTime = 3 * time.Second

// watch is the context of one attempt and its watchdog: one timer that re-arms itself, whatever the number of
// reads. It works the same for HTTP/1.1 and for a stream of HTTP/2, where a deadline of the connection would
// not see a single stream starve.
//
// Most exchanges get by without a context of their own, which would be ten objects: what a limit ends is then
// the connection alone, see guard, and what the caller's context ends is the connection too.
type watch struct {
	context.Context // that of the caller, or after own one that ends with the attempt

	o      *Options
	start  time.Time
	timer  *time.Timer
	pool   *sync.Pool // takes the watch when it was stopped; nil: nobody gets it
	in     wire       // the body
	tracer *tracer    // of an exchange by net/http, else nil
	remote netip.Addr // of the connection; as reused, conn and sent, written by gotConn before RoundTrip returns
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

	mu      sync.Mutex              // guards what follows
	cancel  context.CancelCauseFunc // of the context of own; nil before
	abort   func()                  // closes the connection that is guarded; nil for none
	unguard func() bool             // ends that the context closes it
	cause   error                   // the limit that ended the attempt
	stopped bool
}

// newWatch begins a watch: one that was stopped, or a new one.
func (c *Client) newWatch(ctx context.Context) *watch {
	o := &c.o
	w, again := c.watches.Get().(*watch)
	if !again {
		w = new(watch)
		w.timer = time.AfterFunc(time.Hour, w.check)
	}
	*w = watch{
		Context: ctx,
		o:       o,
		start:   time.Now(),
		timer:   w.timer,
		pool:    &c.watches,
	}
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
	w.timer.Reset(min(first, o.IdleTimeout)) // only now: check must find all in its place
	return w
}

// tracer learns which connection a request got. It is made once and used by one attempt after the other:
// net/http calls GotConn before RoundTrip returns, in its goroutine.
type tracer struct {
	ctx   context.Context // carries the trace, and nothing else
	watch *watch
}

func newTracer(pool *sync.Pool) *tracer {
	if t, ok := pool.Get().(*tracer); ok {
		return t
	}
	t := new(tracer)
	t.ctx = httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { t.watch.gotConn(i) },
	})
	return t
}

// roundTrip makes an exchange by net/http, under the watch.
func (w *watch) roundTrip(tr *http.Transport, r *http.Request, traces *sync.Pool) (*http.Response, error) {
	w.own()
	w.tracer = newTracer(traces)
	w.tracer.watch = w
	resp, err := tr.RoundTrip(r.WithContext(w))
	w.tracer.watch = nil
	traces.Put(w.tracer)
	return resp, err
}

// Value adds the trace to the values of the request's context.
func (w *watch) Value(key any) any {
	if w.tracer != nil {
		if v := w.tracer.ctx.Value(key); v != nil {
			return v
		}
	}
	return w.Context.Value(key)
}

// own gives the attempt a context of its own, for whoever waits for one.
func (w *watch) own() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel == nil {
		w.Context, w.cancel = context.WithCancelCause(w.Context)
		if w.cause != nil {
			w.cancel(w.cause)
		}
	}
	return w.Context
}

// guard closes a connection when a limit or the caller ends the attempt, until release is called.
func (w *watch) guard(closeIt func()) {
	w.mu.Lock()
	w.abort = closeIt
	over := w.cause != nil
	w.mu.Unlock()
	if over {
		closeIt()
	}
	w.unguard = context.AfterFunc(w.Context, closeIt)
}

// release reports whether the connection that was guarded is still good.
func (w *watch) release() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.abort = nil
	return w.unguard() && w.cause == nil
}

// end ends the attempt because of a limit, unless it is over.
func (w *watch) end(limit error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.cause = limit
	if w.cancel != nil {
		w.cancel(limit)
	}
	if w.abort != nil {
		w.abort()
	}
}

// why is what ended the attempt, a limit or the caller; nil when nothing did.
func (w *watch) why() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cause != nil {
		return w.cause
	}
	return context.Cause(w.Context)
}

// stop ends the watch; everything that still uses its context is canceled. The caller does not use the watch
// any more.
func (w *watch) stop() {
	idle := w.timer.Stop()
	w.mu.Lock()
	w.stopped = true
	if w.cancel != nil {
		w.cancel(nil)
	}
	mine := idle && w.cancel == nil // net/http and who waits have a context of their own from it
	w.mu.Unlock()
	if mine && w.pool != nil {
		w.pool.Put(w)
	}
}

// hurry has check called soon. It may be running then when the watch is stopped, which nobody else gets so.
func (w *watch) hurry(within time.Duration) {
	w.pool = nil
	w.timer.Reset(within)
}

// isOver reports whether there is nothing left to watch.
func (w *watch) isOver() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped || (w.cause != nil) || (w.Context.Err() != nil)
}

// gotConn is called when net/http has a connection for the request, before it is sent. When net/http repeats
// a request because a used connection ended, it must not go on with the next used one, which may end
// likewise, and so on: on a closed one it sends nothing and goes on, until it makes a new one, after which it
// does not repeat.
func (w *watch) gotConn(info httptrace.GotConnInfo) {
	if a, ok := info.Conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort }); ok {
		w.remote = a.AddrPort().Addr().Unmap()
	}
	if w.o.Proxy != "" {
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
	if c, ok := info.Conn.(*headConn); ok && !w.o.NoHeads {
		w.seen = c.expect()
	}
	w.enter(phaseHeader)
}

// gotDirect is gotConn for an exchange without net/http.
func (w *watch) gotDirect(c *directConn) {
	w.remote, w.reused = c.remote, c.used
	w.sent++
	if h, ok := c.Conn.(*headConn); ok {
		w.seen = h.expect()
	}
	w.enter(phaseHeader)
}

func (w *watch) enter(phase int32) {
	w.since.Store(int64(time.Since(w.start)))
	w.phase.Store(phase)
}

// leave ends a read that brought n bytes.
func (w *watch) leave(n int) {
	w.phase.Store(phasePaused)
	w.reading.Add(int64(time.Since(w.start)) - w.since.Load())
	w.bytes.Add(int64(n))
}

// check runs in the timer's goroutine: it ends the attempt or asks to be called again when the next limit may
// be reached.
func (w *watch) check() {
	if w.isOver() {
		return // stopped while the timer was firing
	}
	now := time.Since(w.start)
	next, err := w.next(now)
	if err != nil {
		w.end(err)
		return
	}
	w.timer.Reset(max(next-now, time.Millisecond))
}

func (w *watch) next(now time.Duration) (time.Duration, *limitError) {
	phase := w.phase.Load()
	since := time.Duration(w.since.Load())
	o := w.o
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
	if window < w.o.MinRateWindow {
		return nil
	}
	got := w.bytes.Load() - w.windowBytes
	if float64(got) < float64(w.o.MinRate)*window.Seconds() {
		return &limitError{ErrTooSlow, fmt.Sprintf("%d bytes", got), window}
	}
	w.windowRead, w.windowBytes = read, w.bytes.Load()
	return nil
}
