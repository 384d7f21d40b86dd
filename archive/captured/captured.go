// SPDX-License-Identifier: Apache-2.0

// Package captured answers the requests of a run from what others recorded of a site. No request is made, and
// nothing waits for its turn.
package captured

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"mirrord/archive/crawls"
	"mirrord/archive/warc"
	"mirrord/fetch"
	"mirrord/fetch/heads"
	"mirrord/fetch/robots"
	"mirrord/internal/numbered"
	"mirrord/site"
)

// ErrNone is the class of a URL that the archive has no answer of.
var ErrNone = errors.New("not in the imported archive")

// Answers gives the answers of one crawl. It is the fetcher and the robots rules of a run, and safe for
// concurrent use.
type Answers struct {
	archive *crawls.Recordings
	crawl   int
	client  *fetch.Client // decodes bodies
	agent   string        // our name in robots.txt

	mu    sync.Mutex // guards what follows
	rules map[string]*fetch.Robots
	given numbered.Values[bool] // URLs of which an answer was given, by their numbers
}

// New returns the answers of a crawl. agent is our name in robots.txt.
func New(a *crawls.Recordings, crawl int, agent string) (*Answers, error) {
	client, err := fetch.New(fetch.Options{})
	if err != nil {
		return nil, err
	}
	return &Answers{
		archive: a,
		crawl:   crawl,
		client:  client,
		agent:   agent,
		rules:   map[string]*fetch.Robots{},
	}, nil
}

// Given calls f for the numbers of URLs of which an answer was given, and says whether robots.txt in the
// archive allows to request them. No run uses the answers any longer.
func (s *Answers) Given(f func(n int, allowed bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.given.All() {
		u := s.archive.URL(int(n))
		rules := s.rules[u.Origin()]
		allowed := true
		if rules != nil {
			allowed, _ = rules.File.Agent(s.agent).Allowed(u.RequestURI())
		}
		f(int(n), allowed)
	}
}

// give notes that an answer of a URL was given.
func (s *Answers) give(u site.URL) {
	n, ok := s.archive.Number(u)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given.Put(uint32(n), true)
}

const notFound = "HTTP/1.1 404 Not Found\r\n\r\n"

// Do gives the answer of a URL.
func (s *Answers) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	none := &fetch.Result{Sent: 2}
	if ctx.Err() != nil {
		return none, &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled, Err: context.Cause(ctx)}
	}
	x, gone, err := s.archive.Answer(s.crawl, req.URL)
	switch {
	case err != nil:
		return none, &fetch.Error{URL: req.URL, Class: fetch.ErrRecording, Err: err}
	case gone:
		x = &crawls.Recording{Head: []byte(notFound), Made: true, Body: strings.NewReader("")}
	case x == nil:
		return none, &fetch.Error{URL: req.URL, Class: ErrNone}
	}
	defer x.Close()
	rec, err := recordedOf(x)
	if err != nil {
		return none, &fetch.Error{URL: req.URL, Class: fetch.ErrRecording, Err: err}
	}
	s.give(req.URL)
	return s.client.Replay(ctx, req, rec, sink)
}

// Of programs that take the codings of a body away before they record it: how the names of the fields begin
// that speak of them.
const original = "x-orig-"

var (
	errCut    = errors.New("only a part of the body was recorded")
	errNoHead = errors.New("it has no HTTP head")
)

// recordedOf makes a recorded answer of one in an archive: with the head that the site sent.
func recordedOf(x *crawls.Recording) (*fetch.PastAnswer, error) {
	if x.Cut {
		return nil, errCut
	}
	m := warc.ParseMessage(x.Head)
	if m.Status() == 0 {
		return nil, errNoHead
	}
	out := &fetch.PastAnswer{
		Made:   x.Made,
		Body:   x.Body,
		Length: x.Length,
		At:     x.At,
		Seen:   x.Seen,
	}
	coded, declared := false, ""
	was := map[string]bool{}
	for _, f := range m.Header {
		name := strings.ToLower(f.Name)
		if rest, ok := strings.CutPrefix(name, original); ok {
			was[rest] = true
		}
		coded = coded || (name == "content-encoding")
		if name == "content-length" {
			declared = f.Value
		}
	}
	out.Plain = was["content-encoding"] && !coded
	if n, err := strconv.ParseInt(declared, 10, 64); err == nil && !coded && n > x.Length && x.Length >= 0 {
		out.Length = n // the site, or its recorder, cut it off
	}
	var fields []heads.Field
	for _, f := range m.Header {
		name := strings.ToLower(f.Name)
		isLength := name == "content-length"
		if isLength && (x.Added || was[name]) {
			continue
		}
		if strings.HasPrefix(name, original) && isOfCoding(name[len(original):]) {
			f.Name = f.Name[len(original):]
		}
		fields = append(fields, heads.Field(f))
	}
	out.Head = &heads.Head{Status: m.Start, Fields: fields}
	return out, nil
}

func isOfCoding(name string) bool {
	return name == "content-encoding" || name == "transfer-encoding" || name == "content-length"
}

// Rules returns the rules of an origin. Everything is allowed, because no request is made; the file is that
// of the archive.
func (s *Answers) Rules(ctx context.Context, u site.URL) (*fetch.Robots, error) {
	origin := u.Origin()
	s.mu.Lock()
	known := s.rules[origin]
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	file := robots.AllowAll("the archive has no robots.txt of " + origin)
	at := site.Canonical(origin + "/robots.txt")
	x, gone, err := s.archive.Answer(s.crawl, at)
	if x != nil {
		defer x.Close()
	}
	if err == nil && !gone && x != nil {
		if body, ok := s.robotsFile(ctx, x); ok {
			file = robots.FromStatus(200, body)
		}
	}
	rules := &fetch.Robots{
		Rules:  robots.AllowAll("no request is made").Agent(s.agent),
		File:   file,
		Origin: origin,
		Status: 200,
	}
	s.give(at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules[origin] = rules
	return rules, nil
}

// maxRobots is how much of a robots.txt is read, in bytes (RFC 9309 §2.5).
const maxRobots = 500 << 10

func (s *Answers) robotsFile(ctx context.Context, x *crawls.Recording) (body []byte, ok bool) {
	rec, err := recordedOf(x)
	if err != nil || rec.Head.Code() != 200 {
		return nil, false
	}
	var into keeper
	res, err := s.client.Replay(ctx, fetch.Request{MaxBody: maxRobots, Cut: true}, rec, &into)
	return into.b, err == nil && res.Kept
}

// keeper keeps a body in memory.
type keeper struct{ b []byte }

func (k *keeper) Begin(*fetch.Head) (io.Writer, error) {
	k.b = nil
	return k, nil
}

func (k *keeper) Write(p []byte) (int, error) {
	k.b = append(k.b, p...)
	return len(p), nil
}

// Hosts gives turns at once: no request is made.
type Hosts struct{}

// Acquire always gives a turn.
func (Hosts) Acquire(string, fetch.Politeness, time.Time) (bool, time.Time) { return true, time.Time{} }

// Release does nothing.
func (Hosts) Release(string, fetch.Politeness, time.Time, fetch.Observation) {}

// AcquireAnyway always gives a turn.
func (Hosts) AcquireAnyway(string, fetch.Politeness, time.Time) (bool, time.Time) {
	return true, time.Time{}
}

// Lift does nothing.
func (Hosts) Lift(string) {}

// SetCrawlDelay does nothing.
func (Hosts) SetCrawlDelay(string, time.Duration) {}

// Defer does nothing.
func (Hosts) Defer(string, time.Time, time.Time) {}

// Gap returns 0.
func (Hosts) Gap(string, fetch.Politeness) time.Duration { return 0 }

// Held is by nothing.
func (Hosts) Held(string, fetch.Politeness, time.Time) fetch.Hold { return fetch.Hold{} }
