// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"io"
	"log/slog"
	"slices"
	"time"

	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/site"
	"mirrord/store"
)

// sourcing makes the sources of a run.
type sourcing struct {
	o          *Options
	site       *store.Site
	rules      *admit.URLRules
	table      *ledger.Table
	provenance *ledger.Provenance
	stats      *ledger.Counts
	troubles   *crawl.Troubles
	turns      *crawl.Gate
	number     func() int // of the run
	log        *slog.Logger
}

// chain returns the mirror of another job, the site itself, and its replicas.
func (m *sourcing) chain() source.Chain {
	j, p, bodies := m.o.Job, m.provenance, m.bodies()
	p.Job = j.Reuse.Job
	if p.From, p.At = j.ReusePrefixes(); p.From == "" {
		p.Job = ""
	}
	replicas := source.ReplicaSourceOptions{
		Base:       j.Base(),
		Replicas:   j.AlternateURLs(),
		Product:    askerOptions(j).Product,
		MaxBody:    int64(j.Limits.MaxBody),
		NewAsker:   m.asker,
		Bodies:     bodies,
		Pairs:      m.o.Facts,
		Troubles:   replicaTroubles{m.troubles},
		Table:      m.table,
		Provenance: p,
		Record:     m.site.Records.Get,
		Body:       m.heldBody,
		Now:        m.o.Now,
		Log:        m.log,
	}
	reuse := source.ReuseSourceOptions{
		Provenance: p,
		Facts:      m.site.Notes,
		Bodies:     bodies,
		NewAsker:   m.asker,
		Covers:     m.rules.Scope.Covers,
		Run:        m.number,
		Product:    askerOptions(j).Product,
		Nofollow:   j.ObeyNofollow,
		MaxBody:    int64(j.Limits.MaxBody),
		Now:        m.o.Now,
		Log:        m.log,
	}
	if st := m.o.State; st != nil { // else the run only reads
		reuse.Mirrors, reuse.Runs, reuse.OpenBody = st, m.o.Facts.Runs, st.Bodies.Open
	}
	return source.Chain{
		Reuse:    source.NewReuseSource(reuse),
		Origin:   &source.Origin{Fetcher: m.o.Fetcher, Bodies: bodies, Now: m.o.Now},
		Replicas: source.NewReplicaSource(replicas),
	}
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

// asker makes single requests by the rules of the run, beside its frontier.
func (m *sourcing) asker() *source.Asker {
	o := askerOptions(m.o.Job)
	o.Fetcher, o.Robots, o.Turns, o.Now = m.o.Fetcher, m.o.Robots, m.turns, m.o.Now
	o.Count = func(wire int64) { m.stats.Requests.Add(1); m.stats.Wire.Add(wire) }
	return source.NewAsker(o)
}

// heldBody reads the stored body of a resource, up to what is compared.
func (m *sourcing) heldBody(rec *store.Resource) ([]byte, error) {
	if rec.Body == store.PackBody {
		fr, err := m.site.Frames.ReadFrame(store.NewFrameReader(), rec.At)
		return fr.Body, err
	}
	f, err := m.o.State.Bodies.Open(rec.Digest, 0, hosts.MaxCompared)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// bodies returns what takes in the bodies of the run. A run without a state only reads.
func (m *sourcing) bodies() *source.BodyPool {
	o := source.BodyOptions{
		Parts:       m.site.Parts,
		MaxDocument: int64(m.o.Job.Limits.MaxDocument),
		Now:         m.o.Now,
		Log:         m.log,
	}
	if m.o.State != nil {
		o.Blobs = m.o.State.Spool
	}
	return source.NewBodyPool(o)
}

// noteSources says in a summary what came from other sources than the site itself.
func noteSources(sum *Summary, c *source.Chain, p *ledger.Provenance) {
	given := c.Replicas.Report()
	if len(given.Given) > 0 {
		sum.Alternates = given.Given
	}
	sum.Foreign, _ = p.FromReplicas(time.Time{})
	sum.AlternatesSame, sum.Reused = given.Same, c.Reuse.Taken()
	if sum.Reused > 0 {
		sum.ReusedOf = p.Job
	}
	for _, why := range given.Notes {
		if !slices.ContainsFunc(sum.Notes, func(n Note) bool { return n.What == why }) {
			sum.Notes = append(sum.Notes, Note{What: why, Count: 1})
		}
	}
}

// dropParts drops the beginnings of bodies of which no run will request the rest: at the end of a complete
// run all but those of what failed.
func dropParts(s *store.Site) error {
	_, err := s.Parts.Collect(false, func(url string, _ time.Time) bool {
		u, _, err := site.Parse(url)
		if err != nil {
			return true
		}
		rec, ok, err := s.Records.Get(u)
		return err == nil && (!ok || rec.Outcome != site.Failed || rec.Failures >= ledger.LastingFailures)
	})
	return err
}
