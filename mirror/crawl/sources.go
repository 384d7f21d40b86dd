// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"context"
	"io"

	"mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// sources returns the mirror of another job, the site itself, and its replicas.
func (r *Retrieval) sources(spelled *source.Spellings) source.Chain {
	j, p, pool := r.Job, &r.Provenance, r.bodyOptions()
	p.Job = j.Reuse.Job
	if p.From, p.At = j.ReusePrefixes(); p.From == "" {
		p.Job = ""
	}
	with := source.Supplies{
		Facts:    r.Site.Notes,
		Bodies:   pool,
		NewAsker: r.asker,
		Covers:   r.Rules.Scope.Covers,
		Product:  source.AskerOptionsOf(j).Product,
		MaxBody:  int64(j.Limits.MaxBody),
		Now:      r.Now,
		Log:      r.Log,
	}
	replicas := source.ReplicaSourceOptions{
		Supplies:   with,
		Base:       j.Base(),
		Replicas:   j.AlternateURLs(),
		Replace:    j.AlternatesReplace,
		Pairs:      r.Options.Facts,
		HostErrors: replicaTroubles{r.dispatcher.HostErrors},
		Table:      r.Table,
		Provenance: p,
		Records:    r.Site.Records,
		Body:       r.heldBody,
	}
	reuse := source.ReuseSourceOptions{
		Supplies:   with,
		Provenance: p,
		Run:        func() int { return r.Run.Number },
		Nofollow:   j.ObeyNofollow.Obeyed,
	}
	if st := r.Options.State; st != nil { // else the run only reads
		reuse.Mirrors, reuse.Runs, reuse.OpenBody = st, r.Options.Facts.Runs, st.Bodies.Open
	}
	c := source.Chain{
		Robots:   r.Options.Robots,
		Reuse:    source.NewReuseSource(reuse),
		Upstream: r.upstream(with),
		Space:    r.space(with),
		Origin:   &source.Origin{Fetcher: r.Options.Fetcher, Bodies: pool, Now: r.Now},
		Spelled:  spelled,
		Replicas: source.NewReplicaSource(replicas),
	}
	if j.AlternatesUse == job.AlternatesSpread && len(replicas.Replicas) > 0 {
		c.Spread = source.NewSpread(c.Replicas, r.Site.Notes)
	}
	return c
}

// upstream is what the site says of its versions when it is a mirror itself. Recorded answers are not its.
func (r *Retrieval) upstream(with source.Supplies) *source.UpstreamSource {
	x := &source.UpstreamSource{
		Supplies: with,
		Head:     r.Site.Records.ReadHead,
		Fresh:    func() bool { return r.Live == nil },
	}
	if st := r.Options.State; st != nil && !r.Options.Imports {
		x.Seeds = r.Rules.Seeds
	}
	return x
}

// space is what other mirrors of the space have.
func (r *Retrieval) space(with source.Supplies) *source.SpaceSource {
	return &source.SpaceSource{
		Supplies: with,
		Job:      r.Job,
		Site:     r.Site.Name,
		Space:    r.Options.Space,
		Mirrors:  r.Options.State,
	}
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
func (r *Retrieval) asker() *source.Asker {
	o := source.AskerOptionsOf(r.Job)
	o.Fetcher, o.Robots, o.Turns, o.Now = r.Options.Fetcher, r.Options.Robots, r.dispatcher.Pacer, r.Now
	o.Count = func(wire int64) { r.Counts.CountAside(); r.Counts.Wire.Add(wire) }
	o.Watch, o.GivenUp = watch(r.dispatcher.Tail), frontier.GivenUp
	return source.NewAsker(o)
}

// watch makes the exchanges of an asker bodies of the run.
func watch(t *frontier.Tail) func(context.Context) (context.Context, source.Watcher, func()) {
	return func(ctx context.Context) (context.Context, source.Watcher, func()) { return t.Begin(ctx) }
}

// heldBody reads the stored body of a resource, up to the compared length.
func (r *Retrieval) heldBody(rec *record.Resource) ([]byte, error) {
	if rec.Body == record.PackBody {
		fr, err := r.Site.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
		return fr.Body, err
	}
	f, err := r.Options.State.Bodies.Open(rec.Digest, hosts.MaxCompared)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// bodyOptions say how the bodies of the run are taken in. A run without a state only reads.
func (r *Retrieval) bodyOptions() *source.BodyOptions {
	o := &source.BodyOptions{
		Parts:       r.Site.Parts,
		MaxDocument: int64(r.Job.Limits.MaxDocument),
		Now:         r.Now,
		Log:         r.Log,
		Coming:      &r.Counts.Coming,
	}
	if r.Options.State != nil {
		o.Blobs = r.Options.State.Spool
	}
	return o
}
