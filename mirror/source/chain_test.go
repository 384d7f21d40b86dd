// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
	"mirrord/store/blobs"
	"mirrord/store/record"
	"mirrord/store/shared"
	"mirrord/testing/mirrortest"
)

const (
	home  = "http://www.example.org/"
	there = "http://copy.example.net/mirror/"
)

// turns never make anybody wait.
type turns struct{ mirrortest.Eager }

func (turns) Turn(ctx context.Context, _ string) error   { return ctx.Err() }
func (turns) Release(string, fetch.Observation)          {}
func (turns) Gap(string) time.Duration                   { return 0 }
func (turns) SetCrawlDelay(host string, d time.Duration) {}

// troubles note how origins failed.
type troubles map[string]source.FailureKind

func (t troubles) IsDown(u site.URL) bool { return false }
func (t troubles) Answered(u site.URL)    { delete(t, u.Origin()) }
func (t troubles) Failed(u site.URL, _ string, how source.FailureKind) {
	t[u.Origin()] = how
}

// place is a web and what the mirror of a site holds of it.
type place struct {
	fake     mirrortest.Fake
	held     map[string]string
	table    *urls.Table
	records  heldRecords
	troubles troubles
	pairs    *store.State
	chain    source.Chain
}

// newPlace returns the sources of a site with one replica, tested as equal says.
func newPlace(t *testing.T, equal bool) *place {
	t.Helper()
	p := newUntested(t, false)
	p.tested(t, equal)
	return p
}

// tested keeps a test of the replica.
func (p *place) tested(t *testing.T, equal bool) { p.testedAt(t, equal, time.Now()) }

func (p *place) testedAt(t *testing.T, equal bool, at time.Time) {
	t.Helper()
	pair := shared.PairRecord{
		Base1:   home,
		Base2:   there,
		Tested:  at,
		Level:   "1",
		Mirrors: true,
		Equal:   equal,
	}
	if err := p.pairs.Shared.SavePair(pair); err != nil {
		t.Fatal(err)
	}
}

// newUntested returns the sources of a site with one replica that was not tested yet; replace says that its
// newer pages take the place of the mirror's.
func newUntested(t *testing.T, replace bool) *place {
	t.Helper()
	st, err := store.OpenState(t.TempDir(), store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &place{
		held:     map[string]string{},
		table:    urls.New(),
		records:  heldRecords{},
		troubles: troubles{},
		pairs:    st,
	}
	p.fake.Web = mirrortest.NewWeb()
	log := slog.New(slog.DiscardHandler)
	bodies := &source.BodyOptions{
		Blobs:       st.Spool,
		Parts:       noParts{},
		MaxDocument: 1 << 20,
		Now:         time.Now,
		Log:         log,
	}
	asker := func() *source.Asker {
		return source.NewAsker(source.AskerOptions{
			Fetcher: &p.fake,
			Robots:  &p.fake,
			Turns:   turns{},
			Product: "mirrord",
			MaxWait: time.Minute,
		})
	}
	provenance := new(urls.Provenance)
	p.chain = source.Chain{
		Reuse:  source.NewReuseSource(source.ReuseSourceOptions{Provenance: provenance}),
		Origin: &source.Origin{Fetcher: &p.fake, Bodies: bodies, Now: time.Now},
		Replicas: source.NewReplicaSource(source.ReplicaSourceOptions{
			Supplies: source.Supplies{
				NewAsker: asker,
				Bodies:   bodies,
				Product:  "mirrord",
				Now:      time.Now,
				Log:      log,
			},
			Base:       home,
			Replicas:   []site.URL{site.Canonical(there)},
			Replace:    replace,
			Pairs:      st.Shared,
			HostErrors: p.troubles,
			Table:      p.table,
			Provenance: provenance,
			Records:    p.records,
			Body:       p.body,
		}),
	}
	return p
}

// heldRecords are what the mirror holds, by URL.
type heldRecords map[string]record.Resource

func (h heldRecords) Get(u site.URL) (rec record.Resource, ok bool, err error) {
	rec, ok = h[u.String()]
	return rec, ok, nil
}

func (h heldRecords) ResourcesUnder(dir site.URL, f func(*record.Resource) error) error {
	for _, u := range slices.Sorted(maps.Keys(h)) {
		rec := h[u]
		if !strings.HasPrefix(u, dir.String()) {
			continue
		}
		if err := f(&rec); err != nil {
			return err
		}
	}
	return nil
}

// noParts keeps no beginning of a body.
type noParts struct{}

func (noParts) Keep(*blobs.BlobWriter, string, []byte) error { return nil }
func (noParts) Take(context.Context, string) (*blobs.BlobWriter, []byte, error) {
	return nil, nil, nil
}

// record returns what the mirror knows of a URL below home; body "" is not in the mirror.
func (p *place) record(path, body string) *record.Resource {
	rec := &record.Resource{URL: site.Canonical(home + path)}
	if body != "" {
		p.held[home+path] = body
		rec.InSet, rec.Body, rec.MIME = true, record.BlobBody, "text/html"
		rec.Digest, rec.Size = sha256.Sum256([]byte(body)), int64(len(body))
	}
	return rec
}

func (p *place) body(rec *record.Resource) ([]byte, error) {
	return []byte(p.held[rec.URL.String()]), nil
}

// A replica is a fallback, and gives what it is trusted with.
func TestReplicaAnswers(t *testing.T) {
	one, other := mirrortest.Words(1, 80), mirrortest.Words(2, 80)
	held, inside := mirrortest.HTML("P", one), mirrortest.Redirect(there+"q.html")
	edition := mirrortest.HTML("P", one+" and more")
	for _, c := range []struct {
		name    string
		trusted bool
		held    string
		sends   mirrortest.Page
		from    source.Provider
		same    bool
		to      string
		notes   int
	}{
		{"a new page", true, "", mirrortest.HTML("P", one), source.FromReplica, false, "", 0},
		{"a new page of one that is not trusted", false, "", mirrortest.HTML("P", one), 0, false, "", 0},
		{"what the mirror holds", true, held.Body, held, source.FromReplica, true, "", 0},
		{"what the mirror holds, not trusted", false, held.Body, held, source.FromReplica, true, "", 0},
		{"another edition", true, held.Body, edition, source.FromReplica, true, "", 1},
		{"another page", true, held.Body, mirrortest.HTML("P", other), 0, false, "", 1},
		{"its error page", true, "", mirrortest.HTML("Oops", "nothing here"), 0, false, "", 0},
		{"missing", true, "", mirrortest.Status(404), 0, false, "", 0},
		{"a redirect inside", true, "", inside, source.FromReplica, false, home + "q.html", 0},
		{"a redirect away", true, "", mirrortest.Redirect("http://else.example/"), 0, false, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, c.trusted)
			p.fake.Web.Set(there, mirrortest.HTML("Home", "start"))
			p.fake.Web.Set(there+"*", mirrortest.HTML("Oops", "nothing here"))
			p.fake.Web.Set("*", mirrortest.HTML("Oops", "nothing here"))
			p.fake.Web.Set("http://copy.example.net/robots.txt", mirrortest.Status(404))
			p.fake.Web.Set(there+"p.html", c.sends)
			a, err := p.chain.Get(t.Context(), &source.Ask{
				Record:   p.record("p.html", c.held),
				Of:       source.FromReplica,
				Why:      "status 503",
				Redirect: true,
			})
			defer a.Release()
			if err != nil || a.From != c.from || a.Same != c.same || len(a.Notes) != c.notes {
				t.Fatalf("%v, from %d, same %v, notes %q; want from %d, same %v, %d notes",
					err, a.From, a.Same, a.Notes, c.from, c.same, c.notes)
			}
			if c.to != "" && a.To.String() != c.to {
				t.Errorf("redirects to %s, want %s", a.To, c.to)
			}
			if wants := c.from != 0 && !c.same && c.to == ""; wants != (a.Content != nil) {
				t.Errorf("content %v, want %v", a.Content != nil, wants)
			} else if wants && string(a.Content.Body.Bytes()) != c.sends.Body {
				t.Errorf("body %q", a.Content.Body.Bytes())
			}
		})
	}
}

// The sources that an Ask does not name are not used, and one that has no answer leaves it to the next.
func TestChainOrder(t *testing.T) {
	p := newPlace(t, true)
	page := mirrortest.HTML("P", mirrortest.Words(1, 80))
	p.fake.Web.Set(home+"p.html", page)
	p.fake.Web.Set(there, mirrortest.HTML("Home", "start"))
	p.fake.Web.Set(there+"p.html", page)
	p.fake.Web.Set("http://copy.example.net/robots.txt", mirrortest.Status(404))
	u := site.Canonical(home + "p.html")
	for _, c := range []struct {
		of   source.Provider
		from source.Provider
		asks string
	}{
		{source.FromReuse, 0, ""},
		{source.FromReuse | source.FromOrigin, source.FromOrigin, home + "p.html"},
		{source.FromReuse | source.FromReplica, source.FromReplica, there + "p.html"},
		{source.FromReuse | source.FromOrigin | source.FromReplica, source.FromOrigin, home + "p.html"},
	} {
		before := p.fake.Web.Asked()[c.asks]
		a, err := p.chain.Get(t.Context(), &source.Ask{
			Record:  p.record("p.html", ""),
			Of:      c.of,
			Request: fetch.Request{URL: u},
			Why:     "status 503",
		})
		a.Release()
		if err != nil || a.From != c.from {
			t.Errorf("of %b: %v, from %b, want %b", c.of, err, a.From, c.from)
		}
		if n := p.fake.Web.Asked()[c.asks] - before; c.asks != "" && n != 1 {
			t.Errorf("of %b: %s was requested %d times, want once", c.of, c.asks, n)
		}
	}
}

// An answer of the origin tells how its exchange ended; only the end of the run is an error.
func TestOriginAnswers(t *testing.T) {
	p := newPlace(t, true)
	p.fake.Web.Set(home+"gone.html", mirrortest.Status(404))
	ask := func(ctx context.Context) (source.Answer, error) {
		rec := p.record("gone.html", "")
		req := fetch.Request{URL: rec.URL}
		return p.chain.Get(ctx, &source.Ask{Record: rec, Of: source.FromOrigin, Request: req})
	}
	a, err := ask(t.Context())
	a.Release()
	if err != nil || a.Status != 404 || a.Content != nil || a.Err != nil {
		t.Errorf("%v, status %d, %v", err, a.Status, a.Err)
	}
	p.fake.Web.Set(home+"big.gz", mirrortest.Page{Body: "zip"})
	rec := p.record("big.gz", "")
	a, err = p.chain.Get(t.Context(), &source.Ask{
		Record:  rec,
		Of:      source.FromOrigin,
		Request: fetch.Request{URL: rec.URL},
		Refuse:  func(mime string) string { return "it is " + mime },
	})
	a.Release()
	if err != nil || a.Err != nil || a.Content != nil || a.Refused != "it is application/gzip" {
		t.Errorf("of a type that is not wanted: %+v, %v", a, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p.fake.Takes = time.Hour
	a, err = ask(ctx)
	a.Release()
	if !errors.Is(err, fetch.ErrCanceled) || a.Result == nil {
		t.Errorf("%v, want that the run ends; the request was made", err)
	}
}

// A replica that sends a passing failure or has no robots.txt is trouble of its origin.
func TestReplicaTroubles(t *testing.T) {
	type kinds = source.FailureKind
	for _, c := range []struct {
		name  string
		pages map[string]int
		want  []kinds
	}{
		{"busy", map[string]int{"/robots.txt": 404, "/mirror/p.html": 503}, []kinds{source.BadAnswer}},
		{"robots.txt fails", map[string]int{"/robots.txt": 503}, []kinds{source.Unavailable}},
		{"well", map[string]int{"/robots.txt": 404, "/mirror/p.html": 404}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, false)
			for path, status := range c.pages {
				p.fake.Web.Set("http://copy.example.net"+path, mirrortest.Status(status))
			}
			rec := p.record("p.html", "held")
			ask := &source.Ask{Record: rec, Of: source.FromReplica, Why: "status 503"}
			a, err := p.chain.Get(t.Context(), ask)
			a.Release()
			var got []kinds
			for _, how := range p.troubles {
				got = append(got, how)
			}
			if err != nil || a.From != 0 || !slices.Equal(got, c.want) {
				t.Errorf("%v, from %d, troubles %v, want %v", err, a.From, got, c.want)
			}
		})
	}
}
