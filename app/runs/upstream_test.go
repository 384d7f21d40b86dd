// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/serve"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

// offering is a server of the mirror of a site that changes, which records its requests.
type offering struct {
	up   *env.App
	site *apptest.GrowingSite
	now  *atomic.Int64
	url  string

	sites   *serve.Store
	silent  atomic.Bool // it offers nothing
	damaged atomic.Bool // its updates break off

	mu               sync.Mutex // guards what follows
	requests         []string
	robots, password string
}

func offerGrowing(t *testing.T, prefix string) *offering {
	t.Helper()
	o := new(offering)
	o.up, o.site, _, o.now = apptest.MirrorGrowing(t, 1)
	st, err := o.up.MustState()
	if err != nil {
		t.Fatal(err)
	}
	kept := &look.KeptVersions{State: st}
	o.sites = serve.NewStore(st, kept, o.up.Now)
	t.Cleanup(func() {
		if err := errors.Join(o.sites.Close(), kept.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	})
	server, err := serve.New(serve.Options{Sites: o.sites})
	if err != nil {
		t.Fatal(err)
	}
	handler := http.Handler(server)
	if prefix == "/" {
		handler = server.Site("site")
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests = append(o.requests, r.URL.Path)
		robots, password := o.robots, o.password
		o.mu.Unlock()
		if _, p, _ := r.BasicAuth(); p != password {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/robots.txt" && robots != "" {
			io.WriteString(w, robots)
			return
		}
		if o.silent.Load() {
			w = &withoutLink{w}
		}
		if o.damaged.Load() && strings.Contains(r.URL.Path, "/since/") {
			w = &short{ResponseWriter: w}
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	o.url = srv.URL + prefix
	return o
}

// withoutLink drops Link fields.
type withoutLink struct{ http.ResponseWriter }

func (w *withoutLink) WriteHeader(code int) {
	w.Header().Del("Link")
	w.ResponseWriter.WriteHeader(code)
}

// short changes a byte in the middle of what it sends.
type short struct {
	http.ResponseWriter
	sent int
}

func (w *short) Write(p []byte) (int, error) {
	q := slices.Clone(p)
	for i := range q {
		if w.sent+i == 1500 {
			q[i] ^= 1
		}
	}
	w.sent += len(p)
	return w.ResponseWriter.Write(q)
}

// edition makes the next version of the site and of its mirror.
func (o *offering) edition(t *testing.T, v int64) {
	t.Helper()
	o.site.Version.Store(v)
	o.now.Store(apptest.ChangingStart + v*86400)
	for range 2 { // 404 is confirmed by a second look
		o.now.Add(3600)
		if sum, err := runs.RunNow(t.Context(), o.up, runs.RunHere{Job: "site"}); err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
	}
}

// asked returns what was requested since the last call.
func (o *offering) asked() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.requests
	o.requests = nil
	return all
}

// guard sets robots.txt and the password that the server wants.
func (o *offering) guard(robots, password string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.robots, o.password = robots, password
}

// follower makes a job that mirrors the mirror, and returns what makes a run of it.
func (o *offering) follower(t *testing.T, more string) (a *env.App, run func() *mirror.Summary) {
	t.Helper()
	a = apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	a.Now, a.LookupEnv = o.up.Now, os.LookupEnv
	apptest.Put(t, a.Jobs, "second.toml", apptest.GrowingJob(strings.TrimSuffix(o.url, "/"))+more)
	return a, func() *mirror.Summary {
		t.Helper()
		o.now.Add(60)
		sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "second"})
		if err != nil {
			t.Fatalf("%+v, %v", sum, err)
		}
		return sum
	}
}

// contents are the bodies of a mirror by path.
func contents(t *testing.T, a *env.App, job string) string {
	t.Helper()
	all := wholetest.VersionsOf(t, a, job)
	return all[len(all)-1]
}

// A job whose site is a mirror that mirrord serves follows it by versions: it takes all of it at once, makes
// one request when nothing has changed, and pulls what has.
func TestFollow(t *testing.T) {
	for _, prefix := range []string{"/", "/site/"} {
		o := offerGrowing(t, prefix)
		a, run := o.follower(t, "")
		plain, plainRun := o.follower(t, "")

		sum := run()
		got := o.asked()
		offers := slices.DeleteFunc(slices.Clone(got), func(p string) bool { return !isOffer(p) })
		if sum.Followed == nil || sum.Followed.Files == 0 || len(offers) != 3 || len(got)-len(offers) > 4 {
			t.Errorf("%s: first run: %+v, %q", prefix, sum.Followed, got)
		}
		sum = run()
		root := strings.TrimSuffix(prefix, "/")
		if got := o.asked(); !slices.Equal(got, []string{root + phm.OfferPath}) || sum.Published {
			t.Errorf("%s: nothing has changed: %q, %+v", prefix, got, sum.Followed)
		}
		if sum.Requests != 1 || sum.Followed.Since != sum.Followed.Version {
			t.Errorf("%s: %d requests, %+v", prefix, sum.Requests, sum.Followed)
		}
		o.edition(t, 2)
		o.asked()
		sum = run()
		want := []string{root + phm.OfferPath, root + phm.OfferPath + "/2/since/1"}
		if got := o.asked(); len(got) > 4 || !slices.Equal(got[:2], want) {
			t.Errorf("%s: the second edition: %q", prefix, got)
		}
		if sum.Version != 2 || !sum.Published || sum.Followed.Files == 0 {
			t.Errorf("%s: the second edition: %+v", prefix, sum)
		}
		o.silent.Store(true)
		plainRun()
		o.now.Add(3600)
		if got, want := contents(t, a, "second"), contents(t, plain, "second"); described(got) != described(want) {
			t.Errorf("%s: it has\n%s\nordinary requests bring\n%s", prefix, got, want)
		}
	}
}

// described is a version's description without what differs by the time.
func described(version string) string {
	_, rest, _ := strings.Cut(version, "\n")
	return rest
}

// With any error of the offer, the job makes ordinary requests and has the same files.
func TestFollowFallsBack(t *testing.T) {
	o := offerGrowing(t, "/")
	o.silent.Store(true)
	a, run := o.follower(t, "")
	if sum := run(); sum.Followed != nil || slices.ContainsFunc(o.asked(), isOffer) {
		t.Errorf("what was not announced was requested: %+v", sum.Followed)
	}
	o.silent.Store(false)
	run()
	o.edition(t, 2)
	o.asked()
	o.damaged.Store(true)
	sum := run()
	got := o.asked()
	if sum.Version != 2 || !slices.Contains(got, phm.OfferPath+"/2/since/1") {
		t.Errorf("a damaged update: version %d, %q", sum.Version, got)
	}
	plain, plainRun := o.follower(t, "")
	o.silent.Store(true)
	plainRun()
	if got, want := contents(t, a, "second"), contents(t, plain, "second"); described(got) != described(want) {
		t.Errorf("it has\n%s\nordinary requests bring\n%s", got, want)
	}
}

func isOffer(path string) bool { return strings.Contains(path, phm.OfferPath) }

// Robots rules, the scope and credentials apply to offered files.
func TestFollowKeepsRules(t *testing.T) {
	o := offerGrowing(t, "/")
	const password = "secret"
	o.guard("User-agent: *\nDisallow: /same.html\n", password)
	t.Setenv("FOLLOW", password)
	more := "[scope]\nexclude = [\"/p2.html\"]\n[auth]\nuser = \"me\"\npassword = \"${FOLLOW}\"\n"
	a, run := o.follower(t, more)
	run()
	o.edition(t, 2)
	o.asked()
	sum := run()
	if sum.Followed == nil || sum.Followed.Files == 0 || sum.Version != 2 {
		t.Errorf("%+v", sum)
	}
	got := contents(t, a, "second")
	for _, page := range []string{"same.html", "p2.html"} {
		if strings.Contains(got, `"path":"`+page) {
			t.Errorf("%s is in\n%s", page, got)
		}
	}
	if !strings.Contains(got, `"path":"p3.html"`) {
		t.Errorf("the rest is not in\n%s", got)
	}

	o.guard("User-agent: *\nDisallow: /.well-known/\n", password)
	_, run = o.follower(t, more)
	o.asked()
	if sum := run(); sum.Followed != nil || slices.ContainsFunc(o.asked(), isOffer) {
		t.Errorf("what robots.txt forbids was requested: %+v", sum.Followed)
	}
}

// What a server announces is believed only as far as it shows: the pages come by ordinary requests else.
func TestFollowHostile(t *testing.T) {
	offer := `{"mirrord":1,"version":7,"primary":"http://h.test","files":1,"bytes":1,"tableSHA256":"` +
		strings.Repeat("a", 64) + `"}`
	for name, c := range map[string]struct {
		link, offer, update string
		most                int // requests for the offer
	}{
		"of another server":  {link: "http://127.0.0.2:1" + phm.OfferPath},
		"of another folder":  {link: "/else" + phm.OfferPath},
		"no offer":           {link: phm.OfferPath, offer: "<html>", most: 1},
		"a newer one":        {link: phm.OfferPath, offer: `{"mirrord":2}`, most: 1},
		"no update":          {link: phm.OfferPath, offer: offer, update: "PK", most: 2},
		"missing":            {link: phm.OfferPath, most: 1},
		"something like one": {link: phm.OfferPath + "/1/table", offer: offer},
	} {
		var offered atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "<"+c.link+`>; rel="`+phm.OfferRel+`"`)
			switch {
			case isOffer(r.URL.Path):
				offered.Add(1)
				answer := c.offer
				if r.URL.Path != phm.OfferPath {
					answer = c.update
				}
				if answer == "" {
					http.NotFound(w, r)
					return
				}
				io.WriteString(w, answer)
			case r.URL.Path == "/", r.URL.Path == "/b.html":
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<title>A page</title><a href=b.html>b</a>")
			default:
				http.NotFound(w, r)
			}
		}))
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		apptest.Put(t, a.Jobs, "second.toml", apptest.GrowingJob(srv.URL))
		sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "second"})
		if err != nil || sum.Files != 2 || sum.Followed != nil || offered.Load() > int64(c.most) {
			t.Errorf("%s: %+v, %v, %d requests", name, sum, err, offered.Load())
		}
		srv.Close()
	}
}
