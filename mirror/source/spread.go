// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/mirror/urls"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store/record"
)

// A job may let its alternates answer while the origin is well, to spread the load (alternates_use). A
// replica gets turns of its own host for URLs that wait for the origin, when what it sends has proved to be
// equal, byte for byte, to what the origin sent in the same run: first for spreadEnough pages, then for one
// of every spreadEvery requests. One that differs ends this for spreadBan, and everything that came from the
// replica in the run is requested again.
//
// A replica gives new URLs, and confirms what the mirror holds. What it does not give, and of what the
// mirror holds otherwise, the origin is asked; so it is in the next run for all that a replica gave or
// confirmed.

const (
	spreadEnough = 8
	spreadEvery  = 16
	spreadMisses = 8 // requests in a row that bring no file: the replica is left for the run
	spreadSample = 1 << 20
	spreadBan    = 7 * 24 * time.Hour
	spreadFact   = "spread"
)

// Spread are the replicas of a job that spread the load of its origin. Its methods are safe for concurrent
// use.
type Spread struct {
	x     *ReplicaSource
	facts urls.Facts
	all   []*Lender
	seen  samples
}

// bans are the replicas that were found to differ, by base URL.
type bans map[string]spreadBanned

type spreadBanned struct {
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
}

// NewSpread returns the replicas of x that spread the load.
func NewSpread(x *ReplicaSource, facts urls.Facts) *Spread {
	s := &Spread{x: x, facts: facts}
	for _, a := range x.all {
		s.all = append(s.all, &Lender{of: s, r: a, known: x.Product == ""})
	}
	return s
}

// Prepare reads which replicas are not to be used: they differed of late, or a test says that they are no
// replicas. can says which URLs a replica may be requested for, by what the run knows of them; it is called
// with the lock of the frontier held.
func (s *Spread) Prepare(can func(id uint32) bool) (of string, lenders []*Lender, err error) {
	known, err := s.bans()
	if err != nil {
		return "", nil, err
	}
	now := s.x.Now()
	for _, l := range s.all {
		l.can = can
		if b, ok := known[l.Base()]; ok && now.Before(b.Until) && b.Until.Sub(now) <= spreadBan {
			l.leave(b.Why, true)
		} else if p, ok, err := s.x.testOf(l.r); err != nil {
			return "", nil, err
		} else if ok && isValid(&p, now, hosts.TestedFor) && !p.Equal {
			l.leave(fmt.Sprintf("%s does not spread the load: %s", l.Base(), aboutPair(&p)), false)
			l.byTest = true
		}
	}
	u, _, err := site.Parse(s.x.base)
	if err != nil {
		return "", nil, nil
	}
	return u.Origin(), s.all, nil
}

func (s *Spread) bans() (bans, error) {
	known, _, err := urls.ReadFact[bans](s.facts, spreadFact)
	if known == nil {
		known = bans{} // what cannot be read is verified again
	}
	return known, err
}

// ban ends the use of a replica that differs.
func (s *Spread) ban(l *Lender, u site.URL, how string) error {
	why := fmt.Sprintf("%s no longer spreads the load: %s %s", l.Base(), u, how)
	l.leave(why, true)
	known, err := s.bans()
	if err != nil {
		return err
	}
	known[l.Base()] = spreadBanned{Until: s.x.Now().Add(spreadBan).UTC(), Why: why}
	s.x.Log.Warn("replica differs from the origin", "url", u.String(), "err", how)
	return urls.WriteFact(s.facts, spreadFact, known)
}

// Heard notes what the origin said of a URL: replicas are compared with that. rec is what the mirror holds.
func (s *Spread) Heard(rec *record.Resource, a *Answer) {
	if s == nil || a.Result == nil || rec.Volatile.Held != 0 || !strings.HasPrefix(rec.URL.String(), s.x.base) {
		return
	}
	switch {
	case a.Content != nil && a.Content.Body.File() == nil:
		s.seen.add(sample{rec.URL, a.Content.Body.Digest(), a.Content.MIME, a.Content.Charset})
	case a.Result.NotModified && rec.Size <= spreadSample:
		s.seen.add(sample{rec.URL, rec.Digest, rec.MIME, rec.Charset})
	}
}

// BaseOf returns the base URL of the replica that has a URL.
func (s *Spread) BaseOf(source string) (base string, ok bool) {
	if s == nil || source == "" {
		return "", false
	}
	for _, l := range s.all {
		if strings.HasPrefix(source, l.Base()) {
			return l.Base(), true
		}
	}
	return "", false
}

// Check makes the next request by which a replica is verified, in a turn of its host. It reports whether that
// found that the replica differs from the origin. The error is that of our disk or of ctx.
func (s *Spread) Check(
	ctx context.Context, l *Lender, release func(fetch.Observation),
) (differs bool, err error) {
	defer l.locked(func() { l.checking = false })
	var known, probed bool
	l.locked(func() { known, probed, l.known = l.known, l.probe, true })
	if !known {
		return false, s.learn(ctx, l, release)
	}
	if !probed {
		return false, s.probe(ctx, l, release)
	}
	want, ok := s.seen.draw(l)
	u, _, err := site.Parse(l.Base() + strings.TrimPrefix(want.url.String(), s.x.base))
	if !ok || err != nil {
		return false, nil
	}
	if may, err := l.r.ask.Allowed(ctx, u); err != nil || !may.OK {
		return false, err
	}
	var body PageSink
	req := fetch.Request{URL: u, MaxBody: 2 * spreadSample, NoRetry: true}
	res, err := s.exchange(ctx, l, req, &body, release)
	switch {
	case err != nil:
		return false, err
	case res == nil || !isPage(res):
		l.missed()
		return false, nil
	}
	how, mime := "", res.MIME
	if mime == "" && want.mime == "text/html" {
		mime = want.mime // that of the origin may be what its bytes say, and these are the same
	}
	switch {
	case !record.IsDigestOf(want.digest, body.Bytes()):
		how = "has other bytes than the origin's"
	case mime != want.mime || res.Charset != want.charset:
		is, was := typeName(res.MIME, res.Charset), typeName(want.mime, want.charset)
		how = fmt.Sprintf("is %s, the origin's is %s", is, was)
	}
	if how == "" {
		l.locked(func() {
			l.same++
			l.since, l.misses = 0, 0
		})
		return false, nil
	}
	return true, s.ban(l, u, how)
}

func typeName(mime, charset string) string {
	if charset != "" {
		mime += "; charset=" + charset
	}
	return mime
}

// learn requests the robots.txt of a replica.
func (s *Spread) learn(ctx context.Context, l *Lender, release func(fetch.Observation)) error {
	start := s.x.Now()
	rules, err := l.r.ask.learnInTurn(ctx, l.r.base)
	release(fetch.Observation{Duration: s.x.Now().Sub(start), Status: http.StatusOK})
	if err != nil {
		return err
	}
	why := rules.Silent()
	if d, ok := rules.CrawlDelay(); ok && d > l.r.ask.MaxWait {
		why = fmt.Sprintf("Crawl-delay of %s is longer than polite.max_wait", count.Span(d))
	}
	if why != "" {
		l.leave(fmt.Sprintf("%s does not spread the load: %s", l.Base(), why), false)
	}
	return nil
}

// probe requests a path that cannot exist.
func (s *Spread) probe(ctx context.Context, l *Lender, release func(fetch.Observation)) error {
	u, _, err := site.Parse(l.Base() + strings.TrimPrefix(hosts.ProbePath(l.Base()), "/"))
	if err != nil {
		return nil
	}
	may, err := l.r.ask.Allowed(ctx, u)
	if err != nil {
		return err
	}
	if !may.OK {
		l.leave(fmt.Sprintf("%s does not spread the load: %s", l.Base(), may.Why), false)
		return nil
	}
	var body PageSink
	res, err := s.exchange(ctx, l, l.r.ask.single(u), &body, release)
	if err != nil || res == nil {
		return err
	}
	var page hosts.PageBody
	if isPage(res) {
		page = hosts.AnswerBody(res.MIME, u, body.Bytes())
	}
	l.locked(func() { l.probe, l.soft, l.softPage = true, isPage(res), page })
	return nil
}

// exchange makes a request in a turn of a replica's host. The result is nil when no usable answer came. The
// error is that of ctx.
func (s *Spread) exchange(
	ctx context.Context, l *Lender, req fetch.Request, sink fetch.Sink, release func(fetch.Observation),
) (*fetch.Result, error) {
	start := s.x.Now()
	res, err := l.r.ask.inTurn(ctx, req, sink)
	if ended(ctx, err) {
		return nil, errors.Join(fetch.ErrCanceled, err)
	}
	release(fetch.Observe(res, err))
	d := s.x.Now().Sub(start)
	l.locked(func() { l.took = (3*cmp.Or(l.took, d) + d) / 4 })
	switch {
	case err != nil:
		s.x.HostErrors.Failed(req.URL, err.Error(), NoAnswer)
	case fetch.TransientStatus(res.Status):
		s.x.HostErrors.Failed(req.URL, fmt.Sprintf("status %d", res.Status), BadAnswer)
	default:
		s.x.HostErrors.Answered(req.URL)
		return res, nil
	}
	if s.x.HostErrors.IsDown(req.URL) {
		l.leave(fmt.Sprintf("%s does not spread the load: it does not answer", l.Base()), false)
	}
	l.missed()
	return nil, nil
}

// Get requests a URL of a replica in a turn of its host. From is 0 when the origin has to be asked. The error
// is that of our disk or of ctx.
func (s *Spread) Get(
	ctx context.Context, l *Lender, ask *Ask, release func(fetch.Observation),
) (Answer, error) {
	rest, ok := strings.CutPrefix(ask.Record.URL.String(), s.x.base)
	u, _, err := site.Parse(l.Base() + rest)
	if !ok || err != nil || !strings.HasPrefix(u.String(), l.Base()) {
		return Answer{}, nil
	}
	if may, err := l.r.ask.Allowed(ctx, u); err != nil || !may.OK {
		return Answer{}, err
	}
	body := s.x.Bodies.New(u)
	res, err := s.exchange(ctx, l, fetch.Request{URL: u, MaxBody: s.x.MaxBody, NoRetry: true}, body, release)
	if err == nil {
		err = body.Err()
	}
	var a Answer
	if err == nil && res != nil {
		a = s.read(l, ask, res, u, body)
	}
	if a.body == nil {
		body.Close()
	}
	return a, err
}

// read reads what a replica sent for a URL.
func (s *Spread) read(l *Lender, ask *Ask, res *fetch.Result, u site.URL, body *BodySink) (a Answer) {
	rec, now := ask.Record, s.x.Now()
	tags := tagsOf(res, s.x.Product, now)
	switch {
	case !isPage(res):
		l.missed()
		return a
	case tags.NoArchive || tags.NoFollow, ask.Suits != nil && !ask.Suits(res.MIME):
		return a
	case body.File() == nil && l.isErrorPage(res.MIME, u, body.Bytes()):
		l.missed()
		return a
	}
	l.locked(func() {
		l.since++
		l.misses = 0
	})
	a = Answer{
		From:    FromReplica,
		Source:  u.String(),
		replica: l.Base(),
		Status:  cmp.Or(rec.Status, http.StatusOK),
		Checked: rec.Checked,
	}
	if rec.InSet {
		if body.Digest() != rec.Digest { // the origin says whether it has changed
			return Answer{}
		}
		a.Same, a.Reason = true, fmt.Sprintf("as %s has it, which was verified to equal the origin", u)
		return a
	}
	a.Status, a.Checked = res.Status, now.Unix()
	a.Reason = fmt.Sprintf("of %s, which was verified to equal the origin", u)
	a.Content, a.body = contentOf(res, body, now), body
	return a
}

// Report says how many outcomes of the run are the replicas', by base URL, and why some are not used any
// more. The workers have ended.
func (s *Spread) Report() (given map[string]int64, notes []string) {
	if s == nil {
		return nil, nil
	}
	given = map[string]int64{}
	for _, l := range s.all {
		if l.given > 0 {
			given[l.Base()] = l.given
		}
		if l.why != "" && !(l.byTest && l.r.renewed) { // a later test is what counts
			notes = append(notes, l.why)
		}
	}
	return given, notes
}

// MayGive reports whether a replica can give a URL, or confirm what the mirror holds of it: the origin has
// said so in an earlier run, or there is no record.
func MayGive(rec *record.Resource) bool {
	if !rec.InSet {
		return rec.Run == 0 && !urls.IsGone(rec)
	}
	own := rec.Source == "" && rec.Reason == "" && rec.Body != record.NoBody // it was the origin's last time
	well := rec.Outcome == site.Fetched || rec.Outcome == site.Unchanged
	return own && well && rec.Failures == 0 && rec.Gone == 0 && !rec.Listing && !urls.IsSitemap(rec)
}
