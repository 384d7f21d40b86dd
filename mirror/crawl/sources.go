// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/run"
	"mirrord/mirror/source"
	"mirrord/phm/space"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/record"
)

// sourcing makes the sources of a run.
type sourcing struct {
	*run.Session
	troubles *frontier.HostErrors
	turns    *frontier.Pacer
	tail     *frontier.Tail
}

// sourcingOf returns what makes the sources of a run.
func sourcingOf(r *Retrieval) sourcing {
	return sourcing{
		Session:  r.Session,
		troubles: r.dispatcher.HostErrors,
		turns:    r.dispatcher.Pacer,
		tail:     r.dispatcher.Tail,
	}
}

// chain returns the mirror of another job, the site itself, and its replicas.
func (m sourcing) chain(spelled *source.Spellings) source.Chain {
	j, p, bodies := m.Job, &m.Provenance, m.bodies()
	p.Job = j.Reuse.Job
	if p.From, p.At = j.ReusePrefixes(); p.From == "" {
		p.Job = ""
	}
	means := source.Means{
		Facts:    m.Site.Notes,
		Bodies:   bodies,
		NewAsker: m.asker,
		Covers:   m.Rules.Scope.Covers,
		Product:  source.AskerOptionsOf(j).Product,
		MaxBody:  int64(j.Limits.MaxBody),
		Now:      m.Now,
		Log:      m.Log,
	}
	replicas := source.ReplicaSourceOptions{
		Means:      means,
		Base:       j.Base(),
		Replicas:   j.AlternateURLs(),
		Replace:    j.AlternatesReplace,
		Pairs:      m.Options.Facts,
		HostErrors: replicaTroubles{m.troubles},
		Table:      m.Table,
		Provenance: p,
		Record:     m.Site.Records.Get,
		Body:       m.heldBody,
	}
	reuse := source.ReuseSourceOptions{
		Means:      means,
		Provenance: p,
		Run:        func() int { return m.Run.Number },
		Nofollow:   j.ObeyNofollow.Obeyed,
	}
	if st := m.Options.State; st != nil { // else the run only reads
		reuse.Mirrors, reuse.Runs, reuse.OpenBody = st, m.Options.Facts.Runs, st.Bodies.Open
	}
	c := source.Chain{
		Robots:   m.Options.Robots,
		Reuse:    source.NewReuseSource(reuse),
		Upstream: m.upstream(means),
		Space:    m.space(means),
		Origin:   &source.Origin{Fetcher: m.Options.Fetcher, Bodies: bodies, Now: m.Now},
		Spelled:  spelled,
		Replicas: source.NewReplicaSource(replicas),
	}
	if j.AlternatesUse == job.AlternatesSpread && len(replicas.Replicas) > 0 {
		c.Spread = source.NewSpread(c.Replicas, m.Site.Notes)
	}
	return c
}

// upstream is what the site says of its versions when it is a mirror itself. Recorded answers are not its.
func (m sourcing) upstream(means source.Means) *source.UpstreamSource {
	o := source.UpstreamOptions{
		Means: means,
		Head:  m.Site.Records.ReadHead,
		Fresh: func() bool { return m.Live == nil },
	}
	if st := m.Options.State; st != nil && !m.Options.Imports {
		o.Seeds = m.Rules.Seeds
	}
	return source.NewUpstreamSource(o)
}

// space is what other mirrors of the space have.
func (m sourcing) space(means source.Means) *source.SpaceSource {
	o := source.SpaceSourceOptions{Means: means, Job: m.Job}
	if st := m.Options.State; st != nil && m.Options.Space != "" {
		o.Mirrors, o.OpenBody = st, st.Bodies.Open
		o.Holders = func() (source.SpaceIndex, error) {
			h, err := space.OpenHolders(st.Dir, m.Options.Space, m.Site.Name)
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					err = nil // no mirror of it has been published
				}
				return nil, err
			}
			return h, nil
		}
	}
	return source.NewSpaceSource(o)
}

// replicaTroubles are the troubles of origins as replicas report them.
type replicaTroubles struct{ *frontier.HostErrors }

func (t replicaTroubles) Failed(u site.URL, reason string, how source.FailureKind) {
	switch how {
	case source.Unavailable:
		t.LeaveOrigin(u, reason)
	case source.NoAnswer:
		t.HostErrors.Failed(u, reason, frontier.Refused)
	case source.BadAnswer:
		t.HostErrors.Failed(u, reason, frontier.BadAnswer)
	}
}

// asker makes single requests by the rules of the run, beside its frontier.
func (m sourcing) asker() *source.Asker {
	o := source.AskerOptionsOf(m.Job)
	o.Fetcher, o.Robots, o.Turns, o.Now = m.Options.Fetcher, m.Options.Robots, m.turns, m.Now
	o.Count = func(wire int64) { m.Counts.CountAside(); m.Counts.Wire.Add(wire) }
	o.Watch, o.GivenUp = watch(m.tail), frontier.GivenUp
	return source.NewAsker(o)
}

// watch makes the exchanges of an asker bodies of the run.
func watch(t *frontier.Tail) func(context.Context) (context.Context, source.Watcher, func()) {
	return func(ctx context.Context) (context.Context, source.Watcher, func()) { return t.Begin(ctx) }
}

// heldBody reads the stored body of a resource, up to the compared length.
func (m sourcing) heldBody(rec *record.Resource) ([]byte, error) {
	if rec.Body == record.PackBody {
		fr, err := m.Site.Frames.ReadFrame(store.NewFrameReader(), rec.At)
		return fr.Body, err
	}
	f, err := m.Options.State.Bodies.Open(rec.Digest, 0, hosts.MaxCompared)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// bodies returns what takes in the bodies of the run. A run without a state only reads.
func (m sourcing) bodies() *source.BodyPool {
	o := source.BodyOptions{
		Parts:       m.Site.Parts,
		MaxDocument: int64(m.Job.Limits.MaxDocument),
		Now:         m.Now,
		Log:         m.Log,
		Coming:      &m.Counts.Coming,
	}
	if m.Options.State != nil {
		o.Blobs = m.Options.State.Spool
	}
	return source.NewBodyPool(o)
}
