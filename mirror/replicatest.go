// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/relocate"
	"mirrord/replica/hash"
	"mirrord/replica/hosts"
	"mirrord/robots"
	"mirrord/site"
	"mirrord/store"
)

// ReplicaSide is one of two directories of the web that are tested for being replicas: stage II of Bharat and Broder through the polite fetcher.
type ReplicaSide struct {
	Base    string   // URL of the directory, with a slash at its end
	Paths   []string // that are known of it, below Base, each with a slash before it, such as "/a/b.html"
	Job     *job.Job // by whose rules it is asked: robots, politeness, window, limits
	Fetcher Fetcher
	Robots  Robots
	Hosts   Hosts

	Now func() time.Time // default time.Now
}

// TestReplicas asks both sides for up to 19 paths, and each for one that cannot exist, and says what came of it. It takes turns of the hosts and obeys
// robots.txt as a run does. A side that has no paths is only asked for those of the other. The only errors are that ctx ended or that a job cannot be used.
func TestReplicas(ctx context.Context, a, b ReplicaSide) (hosts.PairVerdict, error) {
	tests := hosts.StageTwo{}.Plan(hosts.HostSample{Host: a.Base, Paths: a.Paths}, hosts.HostSample{Host: b.Base, Paths: b.Paths})
	if len(b.Paths) == 0 {
		tests = oneWay(a.Base, b.Base, a.Paths)
	}
	asker := map[string]*asker{}
	for _, s := range []*ReplicaSide{&a, &b} {
		k, err := s.asker()
		if err != nil {
			return hosts.PairVerdict{}, err
		}
		asker[s.Base] = k
	}
	other := map[string]string{a.Base: b.Base, b.Base: a.Base}
	answers, err := gather(tests, func(base string, u site.URL) (hosts.Answer, error) {
		return asker[base].page(ctx, u, other[base])
	})
	if err != nil {
		return hosts.PairVerdict{}, err
	}
	return hosts.StageTwo{}.Decide(tests, answers), nil
}

// PairOf makes a record of a verdict on two base URLs.
func PairOf(v *hosts.PairVerdict, base1, base2 string, tested time.Time) store.PairRecord {
	return store.PairRecord{Base1: base1, Base2: base2, Tested: tested.UTC().Truncate(time.Second), Level: v.Level.String(), Mirrors: v.Level.Mirrors(), Confident: v.Confident,
		Equal: v.Interchangeable(), Good: v.Good, Answered: v.Answered, Tests: len(v.Tests), SoftPages: v.Soft}
}

// KeepPair keeps what a test came to, unless it says nothing, because too little was answered, and there is an earlier one that said something and still holds.
func KeepPair(st PairFacts, p store.PairRecord) error {
	if !saysSomething(&p) {
		old, ok, err := st.LoadPair(p.Base1, p.Base2)
		if err != nil || ok && saysSomething(&old) && p.Tested.Sub(old.Tested) <= testedFor {
			return err
		}
	}
	return st.SavePair(p)
}

func saysSomething(p *store.PairRecord) bool {
	return p.Mirrors || p.Level == hosts.Mismatch.String()
}

// oneWayPaths is how many paths are tested when only one side's are known: as many as the two sides have together.
const oneWayPaths = 18

// oneWay plans the tests of whether target has what source has: "/" and the paths of least hash.
func oneWay(source, target string, paths []string) []hosts.Test {
	tests := []hosts.Test{{Source: source, Target: target, Path: "/"}}
	for _, p := range leastPaths(source, slices.Values(paths), oneWayPaths) {
		tests = append(tests, hosts.Test{Source: source, Target: target, Path: p})
	}
	return tests
}

// gather asks for everything that tests need.
func gather(tests []hosts.Test, get func(base string, u site.URL) (hosts.Answer, error)) (map[hosts.TestRequest]hosts.Answer, error) {
	answers := map[hosts.TestRequest]hosts.Answer{}
	for _, ask := range hosts.Asks(tests) {
		u, _, err := site.Parse(strings.TrimSuffix(ask.Host, "/") + ask.Path)
		if err != nil {
			answers[ask] = hosts.Answer{Kind: hosts.GotFailure}
			continue
		}
		a, err := get(ask.Host, u)
		if err != nil {
			return nil, err
		}
		answers[ask] = a
	}
	return answers, nil
}

// leastPaths returns the n paths, "/" left out, for which H(base NUL path) is least.
func leastPaths(base string, paths func(func(string) bool), n int) []string {
	type hashed struct {
		h uint64
		p string
	}
	var all []hashed
	for p := range paths {
		if p != "/" {
			all = append(all, hashed{hash.H(base + "\x00" + p), p})
		}
		if len(all) >= 64*n { // a sample of much stays small
			all = least(all, n, func(a, b hashed) int { return cmp.Compare(a.h, b.h) })
		}
	}
	all = least(all, n, func(a, b hashed) int { return cmp.Compare(a.h, b.h) })
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = x.p
	}
	return out
}

func least[T any](all []T, n int, compare func(a, b T) int) []T {
	slices.SortFunc(all, compare)
	return all[:min(n, len(all))]
}

// asker asks hosts for single pages, politely.
type asker struct {
	fetcher Fetcher
	hosts   Hosts
	turn    func(ctx context.Context, host string) error // takes a turn of a host, see crawl.Gate
	polite  fetch.Politeness
	maxWait time.Duration
	maxBody int64
	product string // our name in robots.txt; "" when robots rules are not obeyed
	now     func() time.Time
	rules   func(ctx context.Context, u site.URL) (*fetch.Robots, error) // called with a turn of the host
	count   func(wire int64)                                             // each request

	mu    sync.Mutex
	known map[string]*fetch.Robots // by origin
	mute  map[string]int           // tests in a row that a host did not answer
}

// A host that did not answer so many tests in a row is not asked any more: each further one would wait longer, and say as little.
const muteTests = 4

// isMute reports whether a host is not asked any more.
func (k *asker) isMute(host string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mute[host] >= muteTests
}

// heard counts whether a host answered a test.
func (k *asker) heard(host string, answered bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mute == nil {
		k.mute = map[string]int{}
	}
	k.mute[host]++
	if answered {
		k.mute[host] = 0
	}
}

func (s *ReplicaSide) asker() (*asker, error) {
	p, now := Politeness(s.Job), s.Now
	if now == nil {
		now = time.Now
	}
	g, err := crawl.NewGate(s.Hosts, s.Job, p, now)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", s.Job.Name, err)
	}
	k := &asker{
		fetcher: s.Fetcher,
		hosts:   s.Hosts,
		turn:    g.Turn,
		polite:  p,
		maxWait: s.Job.Polite.MaxWait,
		maxBody: int64(s.Job.Limits.MaxBody),
		now:     now,
		rules:   s.Robots.Rules,
		count:   func(int64) {},
	}
	if s.Job.ObeyRobots {
		k.product = job.ProductToken(s.Job.Polite.UserAgent)
	}
	return k, nil
}

// allowed asks the robots rules of a URL's origin, and gets them first if they are not known. why says why not.
func (k *asker) allowed(ctx context.Context, u site.URL) (ok bool, why string, err error) {
	if k.product == "" {
		return true, "", nil
	}
	k.mu.Lock()
	rules, known := k.known[u.Origin()]
	k.mu.Unlock()
	if !known {
		host := u.Hostname()
		switch err := k.turn(ctx, host); {
		case errors.Is(err, fetch.ErrLongWait):
			return false, unheard + " is not requested: " + err.Error(), nil
		case err != nil:
			return false, "", err
		}
		start := k.now()
		rules, err = k.rules(ctx, u)
		k.hosts.Release(host, k.polite, k.now(), fetch.Observation{Duration: k.now().Sub(start), Status: 200})
		if err != nil {
			return false, "", err
		}
		if d, ok := rules.CrawlDelay(); ok {
			k.hosts.SetCrawlDelay(host, d)
		}
		k.mu.Lock()
		if k.known == nil {
			k.known = map[string]*fetch.Robots{}
		}
		k.known[u.Origin()] = rules
		k.mu.Unlock()
	}
	if why := rules.Silent(); why != "" {
		return false, why, nil
	}
	if d, ok := rules.CrawlDelay(); ok && d > k.maxWait {
		return false, fmt.Sprintf("Crawl-delay of %v is longer than polite.max_wait", d), nil
	}
	ok, why = rules.Permits(u)
	return ok, why, nil
}

// replicaRedirects is how many redirects a test follows (Bharat and Broder, section 3.2).
const replicaRedirects = 5

// maxReplicaBody bounds a body that is compared, in bytes.
const maxReplicaBody = 16 << 20

// page asks for a page as a test wants it. other is the base URL of the other side: a redirect to it, by whatever scheme, says that both are one host.
func (k *asker) page(ctx context.Context, u site.URL, other string) (hosts.Answer, error) {
	away, origin := false, u.Origin()
	_, otherPlace, _ := strings.Cut(other, "://")
	for range replicaRedirects + 1 {
		if k.isMute(u.Hostname()) {
			return hosts.Answer{Kind: hosts.NoAnswer}, nil
		}
		ok, why, err := k.allowed(ctx, u)
		if err != nil {
			return hosts.Answer{}, err
		}
		if !ok {
			if strings.HasPrefix(why, unheard) {
				return hosts.Answer{Kind: hosts.NoAnswer}, nil
			}
			return hosts.Answer{Kind: hosts.Disallowed}, nil
		}
		var body pageSink
		res, err := k.exchange(ctx, fetch.Request{URL: u, MaxBody: lower(k.maxBody, maxReplicaBody), NoRetry: true}, &body)
		if ctx.Err() == nil {
			k.heard(u.Hostname(), err == nil)
		}
		switch {
		case ctx.Err() != nil:
			return hosts.Answer{}, context.Cause(ctx)
		case errors.Is(err, fetch.ErrDNS):
			return hosts.Answer{Kind: hosts.NoAddress}, nil
		case err != nil && (errors.Is(err, fetch.ErrTooLarge) || errors.Is(err, fetch.ErrBomb) || errors.Is(err, fetch.ErrCoding)):
			return hosts.Answer{Kind: hosts.GotFailure}, nil
		case err != nil:
			return hosts.Answer{Kind: hosts.NoAnswer}, nil
		case res.Status >= 300 && res.Status < 400 && !res.Location.IsZero():
			u = res.Location
			_, place, _ := strings.Cut(u.String(), "://")
			away = away || strings.HasPrefix(u.String(), other) || u.Origin() != origin && strings.HasPrefix(place, otherPlace)
			continue
		case !res.Kept || res.Status != 200 && res.Status != 203:
			return hosts.Answer{Kind: hosts.GotFailure}, nil
		case k.product != "" && robots.ParseXRobotsTag(res.RobotsTags(), k.product, k.now()).NoArchive:
			return hosts.Answer{Kind: hosts.Disallowed}, nil
		}
		return hosts.Answer{Kind: hosts.GotPage, Body: toCompare(res.MIME, u, body.Bytes()), Other: away, At: u.String()}, nil
	}
	return hosts.Answer{Kind: hosts.GotFailure}, nil
}

// unheard begins the reason for which a host's robots.txt forbids everything for now.
const unheard = "its robots.txt"

// leads returns where a URL leads; the URL itself when it does not redirect, the zero value when nothing is known. The only error is that ctx ended.
func (k *asker) leads(ctx context.Context, u site.URL) (site.URL, error) {
	for range replicaRedirects + 1 {
		ok, _, err := k.allowed(ctx, u)
		if err != nil || !ok {
			return site.URL{}, err
		}
		res, err := k.exchange(ctx, fetch.Request{URL: u, MaxBody: lower(k.maxBody, maxReplicaBody), NoRetry: true}, new(pageSink))
		switch {
		case ctx.Err() != nil:
			return site.URL{}, context.Cause(ctx)
		case err != nil:
			return site.URL{}, nil
		case res.Status >= 300 && res.Status < 400 && !res.Location.IsZero():
			u = res.Location
		default:
			return u, nil
		}
	}
	return u, nil
}

// exchange makes one request in a turn of its own. The error may be fetch.ErrLongWait: then no request was made.
func (k *asker) exchange(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	host := req.URL.Hostname()
	if err := k.turn(ctx, host); err != nil {
		return &fetch.Result{}, err
	}
	req.Gap = k.hosts.Gap(host, k.polite)
	res, err := k.fetcher.Do(ctx, req, sink)
	k.hosts.Release(host, k.polite, k.now(), fetch.Observe(res, err))
	k.count(res.Wire)
	return res, err
}

// toCompare prepares a body for comparison.
func toCompare(mime string, u site.URL, body []byte) hosts.PageBody {
	html := relocate.Detect(mime, u, body[:min(len(body), 1024)]) == relocate.HTML
	return hosts.NewAnswer(body, html || strings.HasPrefix(mime, "text/"), html, 0, u.RequestURI())
}

// lower is the lower of two limits, of which the first may be 0 for none.
func lower(a, b int64) int64 {
	if a <= 0 {
		return b
	}
	return min(a, b)
}
