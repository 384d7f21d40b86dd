// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/ledger"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// replica is one replica.
type replica struct {
	base site.URL
	ask  *Asker

	mu      sync.Mutex // held while it is tested
	tested  bool
	trusted bool
	why     string           // not trusted
	probe   hosts.TestAnswer // to a path that cannot exist
}

// trusts reports whether a replica is interchangeable with the origin: by an earlier test, or by one that is
// made now.
func (x *ReplicaSource) trusts(ctx context.Context, a *replica) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tested {
		return a.trusted
	}
	p, ok, err := x.testOf(a)
	if err != nil {
		x.o.Log.Warn("what is known of a replica cannot be read", "url", a.base.String(), "err", err)
	}
	if err != nil || !ok || !isValid(&p, x.o.Now(), hosts.TestedFor) {
		if p, ok = x.test(ctx, a); !ok {
			return false
		}
	}
	a.tested, a.trusted = true, p.Equal
	if !a.trusted {
		a.why = notTrusted(a, &p)
		return false
	}
	if a.why, err = leadsAway(ctx, a); a.why != "" {
		a.trusted = false
		return false
	}
	if err != nil { // the run ends
		a.tested = false
		return false
	}
	u, _, err := site.Parse(a.base.String() + strings.TrimPrefix(hosts.ProbePath(a.base.String()), "/"))
	if err == nil {
		a.probe, err = a.ask.page(ctx, u, x.base)
	}
	if err != nil { // the run ends
		a.tested = false
		return false
	}
	return true
}

func (a *replica) isTrusted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.trusted
}

// isErrorPage reports whether a page is like the answer to a path that cannot exist.
func (a *replica) isErrorPage(res *fetch.Result, u site.URL, body []byte) bool {
	if a.probe.Kind != hosts.GotPage {
		return false
	}
	return hosts.AnswerBody(res.MIME, u, body).Alike(a.probe.Body)
}

// testOf returns the last test of a replica: of the origin's pages where they are, or where the job says that
// they are.
func (x *ReplicaSource) testOf(a *replica) (p store.PairRecord, ok bool, err error) {
	p, ok, err = x.o.Pairs.LoadPair(x.base, a.base.String())
	valid := ok && isValid(&p, x.o.Now(), hosts.TestedFor)
	if err == nil && x.o.Base != x.base && !valid {
		return x.o.Pairs.LoadPair(x.o.Base, a.base.String())
	}
	return p, ok, err
}

// leadsAway says that a replica redirects from the URL that the job gives it to another place; "" when it
// does not. Tests follow redirects, but the URLs of the mirror are requested below the place that the job
// names, and nowhere else. The only error is that the run ends.
func leadsAway(ctx context.Context, a *replica) (string, error) {
	to, err := a.ask.leads(ctx, a.base)
	if err != nil || to.IsZero() || strings.HasPrefix(to.String(), a.base.String()) {
		return "", err
	}
	const form = "%s redirects to %s: nothing is taken from there unless alternates names that place"
	return fmt.Sprintf(form, a.base, to), nil
}

// Renew tests, at the end of a complete run, the replicas of which no test is valid any more: while the
// mirror is as the site is, a page that only one of the two has tells most. It returns notes for the summary.
func (x *ReplicaSource) Renew(ctx context.Context) (notes []string) {
	for _, a := range x.all {
		p, ok, err := x.testOf(a)
		if known := err == nil && ok && isValid(&p, x.o.Now(), renewAfter); known || ctx.Err() != nil {
			continue
		}
		p, ok = x.test(ctx, a)
		if !ok {
			continue
		}
		if !p.Equal {
			notes = append(notes, notTrusted(a, &p))
			continue
		}
		if why, err := leadsAway(ctx, a); err == nil && why != "" {
			notes = append(notes, why)
		} else if err == nil {
			note := fmt.Sprintf("%s was tested and is used when the origin fails (%s)", a.base, aboutPair(&p))
			notes = append(notes, note)
		}
	}
	return notes
}

func notTrusted(a *replica, p *store.PairRecord) string {
	why := ""
	if p.Mirrors && !p.Confident {
		why = "; too few to be sure"
	}
	const form = "%s is not taken for the origin (%s%s): only what the mirror holds already is believed of it"
	return fmt.Sprintf(form, a.base, aboutPair(p), why)
}

// aboutPair says in a few words what a test decided.
func aboutPair(p *store.PairRecord) string {
	s := p.Level
	if p.Mirrors {
		s = "level " + p.Level
	}
	return fmt.Sprintf("%s by %d of %d tests, %s", s, p.Answered, p.Tests, p.Tested.Format("2006-01-02"))
}

// test tests whether a replica has what the mirror holds, and keeps the result. ok is false when there is
// none.
func (x *ReplicaSource) test(ctx context.Context, a *replica) (p store.PairRecord, ok bool) {
	tests := oneWay(x.base, a.base.String(), x.testPaths())
	ids := map[string]uint32{}
	for _, t := range tests {
		if id, ok := x.o.Table.Find([]byte(x.base + t.Path[1:])); ok {
			ids[t.Path] = id
		}
	}
	answers, err := gather(tests, func(side string, u site.URL) (hosts.TestAnswer, error) {
		if side == x.base {
			return x.heldPage(ids, "/"+strings.TrimPrefix(u.String(), x.base)), ctx.Err()
		}
		return a.ask.page(ctx, u, x.base)
	})
	if err != nil {
		return p, false
	}
	v := hosts.StageTwo{}.Decide(tests, answers)
	p = PairOf(&v, x.base, a.base.String(), x.o.Now())
	p.Named, p.Stored = true, true
	if err := KeepPair(x.o.Pairs, p); err != nil {
		x.o.Log.Warn("what is known of a replica cannot be kept", "url", a.base.String(), "err", err)
	}
	x.o.Log.Info("replica tested", "url", a.base.String(), "outcome", aboutPair(&p))
	return p, true
}

// testPaths returns the paths of the mirror's own pages by which a replica is tested. Other workers go on
// meanwhile.
func (x *ReplicaSource) testPaths() []string {
	t := x.o.Table
	documents := ledger.DocumentTypes(t.MIMEs())
	return leastPaths(x.base, func(yield func(string) bool) {
		for id := range t.Len() {
			u, s := t.Get(id)
			if !s.Given() || !s.InSet() || x.o.Provenance.FromReplica(id) {
				continue
			}
			isDocument := s.Type() < len(documents) && documents[s.Type()]
			if !isDocument && !strings.HasPrefix(t.MIME(id), "text/") {
				continue
			}
			rest, ok := strings.CutPrefix(u.String(), x.base)
			if ok && !yield("/"+rest) {
				return
			}
		}
	}, oneWayPaths)
}

// heldPage answers for the origin with what the mirror holds of it.
func (x *ReplicaSource) heldPage(ids map[string]uint32, path string) hosts.TestAnswer {
	no := hosts.TestAnswer{Kind: hosts.GotFailure}
	id, ok := ids[path]
	if !ok {
		return no
	}
	rec, ok, err := x.o.Record(x.o.Table.URL(id))
	if err != nil || !ok || !rec.InSet || rec.Source != "" {
		return no
	}
	body, err := x.o.Body(&rec)
	if err != nil {
		return no // verify reports it
	}
	return hosts.TestAnswer{Kind: hosts.GotPage, Body: hosts.AnswerBody(rec.MIME, rec.URL, body)}
}
