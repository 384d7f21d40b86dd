// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/replica/hosts"
	"mirrord/site"
)

// Fetcher does one polite exchange. *fetch.Client is that of a job, sourcetest has the suite that each
// implementation passes. It is safe for concurrent use.
type Fetcher interface {
	// Do requests one URL and follows no redirect. An answer of any status is a Result; an error, a
	// *fetch.Error, says that there was no usable answer. The Result is never nil. A body goes to sink, and is
	// complete when Result.Kept is set; the calls of sink come from the goroutine of Do.
	Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error)
}

// Robots knows the rules of origins. *fetch.RobotsCache is one; it must not take turns of hosts, because its
// caller holds one. It is safe for concurrent use.
type Robots interface {
	// Rules returns what binds us on u's origin. The only error is that ctx ended.
	Rules(ctx context.Context, u site.URL) (*fetch.Robots, error)
}

// Turns are the turns of hosts for requests that are not in a frontier. They are safe for concurrent use.
type Turns interface {
	// Turn waits for a turn of an origin's host and takes it. The error is fetch.ErrLongWait, at once, when the
	// host is not to be requested for longer than the job waits; any other error is that ctx ended.
	Turn(ctx context.Context, origin string) error
	// Release gives the turn back and says what was observed in it.
	Release(origin string, o fetch.Observation)
	// Gap is the time between two requests of the origin.
	Gap(origin string) time.Duration
	// SetCrawlDelay takes the Crawl-delay of the host's robots.txt.
	SetCrawlDelay(host string, d time.Duration)
}

// AskerOptions are what an Asker works with. Robots may be nil when Product is "".
type AskerOptions struct {
	Fetcher Fetcher
	Robots  Robots
	Turns   Turns

	Product string           // our name in robots.txt; "": robots rules are not obeyed
	MaxWait time.Duration    // longest Crawl-delay
	MaxBody int64            // bytes; 0 is no limit
	Now     func() time.Time // default time.Now
	Count   func(wire int64) // called after each request with the bytes that it took; may be nil
	// Watch is called for each exchange, which gets its context, tells w of the body, and calls end afterwards;
	// may be nil. GivenUp says for a cause with which that context ended the class of failure that it
	// is.
	Watch   func(ctx context.Context) (_ context.Context, w Watcher, end func())
	GivenUp func(cause error) (class error)
}

// AskerOptionsOf returns what a job says of single requests.
func AskerOptionsOf(j *job.Job) AskerOptions {
	o := AskerOptions{MaxWait: j.Polite.MaxWait, MaxBody: int64(j.Limits.MaxBody)}
	if j.ObeyRobots {
		o.Product = job.ProductToken(j.Polite.UserAgent)
	}
	return o
}

// Asker makes single requests, each in a turn of its own and within robots rules. It is safe for concurrent
// use.
type Asker struct {
	AskerOptions

	mu    sync.Mutex
	known map[string]*fetch.Robots // by origin
	mute  map[string]int           // tests in a row that a host did not answer
}

// NewAsker returns an Asker that knows nothing yet.
func NewAsker(o AskerOptions) *Asker {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Count == nil {
		o.Count = func(int64) {}
	}
	return &Asker{AskerOptions: o, known: map[string]*fetch.Robots{}, mute: map[string]int{}}
}

// A host that did not answer so many tests in a row is no longer tested: each further one would wait
// longer, and say as little.
const muteTests = 4

// isMute reports whether a host is no longer tested.
func (k *Asker) isMute(host string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mute[host] >= muteTests
}

// heard counts whether a host answered a test.
func (k *Asker) heard(host string, answered bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mute[host]++
	if answered {
		k.mute[host] = 0
	}
}

// Permission is what robots rules say of a URL.
type Permission struct {
	OK      bool
	Unknown bool   // the rules could not be had, and forbid everything for now
	Why     string // not OK
}

// Allowed says whether a URL may be requested. It requests the robots.txt of an origin whose rules it does
// not know. The only error is that ctx ended.
func (k *Asker) Allowed(ctx context.Context, u site.URL) (Permission, error) {
	if k.Product == "" {
		return Permission{OK: true}, nil
	}
	k.mu.Lock()
	rules, known := k.known[u.Origin()]
	k.mu.Unlock()
	if !known {
		var err error
		switch rules, err = k.learn(ctx, u); {
		case errors.Is(err, fetch.ErrLongWait):
			return Permission{Unknown: true, Why: "its robots.txt is not requested: " + err.Error()}, nil
		case err != nil:
			return Permission{}, err
		}
	}
	if why := rules.Silent(); why != "" {
		return Permission{Unknown: true, Why: why}, nil
	}
	if d, ok := rules.CrawlDelay(); ok && d > k.MaxWait {
		return Permission{Why: fmt.Sprintf("Crawl-delay of %s is longer than polite.max_wait", count.Span(d))}, nil
	}
	ok, why := rules.Permits(u)
	return Permission{OK: ok, Why: why}, nil
}

// learn gets the rules of an origin in a turn of its own.
func (k *Asker) learn(ctx context.Context, u site.URL) (*fetch.Robots, error) {
	origin := u.Origin()
	if err := k.Turns.Turn(ctx, origin); err != nil {
		return nil, err
	}
	start := k.Now()
	rules, err := k.learnInTurn(ctx, u)
	k.Turns.Release(origin, fetch.Observation{Duration: k.Now().Sub(start), Status: 200})
	return rules, err
}

// learnInTurn gets the rules of an origin in a turn that the caller has.
func (k *Asker) learnInTurn(ctx context.Context, u site.URL) (*fetch.Robots, error) {
	rules, err := k.Robots.Rules(ctx, u)
	if err != nil {
		return nil, err
	}
	if d, ok := rules.CrawlDelay(); ok {
		k.Turns.SetCrawlDelay(u.Hostname(), d)
	}
	k.mu.Lock()
	k.known[u.Origin()] = rules
	k.mu.Unlock()
	return rules, nil
}

// replicaRedirects is how many redirects a test follows (Bharat and Broder, section 3.2).
const replicaRedirects = 5

// page requests a page as a test needs it. other is the base URL of the other side: a redirect to it, by
// any scheme, says that both are one host.
func (k *Asker) page(ctx context.Context, u site.URL, other string) (hosts.TestAnswer, error) {
	away, origin := false, u.Origin()
	_, otherPlace, _ := strings.Cut(other, "://")
	for range replicaRedirects + 1 {
		if k.isMute(u.Hostname()) {
			return hosts.TestAnswer{Kind: hosts.NoAnswer}, nil
		}
		may, err := k.Allowed(ctx, u)
		if err != nil {
			return hosts.TestAnswer{}, err
		}
		if !may.OK {
			if may.Unknown {
				return hosts.TestAnswer{Kind: hosts.NoAnswer}, nil
			}
			return hosts.TestAnswer{Kind: hosts.Disallowed}, nil
		}
		var body PageSink
		res, err := k.Exchange(ctx, k.single(u), &body)
		if ctx.Err() == nil {
			k.heard(u.Hostname(), err == nil)
		}
		switch {
		case ctx.Err() != nil:
			return hosts.TestAnswer{}, context.Cause(ctx)
		case err != nil:
			return hosts.TestAnswer{Kind: kindOfFailure(err)}, nil
		case isRedirect(res):
			u = res.Location
			_, place, _ := strings.Cut(u.String(), "://")
			toOther := strings.HasPrefix(u.String(), other)
			away = away || toOther || (u.Origin() != origin && strings.HasPrefix(place, otherPlace))
			continue
		case !isPage(res):
			return hosts.TestAnswer{Kind: hosts.GotFailure}, nil
		case tagsOf(res, k.Product, k.Now()).NoArchive:
			return hosts.TestAnswer{Kind: hosts.Disallowed}, nil
		}
		return hosts.TestAnswer{
			Kind:  hosts.GotPage,
			Body:  hosts.AnswerBody(res.MIME, u, body.Bytes()),
			Other: away,
			At:    u.String(),
		}, nil
	}
	return hosts.TestAnswer{Kind: hosts.GotFailure}, nil
}

// single is the request of a page that is compared.
func (k *Asker) single(u site.URL) fetch.Request {
	return fetch.Request{URL: u, MaxBody: lower(k.MaxBody, hosts.MaxCompared), NoRetry: true}
}

// kindOfFailure says what a failed exchange means to a test.
func kindOfFailure(err error) hosts.AnswerKind {
	switch {
	case errors.Is(err, fetch.ErrDNS):
		return hosts.NoAddress
	case errors.Is(err, fetch.ErrTooLarge), errors.Is(err, fetch.ErrBomb), errors.Is(err, fetch.ErrCoding):
		return hosts.GotFailure
	}
	return hosts.NoAnswer
}

func isRedirect(res *fetch.Result) bool {
	return res.Status >= 300 && res.Status < 400 && !res.Location.IsZero()
}

// isPage reports whether a body came that is the resource itself.
func isPage(res *fetch.Result) bool {
	return res.Kept && (res.Status == 200 || res.Status == 203)
}

// tagsOf returns what the head of an answer says to robots; nothing when robots rules are not obeyed.
func tagsOf(res *fetch.Result, product string, now time.Time) (d robots.Directives) {
	if product != "" {
		d = robots.ParseXRobotsTag(res.RobotsTags(), product, now)
	}
	return d
}

// leads returns where a URL leads; the URL itself when it does not redirect, the zero value when nothing is
// known. The only error is that ctx ended.
func (k *Asker) leads(ctx context.Context, u site.URL) (site.URL, error) {
	for range replicaRedirects + 1 {
		may, err := k.Allowed(ctx, u)
		if err != nil || !may.OK {
			return site.URL{}, err
		}
		res, err := k.Exchange(ctx, k.single(u), new(PageSink))
		switch {
		case ctx.Err() != nil:
			return site.URL{}, context.Cause(ctx)
		case err != nil:
			return site.URL{}, nil
		case isRedirect(res):
			u = res.Location
		default:
			return u, nil
		}
	}
	return u, nil
}

// Processor makes one request in a turn of its own. After fetch.ErrLongWait no request was made.
func (k *Asker) Exchange(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	origin := req.URL.Origin()
	if err := k.Turns.Turn(ctx, origin); err != nil {
		return &fetch.Result{}, err
	}
	res, err := k.inTurn(ctx, req, sink)
	k.Turns.Release(origin, fetch.Observe(res, err))
	return res, err
}

// inTurn makes one request in a turn that the caller has.
func (k *Asker) inTurn(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	req.Gap = k.Turns.Gap(req.URL.Origin())
	res, err := k.watched(ctx, req, sink)
	k.Count(res.Wire)
	return res, err
}

// watched makes the exchange, which may be given up.
func (k *Asker) watched(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if k.Watch == nil {
		return k.Fetcher.Do(ctx, req, sink)
	}
	of, w, end := k.Watch(ctx)
	defer end()
	res, err := k.Fetcher.Do(of, req, watchedSink{sink, w})
	if cause := context.Cause(of); (err != nil) && (cause != nil) {
		if class := k.GivenUp(cause); class != nil {
			err = &fetch.Error{URL: req.URL, Class: class, Err: cause}
		}
	}
	return res, err
}

// watchedSink tells a Watcher of bodies.
type watchedSink struct {
	fetch.Sink
	watcher Watcher
}

// Begin is that of fetch.Sink.
func (s watchedSink) Begin(h *fetch.Head) (io.Writer, error) {
	w, err := s.Sink.Begin(h)
	if hasLength(h) {
		s.watcher.Sized()
	}
	return watchedWriter{w, s.watcher}, err
}

type watchedWriter struct {
	io.Writer
	watcher Watcher
}

// Write is that of io.Writer.
func (w watchedWriter) Write(p []byte) (int, error) {
	w.watcher.Count(len(p))
	return w.Writer.Write(p)
}

// lower is the lower of two limits, of which the first may be 0 for none.
func lower(a, b int64) int64 {
	if a <= 0 {
		return b
	}
	return min(a, b)
}
