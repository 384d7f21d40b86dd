// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/robots"
	"mirrord/site"
	"mirrord/store"
)

// A job may name alternates: replicas of its site. When the origin does not give a URL (its host is left for the next run, nobody answers, or a status of
// 500 or more after all attempts and a second turn), they are asked for it, in their order, as politely as any host and by their own robots.txt.
//
// What a replica sends is believed when the two are interchangeable (levels 1 to 3 and confident, see package replica): by a test of what the mirror
// holds, which a complete run makes when there is none of late, or the failing origin when it is needed; or by one of "replicas --verify". Of any other replica only a body is believed that the mirror holds already.
//
// The origin stays what the mirror is of. URLs, links and mirror paths are the origin's. A replica's validators are never sent to the origin. No replica's
// 404, robots meta, listing or missing link takes anything out of the mirror; while something of a replica is in it, nothing leaves because no document
// leads to it. The body that a replica sent is asked for again as soon as the origin answers.

// alternates are the replicas of a run's site. The zero value has none.
type alternates struct {
	base string // the URL that each of them stands for
	all  []*alternate

	mu    sync.Mutex
	given map[string]int64 // answers by replica
	same  int64            // of them those with what the mirror held

	siblingsOnce sync.Once
	siblings     siblings
}

// alternate is one replica.
type alternate struct {
	base site.URL
	ask  *source.Asker

	mu      sync.Mutex // held while it is tested
	tested  bool
	trusted bool
	why     string
	probe   hosts.Answer // to a path that cannot exist
}

// prepareAlternates makes the replicas of the job ready to be asked.
func (r *run) prepareAlternates() {
	r.alt.base = r.job.Base()
	x := &r.reuse
	x.job = r.job.Reuse.Job
	if x.from, x.at = r.job.ReusePrefixes(); x.from == "" {
		x.job = ""
	}
	r.provenance.Job, r.provenance.From, r.provenance.At = x.job, x.from, x.at
	for _, u := range r.job.AlternateURLs() {
		r.alt.all = append(r.alt.all, &alternate{base: u, ask: r.newAsker()})
	}
}

// settleBase makes the origin to which the first entry point leads the one that replicas stand for: a site that is named without https or www has its pages, and
// its troubles, there. It is called while no worker runs.
func (r *run) settleBase() {
	t := r.table.Settled()
	for i, seed := range r.rules.Seeds {
		id, ok := t.Find([]byte(seed.String()))
		if !ok {
			continue
		}
		final, in := t.Final(id)
		u := t.URL(final)
		if !in || u.Origin() == seed.Origin() || !r.rules.Scope.Covers(u) {
			continue
		}
		r.troubles.AddEntry(u)
		if i == 0 && strings.HasPrefix(u.Path(), seed.Dir()) {
			r.alt.base = u.Origin() + seed.Dir()
		}
	}
}

// newAsker makes single requests by the rules of the run, beside its frontier.
func (r *run) newAsker() *source.Asker {
	o := askerOptions(r.job)
	o.Fetcher, o.Robots, o.Turns, o.Now = r.o.Fetcher, r.o.Robots, r.turns, r.now
	o.Count = func(wire int64) { r.stats.Requests.Add(1); r.stats.Wire.Add(wire) }
	return source.NewAsker(o)
}

// leftOrElsewhere asks the replicas for a URL of a host of an entry point that is postponed to the next run. It returns nil when no
// replica is well: the URL is left for the next run.
func (r *run) leftOrElsewhere(ctx context.Context, rec *store.Resource, why string) (*ledger.Finding, error) {
	if r.troubles.IsSlow(rec.URL) {
		return nil, nil
	}
	f, err := r.elsewhere(ctx, rec, why)
	switch {
	case f != nil || err != nil:
		return f, err
	case ctx.Err() != nil || !r.replicaIsWell():
		return nil, nil
	case rec.Outcome == site.Gone && !rec.InSet: // as it was
		return &ledger.Finding{Done: store.Done{Resource: *rec}}, nil
	}
	return r.refuseElsewhere(rec, why+"; no replica gave it", ledger.Account{}), nil
}

// elsewhere asks the replicas for a URL that the origin did not give. It returns nil when none of them gave it.
func (r *run) elsewhere(ctx context.Context, rec *store.Resource, why string) (*ledger.Finding, error) {
	if len(r.alt.all) == 0 || r.traits.Sitemap(rec.ID) || r.isGuess(rec.ID) && !rec.InSet {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(rec.URL.String(), r.alt.base)
	if !ok || r.origins.Forbids(rec.URL) || rec.Outcome == site.Gone && !r.job.Repair {
		return nil, nil
	}
	for _, a := range r.alt.all {
		if ctx.Err() != nil {
			return nil, nil
		}
		u, _, err := site.Parse(a.base.String() + rest)
		if err != nil || !strings.HasPrefix(u.String(), a.base.String()) {
			continue
		}
		if r.troubles.IsDown(u) {
			continue
		}
		f, err := r.askAlternate(ctx, a, rec, u, why)
		if f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// askAlternate asks one replica. It returns nil when the replica does not give the URL, and errPending when the run ends.
func (r *run) askAlternate(ctx context.Context, a *alternate, rec *store.Resource, u site.URL, why string) (*ledger.Finding, error) {
	trusted := r.trusts(ctx, a)
	if ctx.Err() != nil {
		return nil, errPending
	}
	if !trusted && (!rec.InSet || rec.Body == store.NoBody) {
		return nil, nil
	}
	may, err := a.ask.Allowed(ctx, u)
	switch {
	case err != nil:
		return nil, errPending
	case may.Unknown:
		r.troubles.Failed(u, may.Why, crawl.TroubleLimit)
		return nil, nil
	case !may.OK:
		return nil, nil
	}
	sink := r.bodies.New(u)
	sink.From = u.String()
	defer sink.Close()
	req := fetch.Request{URL: u, MaxBody: int64(r.job.Limits.MaxBody)}
	if err := sink.Resume(ctx, &req); err != nil {
		return nil, err
	}
	res, err := a.ask.Exchange(ctx, req, sink)
	sink.Ended(res, err)
	switch {
	case sink.Err() != nil: // the disk
		return nil, sink.Err()
	case err != nil && (ctx.Err() != nil || errors.Is(err, fetch.ErrCanceled)):
		return nil, errPending
	case errors.Is(err, fetch.ErrLongWait):
		r.troubles.Failed(u, err.Error(), crawl.TroubleLimit)
		return nil, nil
	case err != nil:
		r.troubles.Failed(u, err.Error(), crawl.WeighNoAnswer)
		return nil, nil
	case fetch.TransientStatus(res.Status):
		r.troubles.Failed(u, fmt.Sprintf("status %d", res.Status), crawl.WeighBadAnswer)
		return nil, nil
	}
	r.troubles.Answered(u)
	switch {
	case res.Status >= 300 && res.Status < 400:
		if !trusted {
			return nil, nil
		}
		return r.alternateRedirect(a, rec, res, why)
	case !res.Kept || res.Status != 200 && res.Status != 203 || r.misled(rec, res.MIME):
		return nil, nil
	case r.job.ObeyRobots && robots.ParseXRobotsTag(res.RobotsTags(), r.rules.Product, r.now()).NoArchive:
		return nil, nil
	case !trusted && sink.Digest() != rec.Digest:
		return nil, nil
	case trusted && sink.File() == nil && a.isErrorPage(res, u, sink.Bytes()):
		return nil, nil
	}
	f, err := r.alternateBody(a, rec, res, sink, why)
	if f == nil || err != nil {
		return nil, err
	}
	r.alt.mu.Lock()
	defer r.alt.mu.Unlock()
	if r.alt.given == nil {
		r.alt.given = map[string]int64{}
	}
	r.alt.given[a.base.String()]++
	if f.Outcome == site.Unchanged {
		r.alt.same++
	}
	return f, nil
}

// alternateBody reads a body that a replica sent. It returns nil for a page that is another one than the mirror's.
func (r *run) alternateBody(
	a *alternate, rec *store.Resource, res *fetch.Result, sink *source.Body, why string,
) (*ledger.Finding, error) {
	now := *rec
	now.Answer = nil // the origin's, which brought nothing
	if now.Reason = fmt.Sprintf("of %s, because the origin did not give it: %s", sink.From, why); !ledger.IsGone(&now) {
		now.Status = res.Status
	}
	now.Outcome = site.Pending
	held := rec.InSet && rec.Body != store.NoBody
	older := modified(res.LastModified, r.now())
	switch {
	case held && sink.Digest() == rec.Digest: // whatever type it says that this is
		r.sameBody(&now, &store.Resource{Source: sink.From})
		return r.unchanged(&now, ledger.Account{})
	case held && older > 0 && older < rec.Modified:
		// The replica is behind: what the mirror has stays. The age of the mirror goes on growing.
		r.sameBody(&now, &store.Resource{Source: sink.From})
		note := fmt.Sprintf("older copies of %s than the mirror has were not taken", a.base)
		return r.unchanged(&now, ledger.Account{Notes: []string{note}})
	case held && !r.isThatPage(rec, res, sink):
		r.notes.Add(fmt.Sprintf("pages of %s that say something else than the mirror's were not taken", a.base), rec.URL)
		return nil, nil
	}
	here := *res
	if held && (here.MIME == "" || here.MIME == "text/plain" || here.MIME == "application/octet-stream") {
		here.MIME = rec.MIME // the replica does not know; the file's name says the type
	}
	return r.body(&now, &here, sink, ledger.Account{})
}

// isErrorPage reports whether a page is like the answer to a path that cannot exist.
func (a *alternate) isErrorPage(res *fetch.Result, u site.URL, body []byte) bool {
	if a.probe.Kind != hosts.GotPage {
		return false
	}
	return hosts.AnswerBody(res.MIME, u, body).Alike(a.probe.Body)
}

// repairs takes what the origin says is gone from a replica, if the job wants that; nil when none gave it. The record keeps the
// origin's status: such a body is no promise of the origin's to come, and holds nothing back.
func (r *run) repairs(ctx context.Context, rec *store.Resource) (*ledger.Finding, error) {
	if !r.job.Repair || !ledger.IsGone(rec) || slices.Contains(r.rules.Seeds, rec.URL) {
		return nil, nil
	}
	f, err := r.elsewhere(ctx, rec, fmt.Sprintf("status %d", rec.Status))
	if f != nil {
		f.As.Notes = append(f.As.Notes, "broken links repaired from replicas")
	}
	return f, err
}

// replicaIsWell reports whether some replica is believed and answers.
func (r *run) replicaIsWell() bool {
	return slices.ContainsFunc(r.alt.all, func(a *alternate) bool {
		return a.isTrusted() && !r.troubles.IsDown(a.base)
	})
}

func (a *alternate) isTrusted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trusted
}

// refuseElsewhere makes an outcome of a URL that nobody gave. What the mirror has of it stays, and the URL is not taken for broken
// because of this.
func (r *run) refuseElsewhere(rec *store.Resource, reason string, as ledger.Account) *ledger.Finding {
	rec.Outcome, rec.Reason = site.Failed, reason
	if r.rules.Scope.Covers(rec.URL) && !r.isGuess(rec.ID) {
		as.Tally |= ledger.AsFailed
	} else {
		as.Tally |= ledger.AsRefused
	}
	as.Failed = reason
	return &ledger.Finding{Done: store.Done{Resource: *rec}, As: as}
}

// alternateRedirect reads where a URL that is not in the mirror leads, when a replica says that it leads to another place of the site;
// nil when it does not.
func (r *run) alternateRedirect(a *alternate, rec *store.Resource, res *fetch.Result, why string) (*ledger.Finding, error) {
	rest, ok := strings.CutPrefix(res.Location.String(), a.base.String())
	if !ok || rec.InSet || rec.Target != 0 {
		return nil, nil
	}
	to, _, err := site.Parse(r.alt.base + rest)
	if err != nil || to == rec.URL {
		return nil, nil
	}
	if r.traits.Hops(rec.ID)+1 > int(r.job.Limits.MaxRedirects) {
		return nil, nil
	}
	here := *res
	here.Location = to
	now := *rec
	now.Status, now.Checked = res.Status, r.now().Unix()
	r.log.Debug("redirect of a replica", "url", rec.URL.String(), "to", to.String(), "err", why)
	f, err := r.redirect(&now, &here) // to another URL: there is no further turn
	return f.finding, err
}

// fromAlternate fills in what a record says of a body that a replica sent.
func (r *run) fromAlternate(now, old *store.Resource, from string) {
	now.Source, now.Reason, now.Status = from, old.Reason, old.Status
	now.ETag, now.LastModified, now.Expires = "", "", 0
	now.Fetched = r.now().Unix()
	if now.Checked = now.Fetched; r.provenance.Reused(now) {
		now.Checked = old.Checked
	}
}

// sameBody takes over what an answer says of a body that the mirror holds already. From a replica that is its word only: the origin's validators stay,
// and so does the time at which it last answered.
func (r *run) sameBody(rec, now *store.Resource) {
	if now.Source == "" {
		rec.ETag, rec.LastModified, rec.Expires, rec.Source = now.ETag, now.LastModified, now.Expires, ""
		return
	}
	if !ledger.IsGone(rec) {
		rec.Status = 0
	}
	r.provenance.SetHearsay(rec.ID)
}

func plural(n int, one, many string) string { return fmt.Sprintf("%d %s", n, pick(n, one, many)) }

// pick chooses the form of a word that goes with a number.
func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// noteAlternates says in a summary what replicas gave.
func (r *run) noteAlternates(sum *Summary) {
	a := &r.alt
	a.mu.Lock()
	defer a.mu.Unlock()
	for base, n := range a.given {
		if sum.Alternates == nil {
			sum.Alternates = map[string]int64{}
		}
		sum.Alternates[base] = n
	}
	foreign, _ := r.provenance.FromReplicas(time.Time{})
	sum.AlternatesSame, sum.Foreign, sum.Reused = a.same, foreign, r.reuse.taken.Load()
	if sum.Reused > 0 {
		sum.ReusedOf = r.reuse.job
	}
	for _, x := range a.all {
		if x.why != "" && !slices.ContainsFunc(sum.Notes, func(n Note) bool { return n.What == x.why }) {
			sum.Notes = append(sum.Notes, Note{What: x.why, Count: 1})
		}
	}
}
