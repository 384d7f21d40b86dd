// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Politeness is a job's rule for a host. The zero value asks one request at a time and leaves no gap beyond
// what the host itself demands (Crawl-delay, Retry-After, errors).
type Politeness struct {
	Connections int // requests under way at once; 0 is 1
	// least time from the end of any answer, and from the start of any request, to the next start
	Delay time.Duration
	// the same as a multiple of the last response time; 0 also says not to react to slowing answers
	Factor float64
	// most that Factor, slowness and errors may ask for; 0 is 60 s. Delay and Crawl-delay are above it
	MaxDelay time.Duration
	By       string // the job: those of other names take turns with it
}

// ErrLongWait says that a host asks for a longer wait than the job of its caller accepts: no request was
// made. Callers that wait for turns of Hosts return it.
var ErrLongWait = errors.New("its host asks for a longer wait than polite.max_wait")

const (
	defaultMaxDelay = 60 * time.Second
	ruleLife        = time.Minute // a job's rule binds the others for so long after its last request
	firstPenalty    = time.Second // gap after a first 429, 503 or broken connection
	leastPenalty    = 50 * time.Millisecond
	restLife        = 10 * time.Minute // a host that rests for so long has half of its penalty
	// of a Crawl-delay that is not repeated: a little less than robots.txt is kept
	crawlLife      = 23 * time.Hour
	mostRetryAfter = 24 * time.Hour // a host that says more gets a request after a day
	slowestRatio   = 8.0            // most that slowness alone multiplies the gap
	// least time to the next look at a host whose connections are all in use
	poll        = 20 * time.Millisecond
	longestPoll = 250 * time.Millisecond
	keepTurn    = 50 * time.Millisecond // how late the next of several jobs may be for its turn
)

// strictest combines two rules into one that obeys both.
func strictest(a, b Politeness) Politeness {
	return Politeness{
		Connections: min(a.Connections, b.Connections),
		Delay:       max(a.Delay, b.Delay),
		Factor:      max(a.Factor, b.Factor),
		MaxDelay:    max(a.MaxDelay, b.MaxDelay),
	}
}

func (p Politeness) withDefaults() Politeness {
	if p.Connections <= 0 {
		p.Connections = 1
	}
	if p.MaxDelay <= 0 {
		p.MaxDelay = defaultMaxDelay
	}
	return p
}

// Observation is what an answer, or its absence, says about a host.
type Observation struct {
	// until the end of the header: the body's time says more about its size than about the host's load
	Duration   time.Duration
	Status     int           // 0 when there was none
	RetryAfter time.Duration // from an answer that says to come back later; 0 none
	Err        error         // of Client.Do
	Bytes      int64
	Unused     bool // no request was made: the turn is given back
}

// Observe makes the Observation of what Client.Do returned.
func Observe(res *Result, err error) Observation {
	o := Observation{Err: err}
	if res != nil {
		o.Duration, o.Status, o.Bytes = res.ToHeader, res.Status, res.Wire
		if TransientStatus(res.Status) { // beside a page, some servers say how long that is fresh
			o.RetryAfter = res.RetryAfter
		}
	}
	return o
}

// Others are the machines that share hosts with this one. Their methods do not wait, and call no Hosts.
type Others interface {
	// Turn is asked before a turn is taken: zero lets it be taken, else it is asked again then.
	Turn(host string, p Politeness, now time.Time) (again time.Time)
	// Done follows each turn that was taken.
	Done(host string, o Observation)
}

// Hosts holds the turn of every host for all jobs of a process. Where jobs differ the strictest rule holds.
// It is safe for concurrent use, starts no goroutine and reads no clock: time is passed in and must not go
// backward by much.
//
// The names that callers pass are those of origins, scheme://host:port. All origins of a host share its
// turns, and each has the gap that its own failures ask for beside: a port that does not answer says
// nothing about the others. A name without a scheme is that of a host.
type Hosts struct {
	// Beyond has a say in each turn, for hosts that other machines request too. nil: no other machine does. It
	// is set before the first call.
	Beyond Others

	mu    sync.Mutex
	hosts map[string]*host
}

type host struct {
	rules    []rule // of the jobs with requests lately, mostly one
	inFlight int
	origins  map[string]*origin

	crawlDelay time.Duration
	crawlSet   time.Time     // when it was said; zero until its first request
	notBefore  time.Time     // from Retry-After
	spacing                  // by the gap
	last       time.Duration // last response time
	fast, base float64       // moving averages of the response time in ns: now, and usually
	penalty    penalty       // for answers 429
	seen       time.Time
}

type rule struct {
	given    Politeness
	p        Politeness // given withDefaults
	inFlight int
	seen     time.Time
	served   time.Time // when its last turn was taken
	before   time.Time // served before that
	awaited  time.Time // when it asks again after it was refused; zero: it was not
}

// Acquire asks for a host's turn. Of jobs that wait for it the one comes first whose last turn is longest
// ago. With ok, a request may start now and must be followed by Release with the
// same p. Else wait is when to ask again; when only the end of another request can help it is a guess, and a
// Release of that host is the better signal.
func (h *Hosts) Acquire(name string, p Politeness, now time.Time) (ok bool, wait time.Time) {
	return h.acquire(name, p, now, false)
}

// AcquireAnyway is Acquire although the host may have asked to wait, for a request that finds out whether it
// still wants that.
func (h *Hosts) AcquireAnyway(name string, p Politeness, now time.Time) (ok bool, wait time.Time) {
	return h.acquire(name, p, now, true)
}

func (h *Hosts) acquire(name string, p Politeness, now time.Time, anyway bool) (ok bool, wait time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.host(name)
	o := s.origin(name)
	s.rest(o, now)
	s.seen, o.seen = now, now
	if s.crawlSet.IsZero() {
		s.crawlSet = now
	}
	eff, mine := s.admit(p, now)
	r := &s.rules[mine]
	least := s.notBefore
	if anyway {
		least = time.Time{}
	}
	if now.Before(o.next) { // it does not wait for the host: others need not wait for it
		r.awaited = time.Time{}
		return false, later(o.next, least)
	}
	again := least
	if !now.Before(least) {
		again = s.busy(eff, r, o, now)
	}
	if again.IsZero() && h.Beyond != nil {
		again = h.Beyond.Turn(HostOf(name), p, now)
	}
	if !again.IsZero() {
		r.awaited = again
		return false, again
	}
	r.before, r.served, r.awaited = r.served, now, time.Time{}
	s.inFlight++
	o.inFlight++
	r.inFlight++
	s.start(now, s.gap(eff))
	o.start(now, o.gap(eff))
	return true, time.Time{}
}

// busy returns when to ask again for a turn that cannot be had now; zero when it can.
func (s *host) busy(eff Politeness, mine *rule, o *origin, now time.Time) time.Time {
	if s.crawlDelay > 0 {
		eff.Connections = 1
	}
	if s.inFlight-s.mute(o) >= eff.Connections {
		again := now.Add(min(max(poll, s.last/4), longestPoll))
		if len(s.rules) > 1 { // others wait for the next one
			again = now.Add(poll)
		}
		if again.Before(s.next) {
			again = s.next
		}
		return again
	}
	if now.Before(s.next) {
		return s.next
	}
	for i := range s.rules {
		r := &s.rules[i]
		comes := !r.awaited.IsZero() && !now.After(r.awaited.Add(keepTurn))
		if r != mine && comes && r.served.Before(mine.served) {
			return later(now, r.awaited).Add(poll)
		}
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Release ends a request that Acquire with the same name and p admitted. A turn that was not used leaves no
// gap behind.
func (h *Hosts) Release(name string, p Politeness, now time.Time, o Observation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.host(name)
	at := s.origin(name)
	eff, mine := s.admit(p, now)
	s.seen, at.seen = now, now
	s.inFlight = max(s.inFlight-1, 0)
	at.inFlight = max(at.inFlight-1, 0)
	s.rules[mine].inFlight = max(s.rules[mine].inFlight-1, 0)
	if h.Beyond != nil {
		h.Beyond.Done(HostOf(name), o)
	}
	if o.Unused {
		s.rules[mine].served = s.rules[mine].before
		s.giveBack()
		at.giveBack()
		return
	}
	s.learn(at, o, eff, now)
	s.end(now, s.gap(eff))
	at.end(now, at.gap(eff))
}

// Leave ends the wishes of a job whose run has ended, for all hosts. The gap after its last request stays.
func (h *Hosts) Leave(by string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.hosts {
		s.rules = slices.DeleteFunc(s.rules, func(r rule) bool { return r.given.By == by && r.inFlight == 0 })
	}
}

// Gap returns the least pause before the next request that holds for p and the jobs beside it, Crawl-delay
// and penalties included: what [Request.Gap] should be, so that a retry within a turn keeps to it, too.
func (h *Hosts) Gap(name string, p Politeness) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.hosts[HostOf(name)]
	if s == nil {
		return p.Delay
	}
	eff := p.withDefaults()
	for i := range s.rules {
		eff = strictest(eff, s.rules[i].p)
	}
	g := s.gap(eff)
	if o := s.origins[name]; o != nil {
		g = max(g, o.gap(eff))
	}
	return g
}

// Held returns what keeps a job with rule p from the host of an origin.
func (h *Hosts) Held(name string, p Politeness, now time.Time) Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.hosts[HostOf(name)]
	if s == nil {
		return Hold{Gap: p.Delay}
	}
	return s.held(s.origin(name), p, now)
}

// HostOf returns the host of an origin, without port: politeness counts by it.
func HostOf(origin string) string {
	_, host, ok := strings.Cut(origin, "://")
	if !ok {
		return origin
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		return host[:i]
	}
	return host
}

// host returns the state of the host of an origin.
func (h *Hosts) host(origin string) *host {
	name := HostOf(origin)
	s := h.hosts[name]
	if s == nil {
		if h.hosts == nil {
			h.hosts = make(map[string]*host)
		}
		s = new(host)
		h.hosts[name] = s
	}
	return s
}

// admit notes that a job with rule p is there, and returns the strictest of the rules in force and the place
// of p's.
func (s *host) admit(p Politeness, now time.Time) (eff Politeness, mine int) {
	if len(s.rules) == 1 && s.rules[0].given == p { // the usual case
		s.rules[0].seen = now
		return s.rules[0].p, 0
	}
	mine = -1
	keep := s.rules[:0]
	for _, r := range s.rules {
		if r.given == p {
			r.seen, mine = now, len(keep)
		} else if r.inFlight == 0 && now.Sub(r.seen) > max(ruleLife, 2*r.p.Delay) {
			continue
		}
		keep = append(keep, r)
	}
	s.rules = keep
	if mine < 0 {
		mine = len(s.rules)
		s.rules = append(s.rules, rule{given: p, p: p.withDefaults(), seen: now})
	}
	eff = s.rules[mine].p
	for i := range s.rules {
		eff = strictest(eff, s.rules[i].p)
	}
	return eff, mine
}

// gap is the least time to the next start.
func (s *host) gap(p Politeness) time.Duration {
	g := s.penalty.gap
	if p.Factor > 0 && s.last > 0 {
		f := p.Factor
		if s.base > 0 {
			f *= min(max(s.fast/s.base, 1), slowestRatio)
		}
		g = max(g, time.Duration(f*float64(s.last)))
	}
	return max(min(g, p.MaxDelay), p.Delay, s.crawlDelay)
}

// learn takes an answer into account: a penalty doubles with every sign of distress and shrinks by an eighth
// with every good answer, so that twelve good answers undo about two bad ones. The host as a whole has one
// for answers 429, which concern all requests; each origin one for what concerns its server.
func (s *host) learn(at *origin, o Observation, p Politeness, now time.Time) {
	if o.RetryAfter > 0 {
		if t := now.Add(min(o.RetryAfter, mostRetryAfter)); t.After(s.notBefore) {
			s.notBefore = t
		}
	}
	distress := o.Distress()
	if at.mute = distress && o.Status == 0; distress {
		of := &at.penalty
		if o.Status == http.StatusTooManyRequests {
			of = &s.penalty
		}
		of.grow(max(s.gap(p), at.gap(p)), p.MaxDelay, now)
		return
	}
	if o.Status == 0 {
		return // says nothing about the host: canceled, a full disk, an address that is not allowed
	}
	s.penalty.shrink()
	at.penalty.shrink()
	if o.Duration <= 0 {
		return
	}
	s.last = o.Duration
	d := float64(o.Duration)
	if s.base == 0 {
		s.fast, s.base = d, d
		return
	}
	s.fast += (d - s.fast) / 5
	if d < s.base {
		s.base += (d - s.base) / 10 // what the host can do when it is well is believed soon
	} else {
		s.base += (d - s.base) / 200 // that it has become slow for good, only after hundreds of answers
	}
}

// rest lets the penalties of a host and of one of its origins rest.
func (s *host) rest(o *origin, now time.Time) {
	if s.inFlight == 0 {
		s.penalty.rest(now.Sub(later(later(s.seen, s.next), s.notBefore)))
	}
	if o.inFlight == 0 {
		o.penalty.rest(now.Sub(later(later(o.seen, o.next), s.notBefore)))
	}
}

// Distress tells a host in trouble from a single URL in trouble, such as a body that always breaks off.
func (o Observation) Distress() bool {
	for _, class := range [...]error{ErrTimeout, ErrTooSlow, ErrRefused, ErrUnreachable, ErrReset} {
		if errors.Is(o.Err, class) {
			return true
		}
	}
	return o.Status == http.StatusTooManyRequests || o.Status == http.StatusServiceUnavailable
}

// SetCrawlDelay notes what a robots.txt of the host demands: the gap is at least d and there is one
// connection. The rules of several jobs, and of the http and the https origin of one host, need not agree:
// the longest that was said within a day holds, so a shorter one, or 0, counts when the rules have been
// fetched again.
func (h *Hosts) SetCrawlDelay(name string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.host(name)
	d = max(d, 0)
	if d < s.crawlDelay && s.seen.Sub(s.crawlSet) < crawlLife {
		return
	}
	if d > s.crawlDelay && !s.seen.IsZero() {
		if t := s.seen.Add(d); t.After(s.next) { // binds from the request on that showed it
			s.next = t
		}
	}
	s.crawlDelay, s.crawlSet = d, s.seen
}

// Snapshot returns all hosts by name.
func (h *Hosts) Snapshot() []HostState {
	h.mu.Lock()
	list := make([]HostState, 0, len(h.hosts))
	for name, s := range h.hosts {
		list = append(list, s.snapshot(name))
	}
	h.mu.Unlock()
	slices.SortFunc(list, func(a, b HostState) int { return strings.Compare(a.Host, b.Host) })
	return list
}

// Defer takes over what an earlier process knew: the host asked to be left alone until a time.
func (h *Hosts) Defer(name string, until, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.host(name)
	s.seen = now
	if most := now.Add(mostRetryAfter); until.After(most) {
		until = most
	}
	s.notBefore = later(s.notBefore, until)
}

// Lift ends the wait that a host asked for: it answers.
func (h *Hosts) Lift(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.hosts[name]; s != nil {
		s.notBefore = time.Time{}
	}
}

// Prune forgets hosts that were not requested since before, that have nothing under way and nothing to wait
// for. It returns how many are left.
func (h *Hosts) Prune(before, now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, s := range h.hosts {
		if s.isIdle(before, now) {
			delete(h.hosts, name)
		}
	}
	return len(h.hosts)
}
