// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// trusts reports whether a replica is interchangeable with the origin: by what is known, or by a test.
func (r *run) trusts(ctx context.Context, a *alternate) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tested {
		return a.trusted
	}
	p, ok, err := r.testOf(a)
	if err != nil {
		r.log.Warn("what is known of a replica cannot be read", "url", a.base.String(), "err", err)
	}
	if err != nil || !ok || !r.says(&p, hosts.TestedFor) {
		if p, ok = r.testAlternate(ctx, a); !ok {
			return false
		}
	}
	a.tested, a.trusted = true, p.Equal
	if !a.trusted {
		a.why = notTrusted(a, &p)
		return false
	}
	if a.why, err = r.leadsAway(ctx, a); a.why != "" {
		a.trusted = false
		return false
	}
	if err != nil { // the run ends
		a.tested = false
		return false
	}
	u, _, err := site.Parse(a.base.String() + strings.TrimPrefix(hosts.ProbePath(a.base.String()), "/"))
	if err == nil {
		a.probe, err = a.ask.Page(ctx, u, r.alt.base)
	}
	if err != nil { // the run ends
		a.tested = false
		return false
	}
	return true
}

// testOf returns the last test of a replica: of the origin's pages where they are, or where the job says that they are.
func (r *run) testOf(a *alternate) (p store.PairRecord, ok bool, err error) {
	p, ok, err = r.o.Facts.LoadPair(r.alt.base, a.base.String())
	if base := r.job.Base(); err == nil && base != r.alt.base && !(ok && r.says(&p, hosts.TestedFor)) {
		return r.o.Facts.LoadPair(base, a.base.String())
	}
	return p, ok, err
}

// leadsAway says that a replica redirects from the URL that the job gives it to another place; "" when it does not. Tests follow redirects, but what a URL of the
// mirror is asked of a replica is taken from the place that the job names, and from nowhere else. The only error is that the run ends.
func (r *run) leadsAway(ctx context.Context, a *alternate) (string, error) {
	to, err := a.ask.Leads(ctx, a.base)
	if err != nil || to.IsZero() || strings.HasPrefix(to.String(), a.base.String()) {
		return "", err
	}
	return fmt.Sprintf("%s redirects to %s: nothing is taken from there unless alternates names that place", a.base, to), nil
}

// says reports whether a test said something, and is not older than age.
func (r *run) says(p *store.PairRecord, age time.Duration) bool {
	return source.IsValid(p, r.now(), age)
}

// renewAlternates tests, at the end of a complete run, the replicas of which no test says anything any more: while the mirror is as the site is, a
// page that only one of the two has tells most.
func (r *run) renewAlternates(ctx context.Context) {
	if len(r.alt.all) == 0 || r.o.NoFetch {
		return
	}
	if len(r.troubles.DownEntries()) > 0 {
		return
	}
	for _, a := range r.alt.all {
		p, ok, err := r.testOf(a)
		if err == nil && ok && r.says(&p, source.RenewAfter) || ctx.Err() != nil {
			continue
		}
		p, ok = r.testAlternate(ctx, a)
		if !ok {
			continue
		}
		if !p.Equal {
			r.notes.Cap(notTrusted(a, &p))
			continue
		}
		if why, err := r.leadsAway(ctx, a); err == nil && why != "" {
			r.notes.Cap(why)
		} else if err == nil {
			r.notes.Cap(fmt.Sprintf("%s was tested and is asked when the origin fails (%s)", a.base, aboutPair(&p)))
		}
	}
}

func notTrusted(a *alternate, p *store.PairRecord) string {
	why := ""
	if p.Mirrors && !p.Confident {
		why = "; too few to be sure"
	}
	return fmt.Sprintf("%s is not taken for the origin (%s%s): only what the mirror holds already is believed of it", a.base, aboutPair(p), why)
}

// aboutPair says in a few words what a test came to.
func aboutPair(p *store.PairRecord) string {
	s := p.Level
	if p.Mirrors {
		s = "level " + p.Level
	}
	return fmt.Sprintf("%s by %d of %d tests, %s", s, p.Answered, p.Tests, p.Tested.Format("2006-01-02"))
}

// testAlternate tests whether a replica has what the mirror holds, and keeps what came of it. ok is false when nothing did.
func (r *run) testAlternate(ctx context.Context, a *alternate) (p store.PairRecord, ok bool) {
	base := r.alt.base
	t := r.table
	documents := ledger.DocumentTypes(t.MIMEs())
	ids := map[string]uint32{}
	paths := source.LeastPaths(base, func(yield func(string) bool) {
		for id := range t.Len() { // other workers go on meanwhile
			u, s := t.Get(id)
			if !s.Given() || !s.InSet() || r.provenance.FromReplica(id) {
				continue
			}
			isDocument := s.Type() < len(documents) && documents[s.Type()]
			if !isDocument && !strings.HasPrefix(t.MIME(id), "text/") {
				continue
			}
			rest, ok := strings.CutPrefix(u.String(), base)
			if ok && !yield("/"+rest) {
				return
			}
		}
	}, source.OneWayPaths)
	tests := source.OneWay(base, a.base.String(), paths)
	for _, x := range tests {
		if id, ok := t.Find([]byte(base + x.Path[1:])); ok {
			ids[x.Path] = id
		}
	}
	answers, err := source.Gather(tests, func(side string, u site.URL) (hosts.Answer, error) {
		if side == base {
			return r.heldPage(ids, "/"+strings.TrimPrefix(u.String(), base)), ctx.Err()
		}
		return a.ask.Page(ctx, u, base)
	})
	if err != nil {
		return p, false
	}
	v := hosts.StageTwo{}.Decide(tests, answers)
	p = PairOf(&v, base, a.base.String(), r.now())
	p.Named, p.Stored = true, true
	if err := KeepPair(r.o.Facts, p); err != nil {
		r.log.Warn("what is known of a replica cannot be kept", "url", a.base.String(), "err", err)
	}
	r.log.Info("replica tested", "url", a.base.String(), "outcome", aboutPair(&p))
	return p, true
}

// heldPage answers for the origin with what the mirror holds of it.
func (r *run) heldPage(ids map[string]uint32, path string) hosts.Answer {
	no := hosts.Answer{Kind: hosts.GotFailure}
	id, ok := ids[path]
	if !ok {
		return no
	}
	rec, ok, err := r.site.Records.Get(r.table.URL(id))
	if err != nil || !ok || !rec.InSet || rec.Source != "" {
		return no
	}
	body, err := r.heldBody(&rec)
	if err != nil {
		return no // verify reports it
	}
	return hosts.Answer{Kind: hosts.GotPage, Body: hosts.AnswerBody(rec.MIME, rec.URL, body)}
}

// heldBody reads the stored body of a resource.
func (r *run) heldBody(rec *store.Resource) ([]byte, error) {
	if rec.Body == store.PackBody {
		fr, err := r.site.Frames.ReadFrame(store.NewFrameReader(), rec.At)
		return fr.Body, err
	}
	f, err := r.o.State.Bodies.Open(rec.Digest, 0, hosts.MaxCompared)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
