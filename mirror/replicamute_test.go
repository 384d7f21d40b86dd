// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"testing"
	"time"

	"mirrord/fetch"
	jobfile "mirrord/job"
	"mirrord/mirror/frontier"
	"mirrord/mirror/source"
	"mirrord/replica/hosts"
	"mirrord/testing/mirrortest"
)

// deadHost answers for one host only, and counts requests to others.
type deadHost struct {
	mirrortest.Fake
	lives string
	asked int
}

func (f *deadHost) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if req.URL.Hostname() == f.lives {
		return f.Fake.Do(ctx, req, sink)
	}
	f.asked++
	return &fetch.Result{}, context.DeadlineExceeded
}

// askerOf makes requests by the rules of a job, without pauses.
func askerOf(t *testing.T, j *jobfile.Job, f interface {
	source.Fetcher
	source.Robots
}) *source.Asker {
	t.Helper()
	turns, err := frontier.NewPacer(mirrortest.Eager{}, j, source.Politeness(j), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	o := source.AskerOptionsOf(j)
	o.Fetcher, o.Robots, o.Turns = f, f, turns
	return source.NewAsker(o)
}

// A host that does not answer is not asked for all that a test wants to know of it.
func TestReplicaTestOfASilentHost(t *testing.T) {
	w := mirrortest.NewWeb()
	pages := handbook(24)
	w.SetAll(home, pages)
	f := &deadHost{lives: "www.example.org"}
	f.Web = w
	var paths []string
	for p := range pages {
		paths = append(paths, p)
	}
	j := jobfile.Default(home + "/")
	j.ObeyRobots = false
	here := source.Side{Base: home + "/", Paths: paths, Asker: askerOf(t, j, f)}
	there := source.Side{Base: copyBase, Asker: askerOf(t, j, f)}
	v, err := source.TestReplicas(t.Context(), here, there)
	if err != nil || v.Level.Mirrors() || f.asked != 4 {
		t.Errorf("%v, level %v, %d requests to the silent host, want 4", err, v.Level, f.asked)
	}
}

// twoPorts has one web for http and one for https.
type twoPorts struct{ mirrortest.Fake }

func (f *twoPorts) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if req.URL.Scheme() != "https" {
		return f.Fake.Do(ctx, req, sink)
	}
	secure := mirrortest.Fake{Web: mirrortest.NewWeb()}
	secure.Web.SetAll("http://"+req.URL.Host(), handbook(24))
	return secure.Do(ctx, req, sink)
}

// Hosts that lead to one another, or to a third, are one host by two names, by any scheme.
func TestReplicaTestOfNamesOfOneHost(t *testing.T) {
	const first, second, third = "http://first.example.org", "http://second.example.org",
		"https://third.example.org"
	pages := handbook(24)
	var paths []string
	for p := range pages {
		paths = append(paths, p)
	}
	for name, tc := range map[string]struct {
		lead  map[string]string // origins that redirect everything
		alias bool
	}{
		"copies":       {nil, false},
		"to the other": {map[string]string{first: second}, true},
		"to the other, encrypted": {
			map[string]string{first: "https://second.example.org", second: "https://second.example.org"}, true,
		},
		"to the other's encryption": {map[string]string{first: "https://second.example.org"}, true},
		"both to a third":           {map[string]string{first: third, second: third}, true},
		"each to its own": {
			map[string]string{first: "https://first.example.org", second: "https://second.example.org"}, false,
		},
	} {
		w := mirrortest.NewWeb()
		for _, origin := range []string{first, second} {
			for p, page := range pages {
				if to := tc.lead[origin]; to != "" {
					page = mirrortest.Redirect(to + p)
				}
				w.Set(origin+p, page)
			}
		}
		f := &twoPorts{}
		f.Web = w
		j := jobfile.Default(first + "/")
		j.ObeyRobots = false
		here := source.Side{Base: first + "/", Paths: paths, Asker: askerOf(t, j, f)}
		there := source.Side{Base: second + "/", Paths: paths, Asker: askerOf(t, j, f)}
		v, err := source.TestReplicas(t.Context(), here, there)
		if err != nil || v.Level != hosts.Level1 || v.Alias != tc.alias || v.Interchangeable() == tc.alias {
			t.Errorf("%s: %v, level %v, alias %v, %d of %d answers, interchangeable %v", name, err, v.Level, v.Alias,
				v.Aliases, v.Answered, v.Interchangeable())
		}
	}
}
