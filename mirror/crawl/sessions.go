// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"mirrord/fetch"
	"mirrord/internal/timed"
	"mirrord/internal/volatile"
	"mirrord/mirror/frontier"
	"mirrord/mirror/process"
	"mirrord/mirror/render"
	"mirrord/mirror/revisit"
	"mirrord/mirror/scope"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/profile"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// newSessions returns what learns session ids, with what earlier runs learned; nil when the job does not want
// that. The table is loaded.
func newSessions(r *Retrieval) (*frontier.SessionIDs, error) {
	if !r.Job.Scope.LearnSessions {
		return nil, nil
	}
	learned, _, err := urls.ReadFact[map[string]*urls.SessionID](r.Site.Notes, urls.SessionsFact)
	if err != nil {
		return nil, err
	}
	// an archive ends, and a user wanted to keep all of it
	return frontier.NewSessionIDs(learned, r.Run.Number, r.Table, !r.Options.Imports), nil
}

// keepSessions stores which session ids and which spellings there are, for the next run.
func keepSessions(r *planned) error {
	err := urls.KeepFact(r.Site.Notes, source.SpellingsFact, r.chain.Spelled.Fact)
	if (r.sessions == nil) || (err != nil) {
		return err
	}
	if r.repeats != nil {
		err = urls.WriteFact(r.Site.Notes, urls.RepeatsFact, r.repeats.Learned())
	}
	return errors.Join(err, urls.WriteFact(r.Site.Notes, urls.SessionsFact, r.sessions.Learned()))
}

// newRepeats returns what learns which pages repeat others, with what earlier runs learned; nil when the job
// does not want that.
func newRepeats(r *Retrieval) (*frontier.StateRepeats, error) {
	learned, _, err := urls.ReadFact[map[string]*urls.RepeatPlace](r.Site.Notes, urls.RepeatsFact)
	if (err != nil) || !r.Job.Scope.LearnSessions || r.Options.Imports {
		return nil, err
	}
	return frontier.NewStateRepeats(learned, r.Run.Number, r.Table), nil
}

// mainOf returns the URL that stands for another one, or that one.
func mainOf(r *crawling, u site.URL) site.URL {
	to, _ := r.sessions.Main(u)
	return to
}

// leaves returns why a page is left to the origin, "" when it is not. What stands for a page is left with it.
// What this run found out of pages that repeat counts in the end.
func leaves(r *crawling, u site.URL, end bool) (why string) {
	to := mainOf(r, u)
	if r.repeats.Leaves(to) || (end && r.repeats.LeavesNow(to)) {
		r.repeats.Leave(u)
		return frontier.LeftRepeat
	}
	return r.sessions.Leaves(u)
}

// keepProfiles stores which programs make the site, for the next run, and notes what the mirror has that
// their profiles would leave. Without any, what an earlier run found stays.
func keepProfiles(r *Retrieval) error {
	is := r.Rules.Profiles.Programs(r.Rescan, func(x *profile.Profile) (had int) {
		what := fmt.Sprintf(couldLeave, x.Name)
		for id, s := range r.Table.Settled().All() {
			if !s.InSet() {
				continue
			}
			if u := r.Table.URL(id); r.Rules.LeavesBy(x, u, frontier.PurposeOf(s)) != "" {
				r.Notes.Add(what, u)
				had++
			}
		}
		return had
	})
	if is == nil && !r.Rules.Profiles.Changed() {
		return nil
	}
	return urls.WriteFact(r.Site.Notes, scope.ProfilesFact, is)
}

const couldLeave = "profile = %[1]q in the job file would take out of the mirror what profile %[1]s leaves"

// folded returns what becomes of a URL for which another one stands; ok is false for all other URLs. Entry
// points and sitemaps, which no document named, stand for themselves.
func folded(r *crawling, rec *record.Resource, end bool) (f process.Found, ok bool) {
	if rec.Referrer == 0 {
		return f, false
	}
	s := r.Table.State(rec.ID)
	if !rec.Requis && !(rec.InSet && s.Known()) { // what earlier runs had stays
		why := leaves(r, rec.URL, end)
		if rec.Outcome == site.Redirected && why != frontier.LeftRepeat {
			why = r.sessions.LeavesAny(rec.URL)
		}
		if why == frontier.LeftRepeat {
			return leftRepeat(r, rec), true
		}
		if why != "" {
			f.Finding = process.LeftOut(rec, why, r.Version, urls.Account{})
			return f, true
		}
	}
	if id, ok := r.Table.Standing(rec.ID); ok {
		to, s := r.Table.Get(id)
		if !s.InSet() && rec.InSet { // what the mirror has stays
			return f, false
		}
		return r.process.Folded(rec, to, frontier.SameSpelling)
	}
	if to, why := r.sessions.Main(rec.URL); to != rec.URL {
		return r.process.Folded(rec, to, why)
	}
	return f, false
}

// foldSessions makes one URL of those that were requested before it was known that they are one, when nothing
// is left to request. The ones that stand for them are requested.
func foldSessions(ctx context.Context, r *crawling, stage func()) error {
	t := r.Table.Settled()
	if (!r.sessions.Some() && !t.Spelled() && len(r.repeats.Learned()) == 0) || r.stopped() {
		return nil
	}
	requestPutOff(r, stage)
	r.sessions.Settle()
	for _, q := range r.sessions.Bare() {
		if res, body := requestAside(ctx, r, q.URL, int64(r.Job.Limits.MaxDocument)); res != nil {
			r.process.Second(q, res, body)
		}
	}
	r.sessions.Recall()
	auditAlike(t, r.Run.Number, r.sessions, func(u site.URL) (*frontier.Second, bool) {
		return secondOf(ctx, r, u)
	})
	for more := true; more; more = requestPutOff(r, stage) {
		if err := foldOnes(r); err != nil {
			return err
		}
		stage()
	}
	if err := leavePutOff(r); err != nil {
		return err
	}
	stage()
	return leavePutOff(r)
}

// foldOnes concludes which of the URLs that were requested are one, or are left to the origin.
func foldOnes(r *crawling) error {
	share(r)
	t := r.Table.Settled()
	for id, s := range t.All() {
		leads := s.Outcome() == site.Redirected
		if !s.Given() || !(s.InSet() || leads) || (s.Referrer() == 0) {
			continue
		}
		u := r.Table.URL(id)
		_, spelled := r.Table.Standing(id)
		to, _ := r.sessions.Main(u)
		n := s.Target()
		follows := leads && n > 0 && r.repeats.LeavesNow(r.Table.URL(n-1))
		switch {
		case leads && !follows && (spelled || to != u || r.sessions.LeavesAny(u) == ""):
			continue
		case !leads && !spelled && to == u && leaves(r, u, true) == "":
			continue
		}
		rec, err := r.process.Record(id, u)
		if err != nil {
			return err
		}
		f, ok := folded(r, &rec, true)
		if !ok && follows && rec.Status == 0 { // a page stood for it that is left
			r.repeats.Leave(u)
			f, ok = leftRepeat(r, &rec), true
		}
		if ok {
			r.conclude(id, u, f)
		}
	}
	return nil
}

func share(r *crawling) map[site.URL]site.URL {
	return r.repeats.Share(func(u site.URL) site.URL { return mainOf(r, u) })
}

// requestPutOff requests those pages that were put off whose places have credit, when nothing else is left to
// request. some reports whether there were any.
func requestPutOff(r *crawling, stage func()) (some bool) {
	next := func() []uint32 {
		if len(r.repeats.Waiting()) > 0 {
			r.sessions.Recall()
		}
		return r.repeats.Resume(share(r))
	}
	for ids := next(); len(ids) > 0 && !r.stopped(); ids = next() {
		some = true
		for _, id := range ids {
			r.dispatcher.Front.Add(r.Table.URL(id).Origin(), id, frontier.PrioLast)
		}
		stage()
	}
	return some
}

// leavePutOff leaves the other ones to the origin, unless pages of the mirror stand for them.
func leavePutOff(r *crawling) error {
	if r.stopped() {
		return nil
	}
	waiting := r.repeats.Waiting()
	for u, id := range waiting {
		rec, err := r.process.Record(id, u)
		if err != nil {
			return err
		}
		f, ok := folded(r, &rec, true)
		if !ok {
			f = leftRepeat(r, &rec)
		}
		if rec.Outcome == site.OutOfScope {
			r.Notes.Add(frontier.LeftRepeat, u)
		}
		r.conclude(id, u, f)
	}
	r.repeats.Forget(waiting)
	return nil
}

// secondOf requests a page beside those of the run.
func secondOf(ctx context.Context, r *crawling, u site.URL) (*frontier.Second, bool) {
	res, body := requestAside(ctx, r, u, volatile.MaxBody)
	if res == nil || res.Status != http.StatusOK {
		return nil, false
	}
	return &frontier.Second{Body: r.skipPlan.Noise.Known(u).Plain(body)}, true
}

// requestAside requests a page of at most so many bytes beside those of the frontier; nil without an answer.
func requestAside(ctx context.Context, r *crawling, u site.URL, most int64) (*fetch.Result, []byte) {
	if !mayRequest(r.Retrieval, u) || r.stopped() {
		return nil, nil
	}
	var body source.PageSink
	req := fetch.Request{URL: u, MaxBody: most, NoRetry: true}
	res, err := r.asker().Exchange(ctx, req, &body)
	if err != nil {
		return nil, nil
	}
	return res, body.Bytes()
}

// compareLast requests the pages once more, when nothing else is left to request, that are to be requested
// twice.
func compareLast(ctx context.Context, r *crawling) {
	next := func() (*revisit.Twice, bool) {
		return r.skipPlan.Noise.Question("", r.Counts.Requests.Load(), r.Now())
	}
	for q, ok := next(); ok && !r.stopped(); q, ok = next() {
		if !anotherSecond(ctx, r, q) {
			continue
		}
		if res, body := requestAside(ctx, r, q.URL, volatile.MaxBody); res != nil {
			process.TwoAnswers(r.process, q, res, body)
		}
	}
}

// anotherSecond waits until the second answer of a page that shows the time shows another one. It returns
// false when the run ends.
func anotherSecond(ctx context.Context, r *crawling, q *revisit.Twice) bool {
	left := aSecond - r.Now().Sub(q.At)
	return left <= 0 || !q.ShowsTime() || timed.Wait(ctx, left) == nil
}

// aSecond is a little more than one, in which clocks show another time.
const aSecond = 1100 * time.Millisecond

// Of a pair (urls.Pairs) one URL is requested, and counts as a file of its directory. The other one stays in
// the mirror as it is. It is requested in one of auditTurns runs, and when it has a file of its own and the
// first one changed. When it says something else then, the two are no pair for good.
const auditTurns = 8

// mostOthers is how many URLs with a query are compared with the one without: the parameter of a site that
// has that many pages says which one it is.
const mostOthers = 64

// recallPairs reads the pairs of earlier runs, when the table is loaded. A job that wants none gets two pages
// of each.
func recallPairs(r *Retrieval) (p urls.Pairs, err error) {
	if p, _, err = urls.ReadFact[urls.Pairs](r.Site.Notes, urls.PairsFact); err != nil {
		return nil, err
	}
	t := r.Table.Settled()
	switch {
	case r.Job.Scope.LearnSessions && p == nil:
		p = urls.Pairs{}
	case r.Job.Scope.LearnSessions:
		p.Mark(t)
	default:
		for u, x := range p {
			if id, ok := t.Find([]byte(u)); ok && x.Holds() {
				t.Part(id)
			}
		}
		p = nil
	}
	return p, nil
}

// auditPairs requests, when nothing else is left to request, the other pages of pairs whose turn it is.
func auditPairs(r *crawling, stage func()) {
	t := r.Table.Settled()
	for _, u := range slices.Sorted(maps.Keys(r.pairs)) {
		id, ok := t.Find([]byte(u))
		if !ok || !t.State(id).Joined() || r.stopped() {
			continue
		}
		main, _ := t.Find([]byte(r.pairs[u].Main))
		s, m := t.State(id), t.State(main)
		turn := (xxh3.HashString(u)+uint64(r.Run.Number))%auditTurns == 0
		if turn || !m.InSet() || (s.HasPath() && m.Seen()&urls.Changed != 0) {
			r.dispatcher.HostAdmission.Known(id, frontier.PrioKnown)
			r.dispatcher.HostAdmission.Known(main, frontier.PrioKnown)
		}
	}
	stage()
}

// mostCouples bounds how many couples that are no pair yet a run compares.
const mostCouples = 1 << 14

// couple is two URLs that may be one page.
type couple struct {
	id, main uint32
	index    bool // of a directory
}

// couples returns the URLs that may be one page and that the run looked at.
func couples(t urls.Settled) (out []couple) {
	looked := func(s urls.State) bool {
		had := s.Outcome() == site.Fetched || s.Outcome() == site.Unchanged
		return s.InSet() && had && s.Seen()&urls.Asked != 0
	}
	others := map[uint32]int{}
	for id, s := range t.All() {
		if !s.Given() || !looked(s) {
			continue
		}
		form, index := urls.PairOf(t.URL(id))
		main, ok := t.FindURL(form)
		if !ok || (main == id) || !looked(t.State(main)) || (others[main] > mostOthers) {
			continue
		}
		if !index {
			others[main]++
		}
		c, m := couple{id, main, index}, t.State(main)
		if s.Referrer() == 0 || (s.HasPath() && !m.HasPath() && m.Known()) { // an entry point, or it has the file
			c.id, c.main, s = main, id, m
		}
		if s.Referrer() > 0 && (len(out) < mostCouples || s.Joined()) {
			out = append(out, c)
		}
	}
	return out
}

// keepPairs compares what the mirror has of URLs that may be one page, and stores what that teaches. The
// records of the run are written.
func keepPairs(r *crawling) error {
	t := r.Table.Settled()
	if (r.pairs != nil) && !r.Options.Imports {
		if err := learnPairs(r, t); err != nil {
			return err
		}
	}
	for u, x := range r.pairs {
		id, ok := t.Find([]byte(u))
		main, is := t.Find([]byte(x.Main))
		if x.Holds() && !(ok && is && t.State(id).InSet() && t.State(main).InSet()) {
			delete(r.pairs, u)
			if ok {
				t.Part(id)
			}
		}
	}
	return urls.WriteFact(r.Site.Notes, urls.PairsFact, r.pairs)
}

// learnPairs compares the couples.
func learnPairs(r *crawling, t urls.Settled) error {
	all := couples(t)
	if len(all) == 0 {
		return nil
	}
	recs := map[uint32]record.Resource{}
	for _, c := range all {
		for _, id := range [...]uint32{c.id, c.main} {
			rec, _, err := r.Site.Records.Get(t.URL(id))
			if err != nil {
				return err
			}
			recs[id] = rec
		}
	}
	wanted := func(id uint32) bool {
		_, ok := recs[id]
		return ok
	}
	err := r.Site.Records.Results(wanted, func(rec *record.Resource) { recs[rec.ID] = *rec })
	frames := bodies.NewFrameReader()
	for _, c := range all {
		a, b := recs[c.id], recs[c.main]
		same, canonical := oneBody(r, frames, &a, &b)
		more := 0
		if c.index || canonical {
			more = 1
		}
		switch were, are := r.pairs.Vote(r.Run.Number, a.URL, b.URL, same, more); {
		case are && !were:
			r.Table.See(c.id, urls.Joined)
		case were && !are:
			t.Part(c.id)
		}
	}
	return err
}

// oneBody reports whether what the mirror has of two URLs is the same, and whether the first one says that
// the second is its canonical address. What cannot be read is not the same; verify reports it.
func oneBody(r *crawling, frames *bodies.FrameReader, a, main *record.Resource) (same, canonical bool) {
	if (a.MIME != main.MIME) || (a.Charset != main.Charset) || (a.Body != record.PackBody) {
		return false, false
	}
	// noise takes no tenth of a page
	if (a.Digest != main.Digest) && (10*min(a.Size, main.Size) < 9*max(a.Size, main.Size)) {
		return false, false
	}
	fr, err := r.Site.Frames.ReadFrame(frames, a.At)
	if err != nil {
		return false, false
	}
	if a.Digest != main.Digest {
		body, err := r.heldBody(main)
		if err != nil {
			return false, false
		}
		if _, _, same = r.skipPlan.Noise.Known(main.URL).Same(body, fr.Body); !same {
			return false, false
		}
	}
	var links render.StoredLinks
	if links.Decode(fr.Links) != nil {
		return true, false
	}
	for i := range links.Links {
		names := (links.Links[i].Kind == relocate.Reference) && (links.Targets[i].Literal == nil)
		canonical = canonical || (names && links.Targets[i].ID == main.ID)
	}
	return true, canonical
}
