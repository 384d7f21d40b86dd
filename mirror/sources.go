// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"io"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// newSources makes the sources of the run: the mirror of another job, the site itself, its replicas.
func (r *run) newSources() {
	p := &r.provenance
	p.Job = r.job.Reuse.Job
	if p.From, p.At = r.job.ReusePrefixes(); p.From == "" {
		p.Job = ""
	}
	r.chain.Origin = &source.Origin{Fetcher: r.o.Fetcher, Bodies: r.bodies, Now: r.now}
	r.chain.Replicas = source.NewReplicas(source.ReplicaOptions{
		Base:       r.job.Base(),
		Replicas:   r.job.AlternateURLs(),
		NewAsker:   r.newAsker,
		Bodies:     r.bodies,
		Pairs:      r.o.Facts,
		Troubles:   replicaTroubles{r.troubles},
		Table:      r.table,
		Provenance: p,
		Record:     r.site.Records.Get,
		Body:       r.heldBody,
		Product:    askerOptions(r.job).Product,
		MaxBody:    int64(r.job.Limits.MaxBody),
		Now:        r.now,
		Log:        r.log,
	})
	reuse := source.ReuseOptions{
		Provenance: p,
		Facts:      r.site.Notes,
		Bodies:     r.bodies,
		NewAsker:   r.newAsker,
		Covers:     r.rules.Scope.Covers,
		Run:        func() int { return r.state.Number },
		Product:    askerOptions(r.job).Product,
		Nofollow:   r.job.ObeyNofollow,
		MaxBody:    int64(r.job.Limits.MaxBody),
		Now:        r.now,
		Log:        r.log,
	}
	if st := r.o.State; st != nil { // else the run only reads
		reuse.Mirrors, reuse.Runs, reuse.OpenBody = st, r.o.Facts.Runs, st.Bodies.Open
	}
	r.chain.Reuse = source.NewReuse(reuse)
}

// replicaTroubles are the troubles of origins as replicas report them.
type replicaTroubles struct{ *crawl.Troubles }

func (t replicaTroubles) Failed(u site.URL, reason string, how source.FailureKind) {
	weight := crawl.TroubleLimit
	switch how {
	case source.NoAnswer:
		weight = crawl.WeighNoAnswer
	case source.BadAnswer:
		weight = crawl.WeighBadAnswer
	}
	t.Troubles.Failed(u, reason, weight)
}

// newAsker makes single requests by the rules of the run, beside its frontier.
func (r *run) newAsker() *source.Asker {
	o := askerOptions(r.job)
	o.Fetcher, o.Robots, o.Turns, o.Now = r.o.Fetcher, r.o.Robots, r.turns, r.now
	o.Count = func(wire int64) { r.stats.Requests.Add(1); r.stats.Wire.Add(wire) }
	return source.NewAsker(o)
}

// heldBody reads the stored body of a resource, up to what is compared.
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

// newBodies returns what takes in the bodies of a run. A run without a state only reads.
func (r *run) newBodies() *source.BodyPool {
	o := source.BodyOptions{
		Parts:       r.site.Parts,
		MaxDocument: int64(r.job.Limits.MaxDocument),
		Now:         r.now,
		Log:         r.log,
	}
	if r.o.State != nil {
		o.Blobs = r.o.State.Spool
	}
	return source.NewBodyPool(o)
}

// hostTurns are the turns of hosts that requests take which are not in a frontier: by the politeness and in
// the window of a job.
type hostTurns struct {
	*crawl.Gate
	hosts Hosts
	p     fetch.Politeness
	now   func() time.Time
}

var _ source.Turns = (*hostTurns)(nil)

func newTurns(g *crawl.Gate, h Hosts, j *job.Job, now func() time.Time) *hostTurns {
	return &hostTurns{Gate: g, hosts: h, p: source.Politeness(j), now: now}
}

func (t *hostTurns) Release(host string, o fetch.Observation) { t.hosts.Release(host, t.p, t.now(), o) }

func (t *hostTurns) Gap(host string) time.Duration { return t.hosts.Gap(host, t.p) }

func (t *hostTurns) SetCrawlDelay(host string, d time.Duration) { t.hosts.SetCrawlDelay(host, d) }

// noteSources says in a summary what came from other sources than the site itself.
func (r *run) noteSources(sum *Summary) {
	given := r.chain.Replicas.Report()
	if len(given.Given) > 0 {
		sum.Alternates = given.Given
	}
	sum.Foreign, _ = r.provenance.FromReplicas(time.Time{})
	sum.AlternatesSame, sum.Reused = given.Same, r.chain.Reuse.Taken()
	if sum.Reused > 0 {
		sum.ReusedOf = r.provenance.Job
	}
	for _, why := range given.Notes {
		if !slices.ContainsFunc(sum.Notes, func(n Note) bool { return n.What == why }) {
			sum.Notes = append(sum.Notes, Note{What: why, Count: 1})
		}
	}
}

// dropParts drops the beginnings of bodies of which no run will request the rest: at the end of a complete
// run all but those of what failed.
func (r *run) dropParts() {
	_, err := r.site.Parts.Collect(false, func(url string, _ time.Time) bool {
		u, _, err := site.Parse(url)
		if err != nil {
			return true
		}
		rec, ok, err := r.site.Records.Get(u)
		return err == nil && (!ok || rec.Outcome != site.Failed || rec.Failures >= ledger.LastingFailures)
	})
	if err != nil {
		r.notes.Cap("beginnings of large files could not be dropped: " + err.Error())
	}
}

// renewReplicas tests replicas at the end of a complete run.
func (r *run) renewReplicas(ctx context.Context) {
	if r.o.NoFetch || len(r.troubles.DownEntries()) > 0 {
		return
	}
	for _, note := range r.chain.Replicas.Renew(ctx) {
		r.notes.Cap(note)
	}
}
