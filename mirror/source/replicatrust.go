// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"mirrord/fetch"
	"mirrord/mirror/urls"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store/shared"
)

// replica is one replica.
type replica struct {
	base site.URL
	ask  *Asker

	mu      sync.Mutex // held while it is tested
	tested  bool
	trusted bool
	renewed bool             // a test at the end of the run found that it is one
	why     string           // it is not trusted, or is from the next run on: the one note on it
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
		x.Log.Warn("the tests of a replica cannot be read", "url", a.base.String(), "err", err)
	}
	if err != nil || !ok || !isValid(&p, x.Now(), hosts.TestedFor) {
		if p, ok = x.test(ctx, a); !ok {
			return false
		}
	}
	if !p.Equal {
		a.tested, a.why = true, notTrusted(a, &p)
		return false
	}
	a.tested, a.trusted = true, true
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
	if err == nil {
		a.why, err = x.turned(ctx, a)
	}
	if err != nil { // the run ends
		a.tested = false
		return false
	}
	a.trusted = a.why == ""
	return a.trusted
}

// provePages is how many pages of the mirror are requested of a replica before anything of it is taken in a
// run: since it was tested, its host may have been sold, or another site may be there.
const provePages = 3

// turned says that a replica is not what it was when it was tested: none of some pages of the mirror is still
// there. It is "" when one is, or when the mirror has none to compare. The only error is that the run
// ends.
func (x *ReplicaSource) turned(ctx context.Context, a *replica) (string, error) {
	others := 0
	for _, p := range x.testPaths(provePages) {
		u, _, err := site.Parse(a.base.String() + p[1:])
		if err != nil {
			continue
		}
		rec, ok, err := x.Records.Get(site.Canonical(x.base + p[1:]))
		if err != nil || !ok || !rec.InSet || rec.Source != "" {
			continue
		}
		got, err := a.ask.page(ctx, u, x.base)
		if err != nil {
			return "", err
		}
		held, err := x.Body(&rec)
		if err != nil || got.Kind != hosts.GotPage {
			continue // verify reports the one; the other is missing, or its host is trouble
		}
		if !got.Body.Alike(a.probe.Body) || a.probe.Kind != hosts.GotPage {
			template := hosts.Template(x.around(&rec, answerOf))
			was := answerOf(&rec, rec.MIME, held)
			if kin := was.Kin(got.Body, template, pageHigh); kin == hosts.Alike || kin == hosts.Grown {
				return "", nil
			}
		}
		others++
	}
	if others == 0 {
		return "", nil
	}
	const form = "%s is not what it was when it was tested: " +
		"only what the mirror holds already is taken from it"
	return fmt.Sprintf(form, a.base), nil
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
func (x *ReplicaSource) testOf(a *replica) (p shared.PairRecord, ok bool, err error) {
	p, ok, err = x.Pairs.LoadPair(x.base, a.base.String())
	valid := ok && isValid(&p, x.Now(), hosts.TestedFor)
	if err == nil && x.Base != x.base && !valid {
		return x.Pairs.LoadPair(x.Base, a.base.String())
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

// Renew tests, at the end of a complete run, the replicas of which no test is still valid: while the
// mirror is as the site is, a page that only one of the two has tells most. What it finds is what Report says
// of them.
func (x *ReplicaSource) Renew(ctx context.Context) {
	for _, a := range x.all {
		p, ok, err := x.testOf(a)
		if known := err == nil && ok && isValid(&p, x.Now(), renewAfter); known || ctx.Err() != nil {
			continue
		}
		p, ok = x.test(ctx, a)
		if !ok {
			continue
		}
		if !p.Equal {
			a.why = notTrusted(a, &p)
			continue
		}
		switch why, err := leadsAway(ctx, a); {
		case err != nil: // the run ends
		case why != "":
			a.why = why
		default:
			form := "%s was tested and is used when the origin fails (%s)"
			if a.why != "" {
				form = "%s gave nothing new in this run; at its end it was tested, and it is used from the next " +
					"run on when the origin fails (%s)"
			}
			a.why, a.renewed = fmt.Sprintf(form, a.base, aboutPair(&p)), true
		}
	}
}

// notTrusted says that a test found a replica to be none. What it gave in this run, before the test, stays.
func notTrusted(a *replica, p *shared.PairRecord) string {
	why, from := "", ""
	if p.Mirrors && !p.Confident {
		why = "; too few to be sure"
	}
	if a.trusted {
		from = " from the next run on"
	}
	const form = "%s is not treated as the origin%s (%s%s): only what the mirror holds already is believed of it"
	return fmt.Sprintf(form, a.base, from, aboutPair(p), why)
}

// aboutPair says in a few words what a test decided.
func aboutPair(p *shared.PairRecord) string {
	s := p.Level
	if p.Mirrors {
		s = "level " + p.Level
	}
	return fmt.Sprintf("%s by %d of %d tests, %s", s, p.Answered, p.Tests, p.Tested.Format("2006-01-02"))
}

// test tests whether a replica has what the mirror holds, and keeps the result. ok is false when there is
// none.
func (x *ReplicaSource) test(ctx context.Context, a *replica) (p shared.PairRecord, ok bool) {
	tests := oneWay(x.base, a.base.String(), x.testPaths(oneWayPaths))
	answers, err := gather(tests, func(side string, u site.URL) (hosts.TestAnswer, error) {
		if side == x.base {
			return x.heldPage(u), ctx.Err()
		}
		return a.ask.page(ctx, u, x.base)
	})
	if err != nil {
		return p, false
	}
	x.addNeighbours(tests, answers)
	v := hosts.StageTwo{}.Decide(tests, answers)
	p = PairOf(&v, x.base, a.base.String(), x.Now())
	p.Named, p.Stored = true, true
	if err := KeepPair(x.Pairs, p); err != nil {
		x.Log.Warn("the tests of a replica cannot be kept", "url", a.base.String(), "err", err)
	}
	x.Log.Info("replica tested", "url", a.base.String(), "outcome", aboutPair(&p))
	return p, true
}

// addNeighbours adds pages of the mirror that lie around those that are tested: they tell the template of
// each part of the site, and cost no request.
func (x *ReplicaSource) addNeighbours(
	tests []hosts.Test, answers map[hosts.TestRequest]hosts.TestAnswer,
) {
	for _, t := range tests {
		page := site.Canonical(x.base + t.Path[1:])
		for _, o := range urls.Around(x.Records, page, x.base, testNeighbours) {
			ask := hosts.TestRequest{Host: x.base, Path: "/" + strings.TrimPrefix(o.URL.String(), x.base)}
			if _, ok := answers[ask]; !ok {
				answers[ask] = x.heldPage(o.URL)
			}
		}
	}
}

// testNeighbours is how many pages around each tested one are read of the mirror.
const testNeighbours = 3

// testPaths returns at most n paths of the mirror's own pages by which a replica is tested. Other workers go
// on meanwhile.
func (x *ReplicaSource) testPaths(n int) []string {
	t := x.Table
	documents := urls.DocumentTypes(t.MIMEs())
	return leastPaths(x.base, func(yield func(string) bool) {
		for id := range t.Len() {
			u, s := t.Get(id)
			if !s.Given() || !s.InSet() || x.Provenance.FromReplica(id) {
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
	}, n)
}

// heldPage answers for the origin with what the mirror holds of it.
func (x *ReplicaSource) heldPage(u site.URL) hosts.TestAnswer {
	no := hosts.TestAnswer{Kind: hosts.GotFailure}
	rec, ok, err := x.Records.Get(u)
	if err != nil || !ok || !rec.InSet || rec.Source != "" {
		return no
	}
	body, err := x.Body(&rec)
	if err != nil {
		return no // verify reports it
	}
	return hosts.TestAnswer{Kind: hosts.GotPage, Body: hosts.AnswerBody(rec.MIME, rec.URL, body)}
}
