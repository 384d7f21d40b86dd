// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"maps"
	"strings"
	"testing"

	"mirrord/fetch"
	"mirrord/mirror/process"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/processtest"
)

// others are the answers of the sources other than the origin.
type others map[source.Provider]processtest.OtherReply

// sourceRow is one turn of page: what the sources have, and which of them are asked until one gives it.
type sourceRow struct {
	name   string
	keys   string
	known  func(*record.Resource) // see row
	before func(*processtest.Bench)
	origin processtest.SiteReply
	given  others
	well   bool // some replica is

	asked   string       // the sources in their order
	outcome site.Outcome // Pending: none
	reason  string       // a part of it
	taken   int          // answers of others that were counted
	turn    urls.Again
}

func (r *sourceRow) run(t *testing.T) {
	t.Helper()
	names := map[source.Provider]string{
		source.FromReuse:    "reuse",
		source.FromUpstream: "upstream",
		source.FromSpace:    "space",
		source.FromOrigin:   "origin",
		source.FromReplica:  "replica",
	}
	x := row{
		keys:  r.keys,
		known: r.known,
		before: func(b *processtest.Bench) {
			b.Others.Given, b.Others.Well = r.given, r.well
			if r.before != nil {
				r.before(b)
			}
		},
		answer:  r.origin,
		outcome: r.outcome,
		reason:  r.reason,
		turn:    r.turn,
		left:    r.outcome == site.Gone || r.outcome == site.Redirected || r.outcome == site.Disallowed,
	}
	x.check = func(t *testing.T, b *processtest.Bench, _ process.Found) {
		var asked []string
		for _, of := range b.Others.Asked {
			asked = append(asked, names[of])
		}
		if got := strings.Join(asked, " "); got != r.asked {
			t.Errorf("asked %q, want %q", got, r.asked)
		}
		if b.Others.Taken != r.taken {
			t.Errorf("%d answers were counted, want %d", b.Others.Taken, r.taken)
		}
		if n := len(b.Requests()); (n > 0) != strings.Contains(r.asked, "origin") {
			t.Errorf("%d requests of the site", n)
		}
	}
	x.run(t)
}

// The sources are asked in their order, each under its own conditions, until one gives the page: the mirror
// of another job, the mirror that is followed, mirrors of the space, the site, and a replica where the site
// fails.
func TestSources(t *testing.T) {
	same := processtest.OtherReply{Same: true}
	nothing := processtest.OtherReply{Nothing: true}
	all := others{
		source.FromReuse:    same,
		source.FromUpstream: same,
		source.FromSpace:    {Same: true, Told: "other"},
		source.FromReplica:  same,
	}
	none := others{
		source.FromReuse:    nothing,
		source.FromUpstream: nothing,
		source.FromSpace:    nothing,
		source.FromReplica:  nothing,
	}
	from := func(first source.Provider) others {
		o := maps.Clone(all)
		maps.DeleteFunc(o, func(k source.Provider, _ processtest.OtherReply) bool { return k < first })
		return o
	}
	other := others{source.FromReuse: {Body: "<p>a page of another source"}}
	forbid := func(b *processtest.Bench) {
		b.Forbids = "Disallow: /page\n"
		if _, err := b.LearnRobots(t.Context(), site.Canonical(page), b.Site); err != nil {
			t.Fatal(err)
		}
	}
	sitemap := func(b *processtest.Bench) { b.Traits.Note(1, urls.NamedSitemap) }
	runSources(t, stored, []sourceRow{
		{name: "all have it", given: all, asked: "reuse", outcome: site.Unchanged},
		{name: "upstream", given: from(source.FromUpstream), asked: "upstream", outcome: site.Unchanged},
		{name: "space", given: from(source.FromSpace), asked: "space", outcome: site.Unchanged, taken: 1},
		{name: "the site", given: from(source.FromReplica), asked: "origin", outcome: site.Fetched},
		{name: "none", given: none, asked: "reuse upstream space origin", outcome: site.Fetched},
		{name: "robots.txt forbids it", given: all, before: forbid, outcome: site.Disallowed},
		{
			name:    "a sitemap",
			given:   all,
			before:  sitemap,
			asked:   "upstream",
			outcome: site.Unchanged,
		},
		{
			name:  "a sitemap, and all is scanned again",
			given: all,
			before: func(b *processtest.Bench) {
				sitemap(b)
				b.Rescan = true
			},
			asked:   "origin",
			outcome: site.Fetched,
		},
		{
			name:    "another text",
			given:   other,
			asked:   "reuse",
			outcome: site.Fetched,
			reason:  "of another source",
		},
		{
			name:    "the mirror that is followed says that it is gone",
			given:   others{source.FromUpstream: {Status: 404}},
			asked:   "upstream",
			outcome: site.Gone,
		},
	})
	space := from(source.FromSpace)
	asks := func(r sourceRow) sourceRow {
		r.given, r.asked, r.outcome = space, "origin", site.Fetched
		return r
	}
	runSources(t, stored, []sourceRow{
		asks(sourceRow{name: "an entry point", keys: "url = [\"" + processtest.Home + "/\", \"" + page + "\"]"}),
		asks(sourceRow{name: "a page that was gone", known: func(r *record.Resource) { r.Gone = 1 }}),
		asks(sourceRow{name: "a listing", known: func(r *record.Resource) { r.Listing = true }}),
		asks(sourceRow{name: "a sitemap for the space", before: sitemap}),
		asks(sourceRow{name: "a second turn", before: spent}),
	})
}

func spent(b *processtest.Bench) { b.Traits.Spend(1, urls.AfterFailure) }

// Where the site fails, its replicas are asked: at the last turn of a page, and while its host is down. What
// none of them gives is left for the next run, unless one is well.
func TestReplicaIsAFallback(t *testing.T) {
	const repair = "alternates = [\"http://copy.example/\"]\nrepair = true"
	busy, gone := processtest.SiteReply{Status: 500}, processtest.SiteReply{Status: 404}
	replica := func(r processtest.OtherReply) others { return others{source.FromReplica: r} }
	same, nothing := replica(processtest.OtherReply{Same: true}), replica(processtest.OtherReply{Nothing: true})
	text := replica(processtest.OtherReply{Body: "<p>a page of another source"})
	down := func(b *processtest.Bench) { b.HostErrors.LeaveOrigin(site.Canonical(page), "it is down") }
	runSources(t, stored, []sourceRow{
		{name: "first turn", origin: busy, given: same, asked: "origin", turn: urls.AfterFailure},
		{
			name:    "last turn",
			before:  spent,
			origin:  busy,
			given:   same,
			asked:   "origin replica",
			outcome: site.Unchanged,
			taken:   1,
		},
		{
			name:    "it has nothing",
			before:  spent,
			origin:  busy,
			given:   nothing,
			asked:   "origin replica",
			outcome: site.Failed,
			reason:  "status 500",
		},
		{
			name: "a sitemap",
			before: func(b *processtest.Bench) {
				spent(b)
				b.Traits.Note(1, urls.NamedSitemap)
			},
			origin:  busy,
			given:   same,
			asked:   "origin",
			outcome: site.Failed,
		},
		{
			name:    "it redirects",
			before:  spent,
			origin:  busy,
			given:   replica(processtest.OtherReply{To: "/other.html"}),
			asked:   "origin replica",
			outcome: site.Redirected,
			taken:   1,
		},
		{
			name:    "the host is down",
			before:  down,
			given:   same,
			asked:   "replica",
			outcome: site.Unchanged,
			taken:   1,
		},
		{name: "the host is down, and no replica is well", before: down, given: nothing, asked: "replica"},
		{
			name: "the host is down, and the page was gone",
			known: func(r *record.Resource) {
				r.Outcome, r.Status, r.InSet = site.Gone, 404, false
			},
			before:  down,
			given:   same,
			well:    true,
			outcome: site.Gone,
		},
		{
			name:    "the host is down, and a replica is well",
			before:  down,
			given:   nothing,
			well:    true,
			asked:   "replica",
			outcome: site.Failed,
			reason:  "no replica gave it",
		},
	})
	runSources(t, nil, []sourceRow{
		{name: "gone", origin: gone, given: text, asked: "origin", outcome: site.Gone},
		{
			name:    "gone, and the job repairs it",
			keys:    repair,
			origin:  gone,
			given:   text,
			asked:   "origin replica",
			outcome: site.Fetched,
			taken:   1,
		},
		{
			name:    "a guess that fails",
			before:  func(b *processtest.Bench) { urls.Enter(b.Table, []byte(page), urls.Guess); spent(b) },
			origin:  processtest.SiteReply{Err: fetch.ErrRefused},
			given:   text,
			asked:   "origin",
			outcome: site.Failed,
		},
	})
}

// runSources runs rows, in which known is that of those without one, and the site has the page unless they
// say otherwise.
func runSources(t *testing.T, known func(*record.Resource), rows []sourceRow) {
	t.Helper()
	for _, r := range rows {
		if r.known == nil {
			r.known = known
		}
		if r.origin == (processtest.SiteReply{}) {
			r.origin = processtest.SiteReply{MIME: "text/html", Body: "<p>the page"}
		}
		t.Run(r.name, r.run)
	}
}
