// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"mirrord/fetch/robots"
	"mirrord/site"
)

// RobotsOptions configures a RobotsCache. The zero value of each field is useful.
type RobotsOptions struct {
	Agent string        // product token that robots.txt is searched for; default "mirrord"
	Store RobotsStore   // where copies outlive the process; default none
	TTL   time.Duration // life of a copy; default and most 24 h (RFC 9309 §2.4)
	Delay time.Duration // between redirects and retries; the caller of Rules has the host's turn
}

const (
	robotsTTL   = 24 * time.Hour
	robotsStale = 30 * 24 * time.Hour // see RobotsCache
	robotsFail  = 10 * time.Minute    // life of the verdict "unreachable"
	// of rules that forbid all of a site to be mirrored: often a mistake that is soon repaired
	robotsClosed = time.Hour
	// Retry-After that is waited for at once, and twice: without rules nothing else can be requested
	robotsPatience  = 30 * time.Second
	robotsRedirects = 5     // RFC 9309 §2.3.1.2
	robotsOrigins   = 20000 // in memory; beyond, expired ones are dropped
)

func (o RobotsOptions) withDefaults() RobotsOptions {
	if o.Agent == "" {
		o.Agent = "mirrord"
	}
	if o.TTL <= 0 || o.TTL > robotsTTL {
		o.TTL = robotsTTL
	}
	return o
}

// A RobotsStore keeps robots.txt of origins between processes. Its methods may be called from several
// goroutines; calls for one origin do not overlap. Its errors are logged, and the cache continues without it.
type RobotsStore interface {
	// LoadHost returns the copy of an origin; ok is false without one.
	LoadHost(origin string) (f robots.FileCopy, ok bool, err error)
	// SaveHost replaces it.
	SaveHost(origin string, f robots.FileCopy) error
}

// Robots is what binds us on one origin at a time. It is immutable.
type Robots struct {
	*robots.Rules
	File    *robots.File
	Origin  string
	Status  int       // of the final answer; 0 when there was none
	Fetched time.Time // age of the rules
	Expires time.Time
	Took    time.Duration // until the header of the answer; 0 when a stored one is fresh, or none came
	Stale   bool          // an older copy serves because the host cannot be reached
	Answer  int           // with Stale: the status that is no answer, 0 when none came
	Err     error         // why there was no answer
}

// RobotsCache hands out the rules of origins and fetches them when they are not known: one request at a time
// per origin, at most five redirects, at most 500 KiB, for at most 24 hours, or one when they forbid "/".
//
// 4xx means that there are no rules. 429, 5xx and no answer at all mean that nothing may be requested
// (§2.3.1.4) until the verdict is looked at again after ten minutes. With one exception, which §2.4 leaves
// open and without which a moment's 502 would end a run: a copy that was good less than 30 days ago stays in
// force instead. It is never assumed that silence permits anything.
type RobotsCache struct {
	c *Client
	RobotsOptions

	mu      sync.Mutex
	origins map[string]*robotsEntry
}

type robotsEntry struct {
	robots *Robots       // nil while the first fetch is under way
	busy   chan struct{} // closed when the fetch under way has ended; nil for none
}

// NewRobotsCache returns a cache that fetches with c.
func NewRobotsCache(c *Client, o RobotsOptions) *RobotsCache {
	return &RobotsCache{c: c, RobotsOptions: o.withDefaults(), origins: make(map[string]*robotsEntry)}
}

// Rules returns the rules for u's origin and fetches them first if need be. The only error is that ctx ended.
func (r *RobotsCache) Rules(ctx context.Context, u site.URL) (*Robots, error) {
	origin := u.Origin()
	for {
		now := r.c.Now()
		r.mu.Lock()
		e := r.origins[origin]
		if e != nil && e.robots != nil && now.Before(e.robots.Expires) {
			rules := e.robots
			r.mu.Unlock()
			return rules, nil
		}
		if e == nil {
			r.prune()
			e = new(robotsEntry)
			r.origins[origin] = e
		}
		if busy := e.busy; busy != nil {
			r.mu.Unlock()
			select {
			case <-busy:
				continue // a leader that gave up leaves nothing: then this one leads
			case <-ctx.Done():
				return nil, fmt.Errorf("robots of %s: %w", origin, context.Cause(ctx))
			}
		}
		busy := make(chan struct{})
		e.busy = busy
		r.mu.Unlock()

		rules, err := r.refresh(ctx, u)

		r.mu.Lock()
		e.busy = nil
		if err == nil {
			e.robots = rules
		}
		r.mu.Unlock()
		close(busy)
		return rules, err
	}
}

// prune drops what has expired when there is much; r.mu is held.
func (r *RobotsCache) prune() {
	if len(r.origins) < robotsOrigins {
		return
	}
	now := r.c.Now()
	for origin, e := range r.origins {
		if e.busy == nil && (e.robots == nil || !now.Before(e.robots.Expires)) {
			delete(r.origins, origin)
		}
	}
}

// refresh looks into the store and then asks the host.
func (r *RobotsCache) refresh(ctx context.Context, u site.URL) (*Robots, error) {
	origin, log := u.Origin(), r.c.Log
	known, have, fresh := r.load(origin)
	if fresh {
		return r.rules(u, known), nil
	}
	got, took, wait, err := r.ask(ctx, u, known)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("robots of %s: %w", origin, context.Cause(ctx))
	}
	now := r.c.Now()
	if err == nil && (got.Status < 500 && got.Status != http.StatusTooManyRequests) {
		if r.Store != nil {
			if err := r.Store.SaveHost(origin, got); err != nil {
				log.Warn("robots not saved", "host", origin, "err", err)
			}
		}
		s := r.rules(u, got)
		s.Took = took
		return s, nil
	}
	expires := now.Add(min(max(robotsFail, wait), r.TTL))
	if have && now.Sub(known.Fetched) < robotsStale {
		s := r.rules(u, known)
		s.Expires, s.Stale, s.Answer, s.Err = expires, true, got.Status, err
		return s, nil
	}
	f := robots.FromStatus(got.Status, nil)
	if err != nil {
		f = robots.DisallowAll(err.Error())
	}
	return &Robots{
		Rules:   f.Agent(r.Agent),
		File:    f,
		Origin:  origin,
		Status:  got.Status,
		Fetched: now,
		Expires: expires,
		Err:     err,
	}, nil
}

// load looks into the store.
func (r *RobotsCache) load(origin string) (known robots.FileCopy, have, fresh bool) {
	if r.Store == nil {
		return known, false, false
	}
	known, have, err := r.Store.LoadHost(origin)
	if err != nil {
		r.c.Log.Warn("robots not loaded", "host", origin, "err", err)
		return known, false, false
	}
	now := r.c.Now()
	fresh = have && !known.Fetched.After(now) && now.Sub(known.Fetched) < r.TTL
	if fresh && now.Sub(known.Fetched) >= robotsClosed {
		fresh = r.life(robots.FromStatus(known.Status, known.Body)) > robotsClosed
	}
	return known, have, fresh
}

// life is how long a copy serves.
func (r *RobotsCache) life(f *robots.File) time.Duration {
	if ok, _ := f.Agent(r.Agent).Allowed("/"); !ok {
		return min(r.TTL, robotsClosed)
	}
	return r.TTL
}

func (r *RobotsCache) rules(u site.URL, rec robots.FileCopy) *Robots {
	f := robots.FromStatus(rec.Status, rec.Body)
	return &Robots{
		Rules:   f.Agent(r.Agent),
		File:    f,
		Origin:  u.Origin(),
		Status:  rec.Status,
		Fetched: rec.Fetched,
		Expires: rec.Fetched.Add(r.life(f)),
	}
}

// ask fetches robots.txt of u's origin, following redirects. wait is a Retry-After.
func (r *RobotsCache) ask(
	ctx context.Context, u site.URL, known robots.FileCopy,
) (rec robots.FileCopy, took, wait time.Duration, err error) {
	tries := 0
	at := site.Canonical(u.Origin() + "/robots.txt")
	for hop := 0; ; hop++ {
		req := Request{
			URL:     at,
			Accept:  "text/plain,*/*;q=0.8",
			MaxBody: robots.ReadBytes,
			Cut:     true,
			Gap:     r.Delay,
			NoRetry: known.Status != 0, // the stored copy serves
			Again:   func(_ *Result, err error) bool { return !errors.Is(err, ErrTimeout) },
		}
		if known.Status == http.StatusOK {
			req.ETag = known.ETag
		}
		body := robotsBody{now: r.c.Now}
		res, err := r.c.Do(ctx, req, &body)
		switch {
		case err != nil && hop > 0:
			return rec, took, 0, fmt.Errorf("it leads to %s: %w", at, err)
		case err != nil:
			return rec, took, 0, err
		}
		rec.Status, rec.Fetched, rec.ETag, took = res.Status, r.c.Now(), res.ETag, res.ToHeader
		switch {
		case res.Status == http.StatusNotModified && known.Status == http.StatusOK:
			rec.Status, rec.ETag = known.Status, known.ETag
			rec.Body, err = plainRobots(known.Body)
			return rec, took, 0, err
		case res.Kept:
			rec.Status = http.StatusOK
			rec.Body, err = plainRobots(body.Bytes())
			return rec, took, 0, err
		case TransientStatus(res.Status) && res.HasRetryAfter && res.RetryAfter <= robotsPatience && tries < 2:
			if err := r.c.Sleep(ctx, max(res.RetryAfter, r.Delay)); err != nil {
				return rec, took, 0, err
			}
			tries++
			hop--
			continue
		case res.Location.IsZero() || hop == robotsRedirects:
			return rec, took, res.RetryAfter, nil
		}
		at = res.Location
		if err := r.c.Sleep(ctx, r.Delay); err != nil {
			return rec, took, 0, err
		}
	}
}

// robotsTime is how long the body of a robots.txt may take: nothing of its origin is requested meanwhile.
const robotsTime = time.Minute

// robotsBody takes the body of a robots.txt.
type robotsBody struct {
	bytes.Buffer
	now   func() time.Time
	begun time.Time
}

func (b *robotsBody) Begin(*Head) (io.Writer, error) {
	b.Reset()
	b.begun = b.now()
	return robotsWriter{b}, nil
}

// robotsWriter hides that a buffer reads by itself.
type robotsWriter struct{ b *robotsBody }

func (w robotsWriter) Write(p []byte) (int, error) {
	if took := w.b.now().Sub(w.b.begun); took > robotsTime {
		return 0, &limitError{ErrTooSlow, "it was not complete", took}
	}
	return w.b.Buffer.Write(p)
}

// plainRobots takes off the gzip layers that no Content-Encoding named: some servers send a robots.txt.gz as
// it lies there. What does not parse would allow everything, so the rules inside are obeyed. Of a body that
// ends early, what comes before counts; one of which nothing can be read is no answer.
func plainRobots(body []byte) ([]byte, error) {
	for range maxCodings {
		if !bytes.HasPrefix(body, []byte(gzipMagic)) {
			break
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("%w: robots.txt begins as gzip: %w", ErrCoding, err)
		}
		plain, err := io.ReadAll(io.LimitReader(z, robots.ReadBytes))
		if (err != nil) && (len(plain) == 0) {
			return nil, fmt.Errorf("%w: robots.txt begins as gzip: %w", ErrCoding, err)
		}
		body = plain
	}
	return body, nil
}
